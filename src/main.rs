//! The `iodyno` program: everything is in the library.

fn main() {}
