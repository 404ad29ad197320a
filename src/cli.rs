//! The command line: options, commands, exit statuses.

pub mod bench;
mod failure;
mod capture;
mod check;
mod compare;
mod display;
mod metrics;
mod pages;
mod progress;
mod pull;
mod signals;
mod experiment;
mod render;
mod sheet;
mod stat;
mod terminal;
mod tune;
mod whatif;
mod why;

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use clap::{Args, Parser, Subcommand};

use serde::Serialize;
use serde_json::json;
use signal_hook::consts::SIGXFSZ;

use self::{
    display::DisplayOptions,
    failure::{Complaint, Failure, Status},
    terminal::{columns, print_text, print_toned, units},
};
use crate::{
    app::MachineRead,
    capacity,
    findings::{self, Inputs},
    machine::Measured,
    report::{self, table::Column},
    runtime::{
        self,
        run::{Ended, Testbed},
        run_history, startup,
    },
    source::{
        SysRoot, demo,
        origin::{OpenError, Origin},
    },
    text::{Label, printable},
    ui::judged::Judged,
};

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "iodyno",
    version,
    about = "A dynamometer for storage",
    long_about = "A dynamometer for storage: maps the PCIe tree of this machine, names what limits its drives, and \
                  runs io_uring read tests.\n\nWithout a command it opens the full screen. No \
                  device is opened for writing.",
    disable_help_subcommand = true,
    // `iodyno --demo tree` means the command, not a demo of that name.
    subcommand_precedence_over_arg = true
)]
struct CommandLine {
    #[command(flatten)]
    origin: OriginOptions,
    #[command(flatten)]
    display: DisplayOptions,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The machine to read; default this one.
#[derive(Debug, Args)]
struct OriginOptions {
    /// Use a built-in machine; `iodyno demos` lists them
    #[arg(long, global = true, value_name = "NAME", help_heading = "Machine")]
    #[expect(clippy::option_option, reason = "absent, `--demo` alone and `--demo NAME` are three things")]
    demo: Option<Option<String>>,
    /// Use a capture made by `iodyno capture`, or pasted texts of lspci; `-` is standard input
    #[arg(long, global = true, value_name = "FILE", help_heading = "Machine")]
    open: Option<PathBuf>,
    /// Read DIR/sys and DIR/proc instead of /sys and /proc
    #[arg(long, global = true, value_name = "DIR", help_heading = "Machine")]
    sysroot: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the PCIe tree with links, limits and drives
    Tree(TreeArgs),
    /// List drives with formats, queues, temperatures, settings and users
    Drives(Format),
    /// List what limits this machine, most severe first
    Check(check::CheckArgs),
    /// Run the guided test: each drive alone, all together, random reads, latency; one headline
    Pull(pull::PullArgs),
    /// Print rows of counters: CPUs, drives, interrupts, threads, processes
    Stat(stat::StatArgs),
    /// Run a read test with fio's options
    Bench(Box<bench::BenchArgs>),
    /// Compare settings or workloads in interleaved runs
    Experiment(experiment::ExperimentArgs),
    /// List, change, undo and export settings
    Tune(tune::TuneArgs),
    /// Measure each step from the drive to a program that reads a file
    Why(why::WhyArgs),
    /// Compute rates and findings with a drive or card in another slot
    #[command(visible_alias = "what-if")]
    Whatif(whatif::WhatifArgs),
    /// Print a screen as text, ANSI or SVG
    Render(render::RenderArgs),
    /// Save everything read from this machine in one text file for --open
    Capture(capture::CaptureArgs),
    /// Print a summary to post: machine, tree, findings, settings, runs
    Sheet(sheet::SheetArgs),
    /// Compare two sheets or captures; exit status 1 if a run got slower
    Compare(compare::CompareArgs),
    /// List the built-in machines
    Demos(Format),
    /// Print the configuration in use, with a comment for each key
    Config(display::ConfigArgs),
    /// Print metrics in Prometheus' text format, for the textfile collector
    Metrics,
    /// Print shell completions
    Completions(pages::CompletionArgs),
    /// Print the manual page of iodyno or of one command
    Man(pages::ManArgs),
}

impl Command {
    /// Whether it reads settings and leaves them unchanged, even after an experiment was killed.
    const fn only_reads_this_machine(&self) -> bool {
        matches!(
            self,
            Self::Tree(_)
                | Self::Drives(_)
                | Self::Check(_)
                | Self::Pull(_)
                | Self::Bench(_)
                | Self::Why(_)
                | Self::Sheet(_)
                | Self::Metrics
        )
    }

