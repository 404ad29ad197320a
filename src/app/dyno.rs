//! The state of the dyno: the workload's form, the test under way, the tests before it.
//!
//! Here: [`Dyno`]. The form is in [`form`], curves of a test in [`mod@test`]. Not here: running anything.

pub mod form;

use std::path::{Path, PathBuf};

use self::form::Form;
use crate::{
    machine::{Drive, Machine, Use},
    model::{DriveName, Target, Workload},
    ui::{history::Tests, test::Test},
    units::Bytes,
};

/// What a curve shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Curve {
    /// Bytes per second.
    #[default]
    Throughput,
    /// Reads per second.
    Iops,
    /// Completion latency.
    Latency,
}

impl Curve {
    /// All of them, in the order `c` goes through.
    pub const ALL: [Self; 3] = [Self::Throughput, Self::Iops, Self::Latency];

    /// The next one.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Throughput => Self::Iops,
            Self::Iops => Self::Latency,
            Self::Latency => Self::Throughput,
        }
    }
}

/// The dyno.
#[derive(Debug, Clone, Default)]
pub struct Dyno {
    /// The workload as the form has it.
    pub form: Form,
    /// Which of them is shown, counted from the newest.
    pub back: usize,
    /// Lines by which the words of its result are scrolled down.
    pub result_top: usize,
    /// The curve shown where there is room for one.
    pub curve: Curve,
}

impl Dyno {
    /// The test on the screen.
    pub fn shown<'a>(&self, tests: &'a Tests) -> Option<&'a Test> {
        tests.all.iter().rev().nth(self.back)
    }

    /// Shows the newest test.
    pub fn show_newest(&mut self) {
        (self.back, self.result_top) = (0, 0);
    }

    /// Shows the test `step` before (1) or after (-1) the one shown, of `count`.
    pub fn step_history(&mut self, step: isize, count: usize) {
        self.back = self.back.saturating_add_signed(step).min(count.saturating_sub(1));
        self.result_top = 0;
    }
}

/// The targets a test would run on: the form's file, else the marked drives, else every hardware drive.
pub fn targets(form: &Form, marks: &std::collections::BTreeSet<DriveName>, machine: &Machine) -> Vec<Target> {
    if let Some(file) = &form.file {
        return vec![Target { path: file.clone(), drive: None }];
    }
    let wanted = |drive: &&Drive| {
        if marks.is_empty() {
            !drive.kind.is_software() && drive.removable.get() != Some(true)
        } else {
            marks.contains(&drive.name)
        }
    };
    machine.drives.iter().filter(wanted).map(Drive::target).collect()
}

/// A file that could be read where a drive may not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOffer {
    /// The drive that refused.
    pub drive: DriveName,
    /// A path on one of its file systems.
    pub path: PathBuf,
    /// How big the file would be.
    pub size: Bytes,
}

/// The file to offer when none of `targets` may be read: on the first file system of theirs.
pub fn file_offer(targets: &[Target], machine: &Machine) -> Option<FileOffer> {
    const SIZE: Bytes = Bytes(1 << 30);
    let drives = targets.iter().filter_map(|target| machine.drive(target.drive.as_ref()?));
    drives.into_iter().find_map(|drive| {
        let point = drive.used_by.iter().find_map(Use::mount_point)?;
        let point = Path::new(point.as_str());
        Some(FileOffer { drive: drive.name.clone(), path: point.join("iodyno.test"), size: SIZE })
    })
}

/// The workload the form describes, on those targets.
pub fn workload(form: &Form, targets: Vec<Target>) -> Workload {
    Workload { targets, ..form.workload.clone() }
}
