//! The name of a row: its fold mark, place, drive and model.

use std::collections::BTreeSet;

use super::{figures::path, layers};
use crate::{
    machine::pci::NodeKind,
    model::DriveName,
    report::flatten::{Group, Row, RowKey, RowKind},
    screens::widgets::{
        paint::{Piece, cells, piece},
        words::short_name,
    },
    ui::{Shared, theme::Meaning},
    units::counted,
};

/// The widest name of a drive, so that models stand in a column of their own.
fn drives_width(shared: &Shared) -> u16 {
    let drives = shared.machine.drives.iter().filter(|drive| !drive.kind.is_software());
    drives.map(|drive| cells(drive.name.as_str())).max().unwrap_or(0).min(12)
}

/// What names of rows are made of.
pub(super) struct RowNames<'a> {
    shared: &'a Shared,
    /// Cells of a drive's name.
    wide: u16,
    /// Models of drives, each once.
    models: BTreeSet<String>,
}

impl<'a> RowNames<'a> {
    pub fn new(shared: &'a Shared) -> Self {
        let machine = &shared.machine;
        let models = machine.drives.iter().map(|drive| layers::title(machine, drive)).collect();
        Self { shared, wide: drives_width(shared), models }
    }

    /// The name of a row, without so many words at the end of a model as long as that is no other model's.
    pub fn of(&self, row: &'a Row, left_out: usize) -> Vec<Piece> {
        RowName { shared: self.shared, row, names: self, left_out }.pieces()
    }

    fn shortened(&self, model: &str, left_out: usize) -> String {
        let is_of_other = |kept: &str| {
            let goes_on = |other: &str| {
                other.strip_prefix(kept).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            self.models.iter().any(|other| other != model && goes_on(other))
        };
        let mut kept = model;
        for _ in 0..left_out {
            let shorter = kept.rsplit_once(' ').map(|(before, _)| before);
            let shorter = shorter.filter(|shorter| cells(shorter) >= LEAST_MODEL && !is_of_other(shorter));
            kept = shorter.unwrap_or(kept);
        }
        kept.to_owned()
    }
}

/// The name of a device without what all devices of the tree are, and without so many words at its end but one: the vendor and two more
/// stay, and so does a word with a digit, which is often the model.
fn shortened_device(name: &str, left_out: usize) -> String {
    if left_out == 0 {
        return name.to_owned();
    }
    let name = name.replace(" PCI Express", "");
    let mut words: Vec<&str> = name.split(' ').collect();
    for _ in 1..left_out {
        let goes = |word: &&str| !word.contains(|sign: char| sign.is_ascii_digit());
        if words.len() > LEAST_WORDS && words.last().is_some_and(goes) {
            words.pop();
        }
        // An adjective alone looks cut.
        if words.len() > LEAST_WORDS && words.last() == Some(&"Gigabit") {
            words.pop();
        }
    }
    words.join(" ")
}

/// Words that the name of a device keeps.
const LEAST_WORDS: usize = 3;

/// Cells that a model keeps: `980` alone is none.
const LEAST_MODEL: u16 = 6;

struct RowName<'a> {
    shared: &'a Shared,
    row: &'a Row,
    names: &'a RowNames<'a>,
    left_out: usize,
}

