//! `iodyno compare`: differences between two sheets or captures.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{Complaint, Failure, Status, failure::words, print, sheet::Format};
use crate::{
    report::{
        compare::{Comparison, Side},
        dossier::{Dossier, Material, Mode},
        json,
        sheet::{self, Choice},
    },
    runtime::startup,
    source::{
        capture::{MAGIC, format::MOST_TEXT},
        origin::Origin,
    },
    tune::change_log::ChangeLog,
};

#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// The older sheet (JSON) or capture
    before: PathBuf,
    /// The newer sheet (JSON) or capture
    after: PathBuf,
    /// Loss in percent above which a run counts as slower and the exit status is 1
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    margin: f64,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    /// Same as --format json
    #[arg(long)]
    json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|number| (0.0..100.0).contains(number))
        .ok_or_else(|| "not a percentage; use 0 to 99, such as 2".to_owned())
}

/// Status 1 when a run got slower by more than the margin.
pub(super) fn run(args: &CompareArgs, origin: &Origin) -> Result<Status, Failure> {
    if !origin.is_live() {
        let fix = "name two files, sheets in JSON or captures";
        return Err(Complaint::new("compare", "takes no machine option", fix).into());
    }
    let (before, after) = (side(&args.before)?, side(&args.after)?);
    let comparison = Comparison::new(&before, &after, args.margin / 100.0);
    match (args.json, args.format) {
        (true, _) | (_, Format::Json) => print(&json::text(&comparison))?,
        (false, format) => format.print(|format| comparison.text(format))?,
    };
    Ok(if comparison.is_slower() { Status::No } else { Status::Done })
}

/// A sheet, or one made from a capture.
fn side(path: &Path) -> Result<Side, Failure> {
    let mut bytes = Vec::new();
    let name = path.to_string_lossy();
    let complain = |wrong: &str, fix: &str| Failure::from(Complaint::new(&name, wrong, fix));
    File::open(path)
        .and_then(|file| file.take(MOST_TEXT as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| complain(&words(&error), "check the file and its permissions"))?;
    let fix = "make a sheet with `iodyno sheet --format json` or a capture with `iodyno capture`";
    let text = if bytes.starts_with(MAGIC.as_bytes()) {
        of_capture(path)?
    } else {
        String::from_utf8(bytes).map_err(|_| complain("is not UTF-8", fix))?
    };
    Side::parse(&text).map_err(|wrong| complain(&wrong, fix))
}

fn of_capture(path: &Path) -> Result<String, Failure> {
    let root = Origin::Capture(path.to_owned()).open()?;
    let read = startup::read_or_refuse(&*root)?;
    let dossier = Dossier::new(&Material {
        mode: &Mode::Capture,
        machine: &read.machine,
        problems: &read.problems,
        pull: &[],
        change_log: &ChangeLog::default(),
        watch: None,
        runs: &[],
        experiments: &[],
        with_serials: false,
    });
    Ok(sheet::text(&dossier, &Choice::default(), sheet::Format::Json))
}