    /// Its name, if it prints nothing until it is done.
    fn quiet_name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Render(_) => "render",
            Self::Tree(_) => "tree",
            Self::Drives(_) => "drives",
            Self::Check(_) => "check",
            Self::Why(_) => "why",
            Self::Whatif(_) => "whatif",
            Self::Capture(_) => "capture",
            Self::Sheet(_) => "sheet",
            Self::Compare(_) => "compare",
            Self::Metrics => "metrics",
            Self::Bench(args) if args.json() => "bench",
            Self::Pull(args) if args.is_quiet() => "pull",
            Self::Experiment(args) if args.is_quiet() => "experiment",
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Copy, Args)]
struct TreeArgs {
    #[command(flatten)]
    format: Format,
    /// Show every device, also those that matter to no drive
    #[arg(long)]
    all: bool,
}

/// How a command prints.
#[derive(Debug, Clone, Copy, Args)]
struct Format {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs `iodyno` with these arguments, the first being the program's own name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    // `iodyno help COMMAND`, as git and cargo have it.
    if arguments.get(1).is_some_and(|first| first == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    // A limit on the size of files is an error of the write (EFBIG): what was begun is removed or restored. Without the handler
    // the signal ends the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let outcome = match CommandLine::try_parse_from(&arguments) {
        Ok(line) => line.run(),
        Err(error) => failure::refused(&error, &arguments),
    };
    failure::exit(outcome)
}

impl CommandLine {
    fn run(self) -> Result<ExitCode, Failure> {
        let origin = self.origin.origin()?;
        if self.command.as_ref().is_some_and(Command::only_reads_this_machine) {
            tune::note(&origin, tune::Need::GoOnSoon)?;
        }
        self.display.check()?;
        terminal::look(&self.display);
        let progress =
            progress::Progress::begin(self.command.as_ref().and_then(Command::quiet_name), &origin);
        let status = match self.command {
            None => return screen(&origin, &self.display, progress),
            Some(Command::Render(args)) => render::run(&args, &origin, &self.display),
            Some(Command::Tree(args)) => tree(&origin, args),
            Some(Command::Drives(format)) => drives(&origin, format),
            Some(Command::Check(args)) => check::run(&args, &origin),
            Some(Command::Pull(args)) => pull::run(&args, &origin),
            Some(Command::Stat(args)) => stat::run(&args, &origin),
            Some(Command::Bench(args)) => bench::run(&args, &origin),
            Some(Command::Experiment(args)) => experiment::run(&args, &origin),
            Some(Command::Tune(args)) => tune::run(&args, &origin),
            Some(Command::Why(args)) => why::run(&args, &origin),
            Some(Command::Whatif(args)) => whatif::run(&args, &origin),
            Some(Command::Capture(args)) => capture::run(&origin, &args),
            Some(Command::Sheet(args)) => sheet::run(&args, &origin),
            Some(Command::Compare(args)) => compare::run(&args, &origin),
            Some(Command::Demos(format)) => demos(format),
            Some(Command::Config(args)) => display::print_config(&args, &self.display),
            Some(Command::Metrics) => metrics::run(&origin),
            Some(Command::Completions(args)) => pages::completions(&args),
            Some(Command::Man(args)) => pages::man(&args),
        };
        status.map(ExitCode::from)
    }
}

impl OriginOptions {
    fn origin(self) -> Result<Origin, Complaint> {
        match (self.demo, self.open, self.sysroot) {
            (None, None, None) => Ok(Origin::Live),
            (Some(name), None, None) => {
                let first = demo::DEMOS.first().map_or("", |demo| demo.name);
                Ok(Origin::Demo(name.unwrap_or_else(|| first.to_owned())))
            }
            (None, Some(file), None) => Ok(Origin::Capture(file)),
            (None, None, Some(folder)) => Ok(Origin::Sysroot(folder)),
            (demo, open, _) => {
                let second = if demo.is_some() && open.is_some() { "--open" } else { "--sysroot" };
                Err(Complaint::new(
                    second,
                    "conflicts with another machine option",
                    "keep one of --demo, --open and --sysroot",
                ))
            }
        }
    }
}

