//! Errors of commands: the option or file, the problem, the fix; whatever bytes were given.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path, process::Command};

use crate::program::{command, iodyno, text};

/// A folder that root can make where others look for one that is not there would spoil their tests.
const STATE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/complaints-state");

#[test]
fn a_name_that_is_not_utf_8_names_its_option() {
    let name = OsStr::from_bytes(b"ef/a\xffb");
    let joined = OsStr::from_bytes(b"--filename=ef/a\xffb");
    for words in [&[OsStr::new("--filename"), name][..], &[joined]] {
        let output = command(Path::new(STATE), &["bench"]).args(words).output().unwrap();
        let expected =
            "iodyno: --filename: its value is not UTF-8; use UTF-8; `ln -s` gives a file another name\n";
        assert_eq!((output.status.code(), text(&output)), (Some(2), expected.to_owned()));
    }
}

#[test]
fn an_argument_that_conflicts_has_its_name() {
    let output = iodyno(Path::new(STATE), &["tune", "undo", "loop3", "--all"]);
    assert_eq!(text(&output), "iodyno: DEVICE: conflicts with --all; leave one out\n");
    let help = text(&iodyno(Path::new(STATE), &["tune", "undo", "--help"]));
    assert!(help.contains("not with --all") && help.contains("not with DEVICE"), "{help}");
}

#[test]
fn an_unknown_finding_names_its_nearest_and_the_list() {
    let said = |words: &[&str]| text(&iodyno(Path::new(STATE), words));
    let list = "`iodyno check --explain` lists all\n";
    for (id, near) in [
        ("lnk-downtrained", "did you mean link-downtrained? "),
        ("shared", "did you mean shared-root-complex? "),
        ("zzz", ""),
    ] {
        let expected = format!("iodyno: --explain {id}: no such finding; {near}{list}");
        assert_eq!(said(&["check", "--explain", id]), expected);
    }
    let all = said(&["check", "--explain"]);
    assert!(all.starts_with("link-downtrained ") && all.lines().count() == 58, "{all}");
}

#[test]
fn the_state_folder_of_a_journal_is_one_harmless_line() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("x\u{1b}[31m\nfake: line");
    let said = text(&iodyno(&state, &["tune", "journal"]));
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 2 && lines[0].ends_with("/journal.jsonl"), "{said:?}");
    assert!(!said.contains('\u{1b}') && !lines[1].contains("fake"), "{said:?}");
}

#[test]
fn a_long_journal_is_read_by_commands_that_need_it_alone() {
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join("journal.jsonl");
    // A hole is one damaged line.
    fs::File::create(&path).unwrap().set_len((16 << 20) + 1).unwrap();
    let said = |args: &[&str]| String::from_utf8_lossy(&iodyno(state.path(), args).stderr).into_owned();
    let line = "journal.jsonl: not read: it has 17 MiB, more than 16; `iodyno tune list` reads it\n";
    for args in [&["tree"][..], &["check"], &["drives"], &["sheet"]] {
        let said = said(args);
        assert!(said.matches(line).count() == 1 && !said.contains("damaged"), "{args:?}: {said}");
    }
    let said = said(&["tune", "list"]);
    assert!(
        said.contains("journal.jsonl: line 1 is damaged (zeros)") && !said.contains("not read"),
        "{said}"
    );
}

#[test]
fn a_name_that_a_job_file_cannot_have_is_refused_for_its_own_reason() {
    for (name, why) in
        [("ef/a ", "ends with a space"), (" a", "begins with a space"), ("a\\", "ends with a backslash")]
    {
        let output = iodyno(Path::new(STATE), &["bench", "--filename", name, "--size", "1m", "--emit-fio"]);
        assert!(text(&output).contains(why), "{name:?}: {}", text(&output));
    }
}

#[test]
fn a_limit_on_the_size_of_files_leaves_no_unfinished_capture() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 8; exec \"$0\" --demo x570 capture out", env!("CARGO_BIN_EXE_iodyno")]);
    let output = shell.current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}
