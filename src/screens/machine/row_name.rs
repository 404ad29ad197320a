//! The name of a row: its fold mark, place, drive and model.

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
pub(super) fn drives_width(shared: &Shared) -> u16 {
    let drives = shared.machine.drives.iter().filter(|drive| !drive.kind.is_software());
    drives.map(|drive| cells(drive.name.as_str())).max().unwrap_or(0).min(12)
}

/// The name of a row, with a drive's in `wide` cells.
pub(super) fn of_row(shared: &Shared, row: &Row, wide: u16) -> Vec<Piece> {
    RowName { shared, row, wide }.pieces()
}

struct RowName<'a> {
    shared: &'a Shared,
    row: &'a Row,
    wide: u16,
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
                pieces.push(piece(format!("{} more like it", self.row.drives.len()), Meaning::Text));
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
        pieces.push(piece(short_name(node), Meaning::Text));
        if self.count() > 1 {
            pieces.push(piece(format!("  {}", counted(self.count(), "drive")), Meaning::Quiet));
        }
        pieces
    }

    fn drive_name(&self) -> Vec<Piece> {
        let Some(name) = self.row.drives.first() else { return Vec::new() };
        let machine = &self.shared.machine;
        let model = machine.drive(name).map(|drive| layers::title(machine, drive)).unwrap_or_default();
        if let RowKey::Member(array, part) = &self.row.key {
            let padded = format!("{part:<wide$}", wide = usize::from(self.wide));
            let state = layers::member_state(machine, array, part);
            let state = state.map(|(words, meaning)| piece(format!("  {words}"), meaning));
            let model = piece(format!("  {model}"), Meaning::Quiet);
            return [piece(padded, Meaning::Drive)].into_iter().chain(state).chain([model]).collect();
        }
        let path = path(&self.shared.machine, self.row)
            .map_or_else(String::new, |path| format!("  path {}", path.name));
        let padded = format!("{name:<wide$}", wide = usize::from(self.wide));
        vec![piece(padded, Meaning::Drive), piece(format!("{path}  {model}"), Meaning::Quiet)]
    }
}