/// The full screen. Keys come from the terminal even when a capture arrives on standard input.
fn screen(
    origin: &Origin,
    display: &DisplayOptions,
    progress: progress::Progress,
) -> Result<ExitCode, Failure> {
    let keys_from_terminal = io::stdin().is_terminal() || *origin == Origin::Capture(PathBuf::from("-"));
    for (name, is_terminal) in
        [("standard output", io::stdout().is_terminal()), ("standard input", keys_from_terminal)]
    {
        if !is_terminal {
            return Err(Complaint::new(
                name,
                "not a terminal, which the screen needs",
                "use `iodyno tree`, or `iodyno --help` for the other commands",
            )
            .into());
        }
    }
    if let Some(complaint) = display::why_no_screen(display::variable("TERM").as_deref()) {
        return Err(complaint.into());
    }
    let display::Configured { config, mistakes, .. } = display::configuration();
    let theme = display.of_terminal(config)?;
    let follows = (display.asks_terminal(config), display.keeps_theme(config), display::auto_theme());
    let root = open(origin)?;
    drop(progress);
    Ok(runtime::run(origin, root, (config, mistakes), theme, follows)?)
}

fn tree(origin: &Origin, args: TreeArgs) -> Result<Status, Failure> {
    let MachineRead { machine, limits, problems } = read(origin)?;
    let document = report::json::TreeDocument::new(&machine, &limits, &problems);
    if args.format.json {
        return print(&report::json::text(&document));
    }
    let inputs = Inputs::at_rest(&machine, &limits);
    let judged = Judged::new(&inputs);
    let not_made = findings::lacking(&findings::not_made(&inputs, &judged.list));
    let look = report::tree::Look { width: columns(), all: args.all, units: units(false), not_made };
    print_toned(&report::tree::text(&machine, &document, &judged.list, &judged.marked, look))
}

fn drives(origin: &Origin, format: Format) -> Result<Status, Failure> {
    let read = read(origin)?;
    let document = report::json::DrivesDocument::new(&read.machine, &read.problems);
    if format.json {
        return print(&report::json::text(&document));
    }
    print_toned(&report::drives::text(&document, columns(), units(false)))
}

fn demos(format: Format) -> Result<Status, Failure> {
    const COLUMNS: [Column; 2] = [Column::left("demo"), Column::left("machine")];
    let demos: Vec<_> =
        demo::DEMOS.iter().map(|demo| json!({ "name": demo.name, "title": demo.title })).collect();
    show(format.json, &json!({ "demos": demos }), |_| {
        let rows = demo::DEMOS.iter().map(|demo| vec![demo.name.to_owned(), demo.title.to_owned()]);
        report::table::text(&COLUMNS, &rows.collect::<Vec<_>>(), columns())
    })
}

/// Reads the machine to show or judge.
fn read(origin: &Origin) -> Result<MachineRead, Failure> {
    Ok(startup::read_or_refuse(&*open(origin)?)?)
}

/// Opens the machine; its content may come from a pipe.
fn open(origin: &Origin) -> Result<Arc<dyn SysRoot>, OpenError> {
    let root = origin.open();
    progress::opened();
    root
}

fn captured(command: &str) -> Complaint {
    let fix = "leave --open and --sysroot out, or use --demo for simulated drives";
    Complaint::new(command, "a captured machine cannot be tested", fix)
}

/// Judges a finished run: prints which limits it refutes, and stores what it measured.
fn judge(bed: &Testbed, ended: &mut Ended) -> Vec<Measured> {
    let learned = bed.judge(ended);
    for sentence in capacity::refutations(&bed.read.machine, &bed.read.limits, &learned) {
        say(&sentence);
    }
    if let Err(error) = run_history::remember(&learned) {
        say(&error.to_string());
    }
    learned
}

/// Prints a document as JSON or as text.
fn show<D: Serialize>(json: bool, document: &D, text: impl FnOnce(&D) -> String) -> Result<Status, Failure> {
    if json { print(&report::json::text(document)) } else { print_text(&text(document)) }
}

/// Output of a command in progress.
struct Progress {
    /// Prints nothing: for JSON.
    quiet: bool,
    /// Why printing failed; it ends the command.
    failed: Option<Failure>,
}

impl Progress {
    fn new(quiet: bool) -> Self {
        Self { quiet, failed: None }
    }

    fn print(&mut self, text: &str) {
        if !self.quiet && self.failed.is_none() {
            self.failed = print_text(text).err();
        }
    }
}

/// Writes a command's text to standard output, without characters that control a terminal.
fn print(text: &str) -> Result<Status, Failure> {
    progress::output();
    let mut out = io::stdout().lock();
    out.write_all(printable(text).as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::from_stdout(&error))?;
    Ok(Status::Done)
}

/// Writes a line to standard error; a terminal's width breaks it between words.
fn say(line: &str) {
    progress::output();
    let line = terminal::in_characters(Label::new(line).as_str(), &io::stderr());
    let line = terminal::in_columns(&line, terminal::columns_of(&io::stderr()));
    // An error of standard error cannot be reported.
    let _ = writeln!(io::stderr(), "{line}");
}
