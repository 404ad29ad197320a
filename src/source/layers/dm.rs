//! A device of device mapper: `dm/name`, `dm/uuid`, and its table, which the probe gives without keys.

use crate::{
    machine::{
        Drive,
        layers::{Dm, Target},
    },
    source::root::{SysRoot, label, quoted, text},
    text::Label,
    units::Bytes,
};

const SECTOR: u64 = 512;

pub(super) fn read(root: &dyn SysRoot, drive: &Drive) -> Dm {
    let uuid = label(root, &format!("{}/dm/uuid", drive.path));
    let maker =
        uuid.value().and_then(|uuid| uuid.as_str().split_once('-')).map(|(maker, _)| Label::new(maker));
    let table = text(root, &format!("/ioctl/{}/table", drive.name));
    Dm {
        name: label(root, &format!("{}/dm/name", drive.path)),
        maker,
        targets: table.and_then(|table| table.lines().map(target).collect()),
    }
}

/// `START LENGTH TYPE [OPTION]...`, in sectors.
fn target(line: &str) -> Result<Target, String> {
    let mut words = line.split_ascii_whitespace();
    let mut parsed = || {
        let _start: u64 = words.next()?.parse().ok()?;
        let length: u64 = words.next()?.parse().ok()?;
        let kind = Label::new(words.next()?);
        Some(Target {
            kind,
            size: Bytes(length.checked_mul(SECTOR)?),
            options: words.by_ref().map(Label::new).collect(),
        })
    };
    parsed().ok_or_else(|| quoted(line, "not a line of a table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_start_length_type_and_options() {
        let read = target("0 2048 crypt aes-xts-plain64 no_read_workqueue").unwrap();
        assert_eq!((read.kind.as_str(), read.size), ("crypt", Bytes(1 << 20)));
        assert_eq!(read.options, ["aes-xts-plain64", "no_read_workqueue"]);
        for wrong in ["", "0", "0 x linear", "0 99999999999999999999 linear"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
