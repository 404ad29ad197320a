//! Layers above the drives: md arrays, device mapper, bcache, loop devices, zram, ZFS' cache.

mod dm;
mod md;

use super::{
    block::Stacking,
    root::{SysRoot, flag, label, text},
};
use crate::{
    machine::{Drive, DriveKind, Layer, LayerKind, Layers, layers::ArcCache},
    model::Reading,
    text::{Label, natural},
    units::Bytes,
};

/// Layers of these block devices; `stacking` says what lies on what.
pub(super) fn read(root: &dyn SysRoot, drives: &[Drive], stacking: Stacking) -> Layers {
    let layer = |drive: &Drive| {
        let mut below: Vec<Label> = stacking
            .below
            .get(drive.name.as_str())
            .into_iter()
            .flatten()
            .map(|name| Label::new(name))
            .collect();
        below.sort_by(|a, b| natural(a.as_str(), b.as_str()));
        Layer { kind: kind(root, drive), below }
    };
    let software = drives.iter().filter(|drive| drive.kind.is_software());
    Layers {
        devices: software.map(|drive| (drive.name.clone(), layer(drive))).collect(),
        file_systems: stacking.file_systems,
        arc: arc(root),
    }
}

fn kind(root: &dyn SysRoot, drive: &Drive) -> LayerKind {
    let at = |file: &str| format!("{}/{file}", drive.path);
    match drive.kind {
        DriveKind::Md => LayerKind::Md(Box::new(md::read(root, &at("md")))),
        DriveKind::Dm => LayerKind::Dm(dm::read(root, drive)),
        DriveKind::Loop => LayerKind::Loop { direct: flag(root, &at("loop/dio")) },
        DriveKind::Zram => LayerKind::Zram { algorithm: chosen(label(root, &at("comp_algorithm"))) },
        _ if drive.name.as_str().starts_with("bcache") => LayerKind::Bcache {
            mode: chosen(label(root, &at("bcache/cache_mode"))),
            state: label(root, &at("bcache/state")),
        },
        _ => LayerKind::Other,
    }
}

/// The bracketed word of a list of choices.
fn chosen(words: Reading<Label>) -> Reading<Label> {
    words.map(|words| {
        let chosen = words.as_str().split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        chosen.map_or_else(|| words.clone(), |(word, _)| Label::new(word))
    })
}

/// `size` and `c_max` of ZFS' kernel statistics; `None` where the module is not loaded.
fn arc(root: &dyn SysRoot) -> Option<ArcCache> {
    const PATH: &str = "/proc/spl/kstat/zfs/arcstats";
    let table = text(root, PATH);
    if table.problem().is_some_and(|problem| problem.kind == crate::model::ProblemKind::Absent) {
        return None;
    }
    // `name type data`, below two lines of headings.
    let row = |name: &'static str| {
        table.clone().and_then(|table| {
            let mut rows = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
            let value = rows.find_map(|row| match row[..] {
                [own, _, value] if own == name => value.parse().ok(),
                _ => None,
            });
            value.map(Bytes).ok_or_else(|| format!("no row {name}"))
        })
    };
    Some(ArcCache { size: row("size"), most: row("c_max") })
}

#[cfg(test)]
mod tests;
