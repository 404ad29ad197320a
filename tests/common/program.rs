//! The program under test with a state folder of the test's own.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

/// Runs it to its end.
#[allow(dead_code, reason = "not every test needs it")]
pub fn iodyno(state: &Path, args: &[&str]) -> Output {
    command(state, args).output().unwrap()
}

/// Not started yet; its standard input is empty.
pub fn command(state: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.env("IODYNO_STATE_DIR", state).args(args).stdin(Stdio::null());
    command
}

/// Standard output, then standard error.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
