//! Layers in `iodyno drives --json`: arrays with members, device mapper, what lies on a drive.

use serde::Serialize;

use super::Reasons;
use crate::{
    machine::{
        Drive, Layer, Machine,
        layers::{Dm, Md},
    },
    model::Reading,
    text::Label,
};

/// A software device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerRow {
    /// Its kind in words: `RAID10, 4 members, chunk 512k`.
    pub text: String,
    /// Kernel names of the block devices directly below it.
    pub below: Vec<String>,
    /// md array; `null` for others.
    pub md: Option<MdRow>,
    /// Device mapper; `null` for others.
    pub dm: Option<DmRow>,
}

/// An md array; files of `/sys/block/mdN/md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MdRow {
    pub level: Option<String>,
    pub raid_disks: Option<u32>,
    pub chunk_bytes: Option<u64>,
    pub array_state: Option<String>,
    pub degraded: Option<u32>,
    pub sync_action: Option<String>,
    /// Bytes per second of each member; `null` while nothing is synchronised.
    pub sync_bytes_per_second: Option<u64>,
    /// Percent done; `null` while nothing is synchronised.
    pub sync_percent: Option<f64>,
    /// Seconds left at the present speed.
    pub sync_seconds_left: Option<f64>,
    /// `none`, sectors from the superblock, or `file`.
    pub bitmap: Option<String>,
    pub bitmap_chunk_bytes: Option<u64>,
    pub group_thread_cnt: Option<u32>,
    pub members: Vec<MemberRow>,
}

/// A member of an array.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemberRow {
    /// Kernel name of the drive or partition.
    pub name: String,
    pub state: Option<String>,
    /// `null` for a spare or faulty member.
    pub slot: Option<u32>,
}

/// A device of device mapper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DmRow {
    pub name: Option<String>,
    /// Its table without keys and devices; `null` without root.
    pub targets: Option<Vec<TargetRow>>,
}

/// One target of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetRow {
    /// `crypt`, `linear`, `striped`...
    pub kind: String,
    pub size_bytes: u64,
    /// Cipher and optional parameters of `crypt`, stripes and chunk of `striped`; never a key.
    pub options: Vec<String>,
}

/// A device or file system that lies on a drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StackRow {
    /// 0 for what lies on the drive directly.
    pub depth: usize,
    /// `md0 RAID10, 4 members`, `/home ext4, noatime`.
    pub text: String,
}

pub(super) fn stack(machine: &Machine, drive: &Drive) -> Vec<StackRow> {
    let levels = machine.stack_above(drive).into_iter();
    levels.map(|level| StackRow { depth: level.depth, text: level.words }).collect()
}

impl LayerRow {
    pub(super) fn new(layer: &Layer, reasons: &mut Reasons) -> Self {
        Self {
            text: layer.words(),
            below: layer.below.iter().map(ToString::to_string).collect(),
            md: layer.md().map(|md| md_row(md, reasons)),
            dm: layer.dm().map(|dm| dm_row(dm, reasons)),
        }
    }
}

fn md_row(md: &Md, reasons: &mut Reasons) -> MdRow {
    let mut word = |reading: &Reading<Label>| reasons.turn(reading, ToString::to_string);
    let (level, array_state, sync_action) = (word(&md.level), word(&md.state), word(&md.sync_action));
    let bitmap = word(&md.bitmap);
    let member = |member: &crate::machine::layers::Member| MemberRow {
        name: member.name.to_string(),
        state: member.state.value().map(ToString::to_string),
        slot: member.slot,
    };
    MdRow {
        level,
        raid_disks: reasons.take(&md.disks),
        chunk_bytes: reasons.turn(&md.chunk, |chunk| chunk.0),
        array_state,
        degraded: reasons.take(&md.degraded),
        sync_action,
        sync_bytes_per_second: reasons.turn(&md.sync_speed, |speed| speed.0),
        sync_percent: reasons.turn(&md.sync_completed, |progress| progress.percent()),
        sync_seconds_left: md.seconds_left(),
        bitmap,
        bitmap_chunk_bytes: reasons.turn(&md.bitmap_chunk, |chunk| chunk.0),
        group_thread_cnt: reasons.take(&md.group_threads),
        members: md.members.iter().map(member).collect(),
    }
}

fn dm_row(dm: &Dm, reasons: &mut Reasons) -> DmRow {
    let row = |target: &crate::machine::layers::Target| TargetRow {
        kind: target.kind.to_string(),
        size_bytes: target.size.0,
        options: target.options.iter().map(ToString::to_string).collect(),
    };
    DmRow {
        name: reasons.turn(&dm.name, ToString::to_string),
        targets: reasons.turn(&dm.targets, |targets| targets.iter().map(row).collect()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        report::json::DrivesDocument,
        source::{self, capture::TextRoot},
    };

    #[test]
    fn an_array_in_json_has_members_and_progress() {
        let root = TextRoot::parse(include_str!("../../../tests/fixtures/stack.capture")).unwrap();
        let (machine, problems) = source::read_machine(&root);
        let document = serde_json::to_value(DrivesDocument::new(&machine, &problems)).unwrap();
        let drive = |name: &str| {
            document["drives"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
        };
        let md = &drive("md0")["layer"]["md"];
        assert_eq!(md["members"][2]["name"], "nvme2n1");
        assert_eq!(md["members"][2]["state"], "spare");
        assert_eq!(md["sync_percent"], 25.0);
        assert_eq!(md["sync_seconds_left"], 3750.0);
        assert_eq!(md["sync_bytes_per_second"], 204_800_000);
        assert_eq!(drive("dm-0")["layer"]["dm"]["targets"][0]["kind"], "crypt");
        assert_eq!(drive("nvme0n1")["stack"][0]["depth"], 0);
        assert!(drive("nvme0n1")["layer"].is_null());
    }
}
