//! How a command ends: statuses, complaints, closed pipes.

use std::{ffi::OsString, io, os::fd::AsFd, process::ExitCode};

use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, ErrorKind},
};
use rustix::fs::{FileType, fstat};
use signal_hook::consts::SIGHUP;

use super::{CommandLine, say};
use crate::{
    model::Failed,
    runtime::{access, signals::status_of},
    text::Label,
};

/// The fix of an error without one.
const HELP: &str = "see `iodyno --help`";

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Exit status 0.
    Done,
    /// Exit status 1: the answer is "no".
    No,
    /// Exit status 128 + the signal, after everything was restored.
    Stopped(u8),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::No => Self::FAILURE,
            Status::Stopped(signal) => Self::from(status_of(signal.into())),
        }
    }
}

/// Why a command failed, in one line: the path or option, the problem, the fix. Exit status 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{about}: {wrong}; {fix}")]
pub(crate) struct Complaint {
    about: String,
    wrong: String,
    fix: String,
}

/// Why a command ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Exit status 2.
    Said(Complaint),
    /// The reader of standard output is gone: no message, exit status 0.
    ClosedPipe,
    /// Its terminal is gone, often before SIGHUP arrives: no message, the exit status of that signal.
    HungUp,
}

impl Complaint {
    /// Makes text from outside in its parts harmless.
    pub(crate) fn new(about: impl AsRef<str>, wrong: impl AsRef<str>, fix: impl AsRef<str>) -> Self {
        let clean = |text: &str| Label::new(text).to_string();
        Self { about: clean(about.as_ref()), wrong: clean(wrong.as_ref()), fix: clean(fix.as_ref()) }
    }

    /// From a line `about: wrong; fix`, with this fix for a line without one.
    pub(super) fn from_line(line: &str, usual: &str) -> Self {
        let (problem, fix) = line.rsplit_once("; ").unwrap_or((line, usual));
        let (about, wrong) = problem.split_once(": ").unwrap_or(("iodyno", problem));
        Self::new(about, wrong, fix)
    }

    /// With more words about what is wrong.
    pub(super) fn and(mut self, more: &str) -> Self {
        self.wrong.push_str(more);
        self
    }
}

impl Failure {
    /// From a failed write to standard output.
    pub(super) fn from_stdout(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ if error.raw_os_error() == Some(libc::EIO) && is_character_device(io::stdout()) => Self::HungUp,
            _ => Self::Said(Complaint::new("standard output", words(error), "write somewhere else")),
        }
    }

    /// With what was done before.
    pub(super) fn after(self, done: &str) -> Self {
        self.and(&format!(", after {done}"))
    }

    /// With more words about what is wrong.
    pub(super) fn and(self, more: &str) -> Self {
        match self {
            Self::Said(complaint) => Self::Said(complaint.and(more)),
            gone => gone,
        }
    }
}

/// Whether it is a terminal, or was one: a closed terminal no longer answers as one.
fn is_character_device(file: impl AsFd) -> bool {
    fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice)
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    /// The line of an error is that of a complaint.
    fn from(error: E) -> Self {
        let error = error.into();
        let closed = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        };
        if error.chain().any(closed) {
            return Self::ClosedPipe;
        }
        Self::Said(error.downcast().unwrap_or_else(|error| Complaint::from_line(&error.to_string(), HELP)))
    }
}

/// A test that could not run; where drives may not be read, with the command that reads files in their place.
pub(super) fn unread(why: &Failed, command: &str) -> Failure {
    let mut complaint = Complaint::from_line(&why.to_string(), HELP);
    if !why.files().is_empty() {
        complaint.fix =
            format!("{}: {}", complaint.fix, Label::new(&access::file_command(command, why.files())));
    }
    Failure::Said(complaint)
}

/// `No such file or directory`, without the number behind it.
pub(super) fn words(error: &io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Prints the complaint, if any, and returns the exit status.
pub(super) fn exit(outcome: Result<ExitCode, Failure>) -> ExitCode {
    match outcome {
        Ok(status) => status,
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::HungUp) => Status::Stopped(u8::try_from(SIGHUP).unwrap_or_default()).into(),
        Err(Failure::Said(complaint)) => {
            say(&complaint.to_string());
            ExitCode::from(2)
        }
    }
}