impl RowName<'_> {
    fn pieces(&self) -> Vec<Piece> {
        let fold = match self.row.open {
            Some(true) => "▾ ",
            Some(false) => "▸ ",
            None => "",
        };
        let mut pieces = vec![piece(fold, Meaning::Quiet)];
        match &self.row.kind {
            RowKind::Root => pieces.extend(self.root_name()),
            RowKind::Port | RowKind::Device => pieces.extend(self.device_name()),
            RowKind::Drive => pieces.extend(self.drive_name()),
            RowKind::Folded { nodes, words } => {
                let more = words.iter().filter(|word| !matches!(**word, "host bridge" | "port" | "IOMMU"));
                let listed: Vec<&str> = more.copied().take(4).collect();
                let tail = if listed.is_empty() { String::new() } else { format!(": {}", listed.join(", ")) };
                pieces.push(piece(format!("{} folded{tail}", nodes.len()), Meaning::Quiet));
            }
            RowKind::Alike => {
                let names = [self.row.drives.first(), self.row.drives.last()];
                let names: Vec<&str> = names.into_iter().flatten().map(DriveName::as_str).collect();
                let like = if self.left_out == 0 { " like it" } else { "" };
                pieces.push(piece(format!("{} more{like}", self.row.drives.len()), Meaning::Text));
                pieces.push(piece(format!("  {}", names.join(" to ")), Meaning::Quiet));
            }
            RowKind::Group(group) => {
                let unit = if *group == Group::NotOnPci { "drive" } else { "device" };
                let word = match group {
                    Group::NotOnPci => self.shared.machine.outside_pci(),
                    Group::Arrays => "arrays and volumes",
                    Group::Software => "software drives",
                };
                pieces.push(piece(word, Meaning::Text));
                pieces.push(piece(format!("  {}", counted(self.count(), unit)), Meaning::Quiet));
            }
        }
        pieces
    }

    /// How many drives are below.
    fn count(&self) -> usize {
        self.shared.machine.count_of(&self.row.drives)
    }

    fn root_name(&self) -> Vec<Piece> {
        let Some(node) = self.row.node else { return Vec::new() };
        let drives = match self.count() {
            0 => ", no drives".to_owned(),
            n => format!(", {}", counted(n, "drive")),
        };
        vec![
            piece(self.shared.machine.pci.node(node).address.to_string(), Meaning::Figure),
            piece(format!(" {}", self.shared.machine.kind_of_root(node)), Meaning::Text),
            piece(drives, Meaning::Quiet),
        ]
    }

    fn device_name(&self) -> Vec<Piece> {
        let (Some(head), Some(index)) = (self.row.head, self.row.node) else { return Vec::new() };
        let tree = &self.shared.machine.pci;
        // In a list the root complex is not above.
        let place =
            if self.row.depth == 0 { tree.node(head).address.to_string() } else { tree.place_of(head) };
        let mut pieces = vec![piece(format!("{place} "), Meaning::Quiet)];
        let node = tree.node(index);
        if self.row.drive().is_some() {
            pieces.extend(self.drive_name());
            return pieces;
        }
        let word = match node.kind {
            NodeKind::SwitchUpstream | NodeKind::SwitchDownstream if self.row.kind == RowKind::Port => {
                "switch "
            }
            NodeKind::RootPort if self.row.open.is_none() => "empty port ",
            _ => "",
        };
        pieces.push(piece(word, Meaning::Text));
        pieces.push(piece(shortened_device(&short_name(node), self.left_out), Meaning::Text));
        if self.count() > 1 {
            pieces.push(piece(format!("  {}", counted(self.count(), "drive")), Meaning::Quiet));
        }
        pieces
    }

    fn drive_name(&self) -> Vec<Piece> {
        let Some(name) = self.row.drives.first() else { return Vec::new() };
        let machine = &self.shared.machine;
        let model = machine.drive(name).map(|drive| layers::title(machine, drive)).unwrap_or_default();
        let model = self.names.shortened(&model, self.left_out);
        let wide = usize::from(self.names.wide);
        if let RowKey::Member(array, part) = &self.row.key {
            let padded = format!("{part:<wide$}");
            let state = layers::member_state(machine, array, part);
            let state = state.map(|(words, meaning)| piece(format!("  {words}"), meaning));
            let model = piece(format!("  {model}"), Meaning::Quiet);
            return [piece(padded, Meaning::Drive)].into_iter().chain(state).chain([model]).collect();
        }
        let path = path(&self.shared.machine, self.row)
            .map_or_else(String::new, |path| format!("  path {}", path.name));
        let padded = format!("{name:<wide$}");
        vec![piece(padded, Meaning::Drive), piece(format!("{path}  {model}"), Meaning::Quiet)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_shortened_to_its_vendor_and_model() {
        let forms = |name| [0, 1, 2, 3, 9].map(|left_out| shortened_device(name, left_out));
        assert_eq!(
            forms("Realtek Semiconductor RTL8111/8168 PCI Express Gigabit Ethernet Controller"),
            [
                "Realtek Semiconductor RTL8111/8168 PCI Express Gigabit Ethernet Controller",
                "Realtek Semiconductor RTL8111/8168 Gigabit Ethernet Controller",
                "Realtek Semiconductor RTL8111/8168 Gigabit Ethernet",
                "Realtek Semiconductor RTL8111/8168",
                "Realtek Semiconductor RTL8111/8168",
            ]
        );
        assert_eq!(forms("AMD/ATI Radeon PRO W6600"), ["AMD/ATI Radeon PRO W6600"; 5], "the model stays");
    }

    #[test]
    fn a_model_is_shortened_as_far_as_it_stays_apart_from_others() {
        let models =
            ["980 PRO 1TB", "980 PRO 500GB", "FireCuda 530 ZP1000GM30013", "FireCuda 520 ZP1", "SN850X"];
        let origin = crate::source::origin::Origin::Demo("laptop".to_owned());
        let (machine, problems) = crate::source::read_machine(&*origin.open().unwrap());
        let limits = crate::capacity::limits(&machine).into();
        let read = crate::ui::MachineRead { machine: machine.into(), problems, limits };
        let shared = Shared::new(crate::ui::Mode::Live, read, (80, 24));
        let names = RowNames { models: models.map(str::to_owned).into(), ..RowNames::new(&shared) };
        let forms = |model| [0, 1, 2].map(|left_out| names.shortened(model, left_out));
        assert_eq!(forms("980 PRO 1TB"), ["980 PRO 1TB"; 3], "another has the rest");
        let [whole, short] = ["FireCuda 530 ZP1000GM30013", "FireCuda 530"];
        assert_eq!(forms(whole), [whole, short, short]);
        assert_eq!(forms("SN850X"), ["SN850X"; 3]);
    }
}
