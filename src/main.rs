//! The `iodyno` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    iodyno::cli::main(std::env::args_os())
}