/// Prints help and version; other outcomes of clap are complaints.
pub(super) fn refused(error: &clap::Error, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print().map_err(|error| Failure::from_stdout(&error)).map(|()| ExitCode::SUCCESS)
        }
        _ => Err(Failure::Said(complaint(error, arguments))),
    }
}

/// The command line that explains the options in question: `iodyno tree --help`.
fn help_of(arguments: &[OsString]) -> String {
    let commands = CommandLine::command();
    let named = arguments
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .find(|word| commands.get_subcommands().any(|command| command.get_name() == *word));
    named.map_or_else(|| "iodyno --help".to_owned(), |command| format!("iodyno {command} --help"))
}

/// The option whose value an argument is: its own, or the one before; else the argument.
fn option_of(arguments: &[OsString], at: usize) -> String {
    let word = |at: usize| arguments.get(at).map(|word| word.to_string_lossy().into_owned());
    let this = word(at).unwrap_or_default();
    let named = this.split_once('=').map(|(name, _)| name.to_owned()).filter(|name| name.starts_with('-'));
    let before =
        at.checked_sub(1).and_then(word).filter(|before| before.starts_with('-') && !before.contains('='));
    named.or(before).unwrap_or(this)
}

fn complaint(error: &clap::Error, arguments: &[OsString]) -> Complaint {
    let help = help_of(arguments);
    let context = |kind| error.get(kind).map(in_words).filter(|words| !words.is_empty());
    let see = format!("see `{help}`");
    // `--size <WxH>` is about `--size`, `[DEVICE]` about DEVICE.
    let option = context(ContextKind::InvalidArg).unwrap_or_default();
    let about =
        option.trim_start_matches('[').split([' ', '=', '[', ']']).next().unwrap_or_default().to_owned();
    let value = context(ContextKind::InvalidValue);
    let meant = |kind| closest(error.get(kind)?).map(|close| format!("did you mean {close}?"));
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let fix = meant(ContextKind::SuggestedSubcommand)
                .unwrap_or_else(|| "`iodyno --help` lists the commands".to_owned());
            Complaint::new(word, "no such command", fix)
        }
        ErrorKind::UnknownArgument if about.starts_with('-') => {
            Complaint::new(about, "no such option", meant(ContextKind::SuggestedArg).unwrap_or(see))
        }
        ErrorKind::UnknownArgument => Complaint::new(about, "unexpected argument", see),
        ErrorKind::InvalidValue if value.is_none() => Complaint::new(about, "needs a value", see),
        ErrorKind::InvalidValue => {
            let fix = match (meant(ContextKind::SuggestedValue), context(ContextKind::ValidValue)) {
                (Some(close), _) => close,
                (None, Some(valid)) => format!("use one of {valid}"),
                (None, None) => see,
            };
            Complaint::new(with_value(&about, value), "is not a valid value", fix)
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error)
                .map_or_else(|| "is not valid".to_owned(), ToString::to_string);
            let (wrong, fix) = why.split_once("; ").unwrap_or((&why, &see));
            Complaint::new(with_value(&about, value), wrong, fix)
        }
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).unwrap_or_default();
            let wrong = if other == option || other.is_empty() {
                "given twice".to_owned()
            } else {
                format!("conflicts with {other}")
            };
            Complaint::new(about, wrong, "leave one out")
        }
        ErrorKind::MissingRequiredArgument => Complaint::new(option, "is required", see),
        ErrorKind::TooManyValues => Complaint::new(with_value(&about, value), "unexpected value", see),
        ErrorKind::InvalidUtf8 => {
            let fix = "use UTF-8; `ln -s` gives a file another name";
            match arguments.iter().position(|word| word.to_str().is_none()) {
                Some(at) => Complaint::new(option_of(arguments, at), "its value is not UTF-8", fix),
                None => Complaint::new("arguments", "not UTF-8", fix),
            }
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Complaint::new("arguments", first.strip_prefix("error: ").unwrap_or(first), see)
        }
    }
}

fn with_value(option: &str, value: Option<String>) -> String {
    value.map_or_else(|| option.to_owned(), |value| format!("{option} {value}"))
}

/// The likeliest of clap's guesses, which it gives in rising order.
fn closest(guesses: &ContextValue) -> Option<&str> {
    match guesses {
        ContextValue::Strings(all) => all.last().map(String::as_str),
        ContextValue::String(only) => Some(only),
        _ => None,
    }
}

fn in_words(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(all) => all.join(", "),
        other => other.to_string(),
    }
}
