//! The question whether files are read in place of drives that may not be read, in the same words on every screen.

use super::paint::{Piece, hints, paragraph};
use crate::{
    model::Target,
    ui::{Shared, theme::Meaning},
    units::{Bytes, counted},
};

/// The question, and for how long it reads where that is known.
pub fn question(shared: &Shared, files: &[Target], size: Bytes, seconds: Option<u64>) -> String {
    let (files, size) = (counted(files.len(), "file"), shared.units.size(size));
    let time = seconds.map_or_else(String::new, |seconds| format!(" for at most {seconds} s"));
    format!("The drives may not be read here. Read {files} of {size}{time} instead?")
}

/// The question, the keys that answer it, and what becomes of each file.
pub fn lines(question: &str, files: &[Target], keys: &[(&str, &str)], width: u16) -> Vec<Vec<Piece>> {
    let mut lines = paragraph(question, Meaning::Figure, width);
    if !keys.is_empty() {
        lines.push(hints(keys));
    }
    let laid_out = files.iter().flat_map(|file| {
        let text = format!("{} is written first and removed afterwards.", file.path.display());
        paragraph(&text, Meaning::Warning, width)
    });
    lines.extend(laid_out);
    lines
}
