//! Makers of drives, by PCI vendor id and by the words of models.

use super::facts::Function;

/// A maker of drives. Phison, Silicon Motion and others sell controllers to many brands and are not among them.
struct Maker {
    vendors: &'static [u16],
    /// Whole words of models and of vendors' names.
    words: &'static [&'static str],
    /// Starts of part numbers.
    parts: &'static [&'static str],
}

const MAKERS: [Maker; 8] = [
    Maker { vendors: &[0x144d], words: &["samsung"], parts: &["mz1", "mzp", "mzq", "mzv", "mzw", "mzx"] },
    Maker {
        vendors: &[0x15b7, 0x1b96, 0x1c58, 0x101c],
        words: &["wd", "wdc", "western", "sandisk", "hgst"],
        parts: &["wds", "wus", "hus"],
    },
    Maker { vendors: &[0x1bb1], words: &["seagate"], parts: &[] },
    Maker {
        vendors: &[0x1344, 0xc0a9],
        words: &["micron", "crucial"],
        parts: &["mtfd", "ct500", "ct1000", "ct2000", "ct4000"],
    },
    // SK hynix owns Solidigm, which sells Intel's drives and some of SK hynix.
    Maker { vendors: &[0x8086, 0x025e, 0x1c5c], words: &["intel", "solidigm"], parts: &["ssdp"] },
    Maker { vendors: &[0x1c5c, 0x025e], words: &["hynix", "skhynix"], parts: &["hfs", "hfm"] },
    Maker {
        vendors: &[0x1179, 0x1e0f],
        words: &["kioxia", "toshiba"],
        parts: &["kxg", "kbg", "kcd", "kcm", "thn"],
    },
    Maker { vendors: &[0x2646], words: &["kingston"], parts: &["skc", "snv", "om8"] },
];

/// Words of Samsung's names of controllers in the list of ids, and the models that have them.
const SOLD_AS: [(&str, &[&str]); 5] = [
    ("sm951", &["950pro", "mzvpv", "mzvlv"]),
    ("sm961", &["960evo", "960pro", "mzvlw", "mzvkw"]),
    ("sm981", &["970evo", "970pro", "mzvlb", "mzqlb", "mz1lb"]),
    ("pm9a1", &["mzvl2", "mzql2", "mz1l2"]),
    ("s4lv008", &["990pro"]),
];

/// Whether a model (letters and digits in lower case) has the controller with this word in its name.
pub(super) fn is_sold_as(word: &str, model: &str) -> bool {
    SOLD_AS.iter().any(|(known, models)| *known == word && models.iter().any(|it| model.contains(it)))
}

/// The makers that a model or a PCI function may have, a bit each; none if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Makers(u8);

impl Makers {
    fn which(fits: impl Fn(&Maker) -> bool) -> Self {
        let bits = MAKERS.iter().enumerate().filter(|(_, maker)| fits(maker)).map(|(at, _)| 1_u8 << at);
        Self(bits.fold(0, |all, bit| all | bit))
    }

    /// By the words of a model, or of a vendor's name.
    pub fn of_text(text: &str) -> Self {
        let text = text.trim_start().to_ascii_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        Self::which(|maker| {
            maker.words.iter().any(|word| words.contains(word))
                || maker.parts.iter().any(|part| text.starts_with(part))
        })
    }

    /// By the vendor id, else by the printed name.
    pub fn of_function(function: &Function) -> Self {
        match (&function.vendor, &function.name) {
            (Some(vendor), _) => Self::which(|maker| maker.vendors.contains(&vendor.value)),
            (None, Some(name)) => Self::of_text(name.value.as_str()),
            (None, None) => Self(0),
        }
    }

    /// Whether both are known and have no maker in common.
    pub fn contradicts(self, other: Self) -> bool {
        self.0 != 0 && other.0 != 0 && self.0 & other.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_contradicts_the_controllers_of_other_makers_only() {
        let of_vendor = |id: u16| Makers::which(|maker| maker.vendors.contains(&id));
        for (model, vendor, contradicts) in [
            ("WD_BLACK SN850X 2000GB", 0x144d, true),
            ("WD_BLACK SN850X 2000GB", 0x15b7, false),
            ("Samsung SSD 980 PRO 1TB", 0x144d, false),
            ("Samsung SSD 980 PRO 1TB", 0x1bb1, true),
            ("Seagate FireCuda 530 ZP1000GM30013", 0x1987, false),
            ("KXG60ZNV512G NVMe TOSHIBA 512GB", 0x1179, false),
            ("Micron_2200_MTFDHBA512TCK", 0xc0a9, false),
            ("CT1000P5SSD8", 0x8086, true),
            ("SOLIDIGM SSDPFKKW010X7", 0x1c5c, false),
            ("INTEL SSDPE2KX080T8", 0x025e, false),
            ("Dell Ent NVMe CM6 MU 1.6TB", 0x1e0f, false),
        ] {
            assert_eq!(
                Makers::of_text(model).contradicts(of_vendor(vendor)),
                contradicts,
                "{model} {vendor:04x}"
            );
        }
        let name = Makers::of_text("Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO");
        assert_eq!(name, of_vendor(0x144d));
    }
}
