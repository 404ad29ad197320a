//! Which device a function is: listings of several machines, or of several times, may name different ones at one address.

use super::{
    drives::squeezed,
    facts::{Facts, Function},
};
use crate::{model::PciAddress, text::Label};

/// What a line states of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Identity<'a> {
    /// Base class, if the text states it: that of a drawing is derived.
    pub class: Option<u32>,
    /// As printed; empty: not stated.
    pub name: &'a str,
    pub vendor: Option<u16>,
    pub device: Option<u16>,
}

impl<'a> Identity<'a> {
    fn of(function: &'a Function) -> Self {
        let class = function.class.filter(|_| function.class_name.is_some());
        Self {
            class: class.map(|class| class.value >> 16),
            name: function.name.as_ref().map_or("", |name| name.value.as_str()),
            vendor: function.vendor.map(|vendor| vendor.value),
            device: function.device.map(|device| device.value),
        }
    }

    /// Whether both cannot be one device. Ids may be found by a name, which lists of other versions and wrapped lines have in
    /// part.
    fn contradicts(self, other: Self) -> bool {
        let [one, two] = [self.name, other.name].map(squeezed);
        let is_part = !one.is_empty() && !two.is_empty() && (one.contains(&two) || two.contains(&one));
        // A device that does not respond has ones for ids.
        let id = |id: Option<u16>| id.filter(|id| *id != u16::MAX);
        let differ = |one: Option<u16>, two| id(one).zip(id(two)).is_some_and(|(one, two)| one != two);
        let is_other_class = self.class.zip(other.class).is_some_and(|(one, two)| one != two);
        // A drawing's device is found by its name: the ids of a list are more exact.
        let is_alike = self.class.is_some() == other.class.is_some();
        let is_other_device = is_alike && differ(self.device, other.device);
        !is_part && (is_other_class || is_other_device || differ(self.vendor, other.vendor))
    }

    fn words(self) -> String {
        match (self.name, self.vendor, self.device) {
            ("", Some(vendor), Some(device)) => format!("{vendor:04x}:{device:04x}"),
            ("", ..) => "another device".to_owned(),
            (name, ..) => Label::new(name).to_string(),
        }
    }
}

impl Facts {
    /// Whether a line is of another device than the text has at that address already; that is noted, and the first one used.
    pub fn is_another(&mut self, address: PciAddress, stated: Identity, line: usize) -> bool {
        let Some(known) = self.functions.get(&address) else { return false };
        let first = Identity::of(known);
        if !first.contradicts(stated) {
            return false;
        }
        let at = known.name.as_ref().map(|name| name.line).or(known.vendor.map(|vendor| vendor.line));
        let at = at.unwrap_or(known.line);
        let sentence = format!(
            "{address} is {} in line {at} and {} in line {line}: line {at} is used.",
            first.words(),
            stated.words()
        );
        self.notes.unused(line, &format!("{address} is another device in line {at}"));
        self.contradiction(sentence);
        true
    }

    /// The first function that other facts show as another device, or with other buses behind it.
    pub fn first_other(&self, others: &Facts) -> Option<PciAddress> {
        let is_other = |address: &PciAddress, other: &Function| {
            self.functions.get(address).is_some_and(|known| {
                let buses = known.buses.zip(other.buses);
                Identity::of(known).contradicts(Identity::of(other))
                    || buses.is_some_and(|(known, other)| known.value != other.value)
            })
        };
        let mut others = others.functions.iter();
        others.find(|(address, other)| is_other(address, other)).map(|(address, _)| *address)
    }
}

#[cfg(test)]
mod tests {
    use crate::source::import;

    fn read(text: &str) -> crate::machine::Machine {
        crate::source::read_machine(&import::read(text.as_bytes()).unwrap().unwrap()).0
    }

    fn contradictions(text: &str) -> Vec<String> {
        read(text).pasted.unwrap().contradictions.clone()
    }

    const GPU: &str = "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA104 [10de:2484]\n";
    const DRIVE: &str = "01:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller SM981 [144d:a808]\n";

    #[test]
    fn a_function_is_the_device_of_its_first_line_alone() {
        let text = format!("{GPU}\n$ lspci -nn   # other PC\n{DRIVE}");
        let machine = read(&text);
        let node = machine.pci.functions().next().unwrap();
        assert!(!node.is_nvme(), "{node:?}");
        assert_eq!(
            machine.pasted.unwrap().contradictions,
            [
                "0000:01:00.0 is NVIDIA Corporation GA104 in line 1 and Samsung Electronics Co Ltd NVMe SSD Controller SM981 in line 4: line 1 is used."
            ]
        );
    }

    #[test]
    fn other_forms_of_one_name_are_no_other_device() {
        let drawing = "-[0000:00]---01.0-[01]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983\n";
        let numbers = "01:00.0 0108: 144d:a808\n";
        let wrapped = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe\nSSD Controller SM981/PM981/PM983\n";
        let records = "Slot:\t01:00.0\nClass:\tNon-Volatile memory controller\nVendor:\tSamsung Electronics Co Ltd\nDevice:\tNVMe SSD Controller SM981/PM981/PM983\n";
        for parts in
            [[drawing, DRIVE], [DRIVE, drawing], [wrapped, DRIVE], [DRIVE, wrapped], [numbers, DRIVE]]
        {
            assert_eq!(contradictions(&parts.join("\n")), [""; 0], "{parts:?}");
        }
        assert_eq!(contradictions(&format!("{DRIVE}\n{records}")), [""; 0]);
        for text in [format!("{GPU}\n{records}"), format!("{GPU}\n{numbers}"), format!("{GPU}\n{wrapped}")] {
            assert_eq!(contradictions(&text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_drawing_of_another_machine_is_not_used() {
        let first = "-[0000:00]-+-00.0  Intel Corporation Device 9a04\n           \\-1d.0-[01]----00.0  Sandisk Corp WD Blue SN550 NVMe SSD\n";
        let other = "-[0000:00]-+-00.0  Intel Corporation Device 9a04\n           +-01.0-[01-02]----00.0  NVIDIA Corporation GA104\n           \\-1d.0-[03]----00.0  Samsung Electronics Co Ltd Device a80a\n";
        let text = format!("one:\n{first}\nother:\n$ lspci -tv\n{other}");
        let machine = read(&text);
        let pasted = machine.pasted.as_ref().unwrap();
        assert_eq!(machine.pci.functions().count(), 3);
        assert_eq!(
            pasted.contradictions,
            [
                "The drawing in line 7 has other devices than the lines before it, as at 0000:00:1d.0: it is not used; open it alone."
            ]
        );
        let lines: Vec<usize> = pasted.unused.iter().map(|unused| unused.line).collect();
        assert!(lines.ends_with(&[7, 8, 9]), "{lines:?}");
        let again = format!("{first}\n$ lspci -tv\n{first}");
        assert_eq!(contradictions(&again), [""; 0]);
    }
}
