//! The text of `iodyno tree`: one row per node, with links, limits and drives in columns.

use super::{
    flatten,
    json::{LinkRow, NodeRow, TreeDocument},
    needs_root,
    table::{self, Column},
};
use crate::{
    machine::hop,
    model::DriveName,
    units::{Lanes, TransferRate, UnitSystem},
};

const COLUMNS: [Column; 6] = [
    Column::left("device"),
    Column::left("link"),
    Column::right("path limit"),
    Column::left("basis").optional(),
    Column::left("drives"),
    Column::left("name"),
];

/// For a terminal of `width` columns, or without a limit.
pub(crate) fn text(document: &TreeDocument, width: Option<usize>) -> String {
    let mut rows = Vec::new();
    flatten::walk(document.root_complexes.iter().collect(), "", 0, &mut |node: &NodeRow, guides, depth| {
        rows.push(row(node, &guides, if depth == 0 { "root complex" } else { "" }));
        node.children.iter().collect()
    });
    let mut text = table::text(&COLUMNS, &rows, width);
    text.push_str(&needs_root(&document.problems, "tree"));
    text
}

fn row(node: &NodeRow, guides: &str, kind: &str) -> Vec<String> {
    let limit = node.limit.as_ref();
    let under = node.parent.as_ref().filter(|_| node.kind == "root-complex");
    let under = under.map(|device| format!("under {device}")).unwrap_or_default();
    let name = [node.short_name.as_str(), &under].into_iter().filter(|part| !part.is_empty());
    let drives: Vec<&str> = node.drives.iter().map(DriveName::as_str).collect();
    let paths: Vec<&str> = node.paths.iter().map(DriveName::as_str).collect();
    let paths = if paths.is_empty() { String::new() } else { format!(" (path {})", paths.join(" ")) };
    vec![
        format!("{guides}{} {kind}", node.address).trim_end().to_owned(),
        node.link.as_ref().map(link_text).unwrap_or_default(),
        limit.map(|limit| UnitSystem::Decimal.rate(limit.bytes_per_second)).unwrap_or_default(),
        limit.map(|limit| limit.basis.name().to_owned()).unwrap_or_default(),
        drives.join(" ") + &paths,
        name.collect::<Vec<_>>().join(", "),
    ]
}

fn link_text(link: &LinkRow) -> String {
    let ends = |gts: Option<f64>, width: Option<u8>| (gts.and_then(TransferRate::from_gts), width.map(Lanes));
    hop::column(ends(link.speed_gts, link.width), ends(link.max_speed_gts, link.max_width))
}
