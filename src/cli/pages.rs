//! `iodyno man` and `iodyno completions`, made from the definition of the command line.

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{CommandLine, Complaint, Failure, Status, print};

#[derive(Debug, Clone, Args)]
pub(super) struct ManArgs {
    /// A command; default the page of iodyno itself
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(super) struct CompletionArgs {
    /// Shell to print completions for
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints a man page: `iodyno man | man -l -`.
pub(super) fn man(args: &ManArgs) -> Result<Status, Failure> {
    print(&page(args.command.as_deref())?)
}

/// Prints a completion script.
pub(super) fn completions(args: &CompletionArgs) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "iodyno", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Date of the last change of the pages, not of the build: builds are reproducible.
const CHANGED: &str = "2026-11-21";

/// Sections of the page of iodyno: title, and entries of term and text.
const SECTIONS: &[(&str, &[(&str, &str)])] = &[
    (
        "EXIT STATUS",
        &[
            ("0", "Done. A closed pipe is no error."),
            (
                "1",
                "The answer is no: check --fail-on had findings, an experiment was inconclusive or invalid, compare \
                 found a slower run.",
            ),
            ("2", "Failed; one line on standard error names the path or option and the fix."),
            (
                "129, 130, 131, 143",
                "Ended by SIGHUP, SIGINT, SIGQUIT or SIGTERM, after settings were restored. Other signals that can be \
                 handled, such as SIGXCPU, have 128 and their number.",
            ),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            (
                "IODYNO_STATE_DIR",
                "The state folder instead of the default. It must belong to the user running iodyno, who alone gets \
                 access to it. Under sudo, doas and pkexec, another user's folder is not used, nor XDG_STATE_HOME and \
                 HOME of another user.",
            ),
            (
                "XDG_STATE_HOME",
                "Parent of the state folder of users other than root; default ~/.local/state.",
            ),
            ("NO_COLOR", "If set and not empty: no colours."),
        ],
    ),
    (
        "FILES",
        &[
            (
                "/var/lib/iodyno",
                "Root's state folder: the journal of changed settings, measured limits, runs.",
            ),
            ("/sys, /proc", "Source of all readings; settings are written here and nowhere else."),
        ],
    ),
];

fn page(command: Option<&str>) -> Result<String, Failure> {
    let mut whole = CommandLine::command();
    // Gives commands their full names and the options they share.
    whole.build();
    let shown = match command {
        None => whole.clone(),
        Some(name) => named(&whole, name)?,
    };
    let name = shown.get_display_name().unwrap_or("iodyno").to_owned();
    let manual = format!("iodyno {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(shown).title(name.to_uppercase()).source(manual).manual("iodyno").date(CHANGED);
    let mut out = Vec::new();
    let rendered = man.render(&mut out).and_then(|()| {
        let mut roff = Roff::new();
        for (title, entries) in SECTIONS.iter().filter(|_| command.is_none()) {
            roff.control("SH", [*title]);
            for (term, text) in *entries {
                roff.control("TP", []);
                roff.text([bold(*term)]);
                roff.text([roman(*text)]);
            }
        }
        roff.to_writer(&mut out)
    });
    rendered.map_err(|error| Failure::from_stdout(&error))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn named(whole: &Command, name: &str) -> Result<Command, Complaint> {
    whole.find_subcommand(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = whole.get_subcommands().map(Command::get_name).collect();
        Complaint::new(format!("man {name}"), "no such command", format!("use one of {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_every_option_is_on_its_page() {
        let mut whole = CommandLine::command();
        whole.build();
        let plain = |page: &str| page.replace('\\', "");
        let root = plain(&page(None).unwrap());
        for command in whole.get_subcommands() {
            let name = command.get_name();
            assert!(root.contains(&format!("iodyno-{name}(1)")), "{name} in\n{root}");
            let text = plain(&page(Some(name)).unwrap());
            assert!(text.contains(&format!(".TH IODYNO-{} 1", name.to_uppercase())), "{text}");
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                if let Some(long) = option.get_long() {
                    assert!(text.contains(&format!("--{long}")), "{name} --{long}");
                }
            }
        }
        for (title, entries) in SECTIONS {
            assert!(root.contains(title) && !entries.is_empty());
        }
    }

    #[test]
    fn an_unknown_command_has_no_page() {
        let Err(Failure::Said(complaint)) = page(Some("nothing")) else { panic!() };
        assert!(complaint.to_string().starts_with("man nothing: no such command; use one of tree,"));
    }

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut CommandLine::command(), "iodyno", &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in CommandLine::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{} in {shell}", command.get_name());
            }
            assert!(script.contains("rate_iops") && script.contains("sysroot"), "{shell}");
        }
    }
}
