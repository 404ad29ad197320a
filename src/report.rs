//! Pure text from data: trees, tables, JSON documents.
//!
//! Not here: reading, drawing on a terminal, anything of `app`.

pub mod check;
