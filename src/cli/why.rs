//! `iodyno why FILE`: the rates of a file's path from the drive to a program.

use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
    time::Duration,
};

use clap::Args;

use super::{Complaint, Failure, Status, captured, columns, print, print_text, say, signals::Signal, units};
use crate::{
    model::fio,
    report::{
        json,
        waterfall::{WaterfallDocument, text},
    },
    runtime::{
        clock::Clock,
        run::Testbed,
        startup,
        why::{Answer, Inquiry, Question, is_cached},
    },
    source::origin::Origin,
};

/// Options of `iodyno why`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Reads only, and changes no setting. Devices below the file are read where that is permitted (root).\n\
                  Pages that the tests cache are dropped afterwards; pages cached before stay.\n\
                  Exit status: 0 done; 2 the file cannot be tested; 130 stopped by Ctrl-C."
)]
pub(super) struct WhyArgs {
    /// A file of 16 MiB or more, such as a model, a database or a video
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Time of all tests
    #[arg(long, value_name = "TIME", value_parser = fio::time, default_value = "12s")]
    runtime: Duration,
    /// Drop cached pages of the file first; refused while some are dirty
    #[arg(long)]
    drop_cache: bool,
    /// Do not ask before dropping pages of a file that is cached as a whole
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// In less time no test of a step gets far beyond its start.
const LEAST_TIME: Duration = Duration::from_secs(2);
/// Columns without a terminal.
const WIDE: usize = 120;

pub(super) fn run(args: &WhyArgs, origin: &Origin) -> Result<Status, Failure> {
    if *origin != Origin::Live {
        return Err(if origin.is_demo() {
            let fix = "leave --demo out and name a file of this machine";
            Complaint::new("why", "a demo has no files", fix)
        } else {
            let fix = "leave --open and --sysroot out and name a file of this machine";
            Complaint::new("why", "a captured machine has no files", fix)
        }
        .into());
    }
    if args.runtime < LEAST_TIME {
        let fix = format!("use {} s or more", LEAST_TIME.as_secs());
        return Err(Complaint::new("--runtime", "too short for the tests of every step", fix).into());
    }
    let root = origin.open()?;
    let bed =
        Testbed::new(origin, &root, startup::read(&*root), Clock::real()).ok_or_else(|| captured("why"))?;
    let question = Question { file: args.file.clone(), time: args.runtime, drop_cache: args.drop_cache };
    let machine = &bed.read.machine;
    let inquiry = match Inquiry::new(&*root, machine, question.clone()) {
        Err(error) if is_cached(&error) && args.may_drop() => {
            Inquiry::new(&*root, machine, Question { drop_cache: true, ..question })?
        }
        result => result?,
    };
    let signal = Signal::watch()?;
    if !args.json {
        say(&format!(
            "reads {} for up to {} s; changes no setting",
            args.file.display(),
            inquiry.time().as_secs_f64()
        ));
    }
    let shows = !args.json && io::stderr().is_terminal();
    let mut last = "";
    let answer = inquiry.answer(&bed, &*root, |progress| {
        let layer = progress.layer.name();
        if shows && last != layer {
            // There is nowhere left to complain about standard error.
            let _ = write!(io::stderr(), "\r{layer:<12}");
        }
        last = layer;
        signal.received().is_none()
    })?;
    if shows {
        let _ = write!(io::stderr(), "\r            \r");
    }
    let Answer { waterfall, state, stopped } = answer;
    let asked = state.asked(&args.file, stopped);
    if args.json {
        print(&json::text(&WaterfallDocument::new(&asked, &waterfall)))?;
    } else {
        print_text(&text(&asked, &waterfall, units(false), columns().unwrap_or(WIDE)))?;
    }
    Ok(signal.received().map_or(Status::Done, Status::Stopped))
}

impl WhyArgs {
    /// Asks whether the pages of a file that is cached as a whole are dropped.
    fn may_drop(&self) -> bool {
        if self.yes {
            return true;
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return false;
        }
        say(&format!("{} is in the page cache as a whole", self.file.display()));
        let _ = write!(io::stderr(), "y drops its clean pages, which changes no data; n leaves: ");
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer).unwrap_or_default();
        read > 0 && ["y", "yes"].contains(&answer.trim())
    }
}
