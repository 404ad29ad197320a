//! Characters of printed text in a pipe: the locale's, unless an option names a set.

use std::process::Output;

use crate::program;

/// A command of a demo with these variables, in a pipe.
fn printed(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let state = tempfile::tempdir().unwrap();
    let mut command = program::command(state.path(), arguments);
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").env("XDG_CONFIG_HOME", state.path()).envs(variables.iter().copied());
    command.output().unwrap()
}

fn text(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    String::from_utf8(printed(arguments, variables).stdout).unwrap()
}

/// Commands that print text with drawings or signs.
const DRAWN: [&[&str]; 10] = [
    &["tree", "--all"],
    &["drives"],
    &["check"],
    &["check", "--explain", "shared-root-complex"],
    &["pull"],
    &["tune", "list"],
    &["whatif", "--move", "nvme0n1", "--under", "0000:20"],
    &["sheet", "--simulate", "--format", "markdown"],
    &["sheet", "--simulate", "--format", "bbcode"],
    &["bench", "--runtime", "1"],
];

#[test]
fn text_in_a_pipe_of_another_locale_is_ascii() {
    for arguments in DRAWN {
        let arguments = [arguments, &["--demo", "threadripper-before"]].concat();
        for variables in [&[("LANG", "C")][..], &[("LANG", "en_US.UTF-8"), ("LC_ALL", "POSIX")]] {
            let output = printed(&arguments, variables);
            let all = [output.stdout, output.stderr].concat();
            let all = String::from_utf8(all).unwrap();
            let other = all.lines().find(|line| !line.is_ascii());
            assert_eq!(other, None, "{arguments:?} {variables:?}");
            assert!(!all.is_empty(), "{arguments:?}");
        }
    }
}

#[test]
fn an_option_wins_over_the_locale_and_documents_know_neither() {
    let tree = |more: &[&str], variables: &[(&str, &str)]| {
        text(&[&["tree", "--demo", "laptop"], more].concat(), variables)
    };
    let braille = tree(&[], &[]);
    assert!(braille.contains('├'), "without a locale it is UTF-8: {braille}");
    assert_eq!(tree(&[], &[("LC_CTYPE", "de_DE.utf8"), ("LANG", "C")]), braille);
    assert_eq!(tree(&["--glyphs", "braille"], &[("LANG", "C")]), braille);
    assert!(tree(&["--glyphs", "ascii"], &[("LANG", "C.UTF-8")]).is_ascii());
    for arguments in [&["tree", "--json"][..], &["sheet", "--format", "svg"], &["render", "machine"]] {
        let arguments = [arguments, &["--demo", "laptop"]].concat();
        assert_eq!(text(&arguments, &[("LANG", "C")]), text(&arguments, &[]), "{arguments:?}");
    }
}
