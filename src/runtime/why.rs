//! [`Inquiry`]: short read tests of every step of a file's path. Changes no setting and leaves the page cache as it was.

mod derived;
mod known;
mod others;
mod places;
mod reads;
mod screen;
mod stack;
mod state;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

pub(super) use self::screen::Measuring;
use self::{
    others::CpuWatch,
    places::Place,
    stack::{Level, Mounted},
    state::{State, WRITE_FIRST},
};
use super::{
    run::{Look, Testbed},
    session::TestFiles,
};
use crate::{
    engine::{
        EngineError,
        file_state::{self, Extent},
    },
    machine::Machine,
    model::{Workload, error_words},
    source::SysRoot,
    units::{Bytes, UnitSystem},
    waterfall::{Facts, Layer, Rate, Step, Waterfall},
};

/// Extents that are looked at.
const MOST_EXTENTS: usize = 65536;
/// Rounds: each step is read once in each, in another order.
const ROUNDS: usize = 4;
/// Least time of a test.
const SHORTEST: Duration = Duration::from_millis(50);
/// The least that a test reads without repeating itself.
const LEAST_FILE: u64 = 16 << 20;

/// What is asked of a file.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub file: PathBuf,
    /// Time of all tests.
    pub time: Duration,
    /// Whether cached pages of the file may be dropped.
    pub drop_cache: bool,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub waterfall: Waterfall,
    pub state: State,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// A look at the tests in progress.
pub(crate) struct Progress<'a> {
    /// The layer that is read.
    pub layer: Layer,
    /// Tests that ended.
    pub done: usize,
    /// All tests.
    pub all: usize,
    /// Steps with the rates so far.
    pub steps: &'a [Step],
}

/// Whether an error says that no uncached place is left: then dropping the file's pages helps.
pub(crate) fn is_cached(error: &EngineError) -> bool {
    matches!(error, EngineError::Target { fix, .. } if fix.starts_with(DROP_CACHE))
}

/// The beginning of the fix of such an error.
const DROP_CACHE: &str = "add --drop-cache";

/// A file that was looked at, before its tests.
pub(crate) struct Inquiry {
    question: Question,
    file: File,
    mounted: Mounted,
    extents: Vec<Extent>,
    /// Uncached places of the file that are read, one a round.
    places: Vec<Place>,
    /// Below the first place, from the top down.
    levels: Vec<Level>,
    state: State,
}

impl Inquiry {
    /// Looks at the file, drops its pages if that was asked for, and chooses the places to read.
    ///
    /// # Errors
    /// A file that cannot be read, is too small, or is cached as a whole.
    pub(crate) fn new(
        root: &dyn SysRoot,
        machine: &Machine,
        question: Question,
    ) -> Result<Self, EngineError> {
        let path = question.file.as_path();
        let fail = |wrong: String, fix: &str| EngineError::target(path, wrong, fix, None);
        // Before it is opened: opening a pipe blocks.
        let metadata = fs::metadata(path).map_err(|error| unopened(path, &error))?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            return Err(fail("is a directory".to_owned(), "name a file of 16 MiB or more in it"));
        }
        if kind.is_block_device() {
            let fix = "name a file on it, or test the device itself: `iodyno bench --filename`";
            return Err(fail("is a block device".to_owned(), fix));
        }
        if !kind.is_file() {
            return Err(fail("is no regular file".to_owned(), "name a file on the drive"));
        }
        let mut state = State { bytes: metadata.len(), ..State::default() };
        if state.bytes < LEAST_FILE {
            let wrong = format!("has {}, too few to measure", UnitSystem::Binary.size(Bytes(state.bytes)));
            return Err(fail(wrong, "name a file of 16 MiB or more"));
        }
        let file = File::open(path).map_err(|error| unopened(path, &error))?;
        let mounted = stack::mounted(root, path).ok_or_else(|| {
            fail("its file system is not in /proc/self/mountinfo".to_owned(), "name it by another path")
        })?;
        if mounted.is_in_memory() {
            let wrong = format!("is on {}, which keeps it in memory", mounted.name);
            return Err(fail(wrong, "name a file on a drive"));
        }
        let stored = metadata.blocks() * 512;
        if stored < LEAST_FILE {
            let (stored, bytes) =
                (UnitSystem::Binary.size(Bytes(stored)), UnitSystem::Binary.size(Bytes(state.bytes)));
            let wrong = format!("is sparse: {stored} of {bytes} are stored, reads of the rest ask no drive");
            return Err(fail(wrong, "name a file of 16 MiB or more that was written"));
        }
        state.look(&file);
        if question.drop_cache {
            state.drop_pages(&file).map_err(|(wrong, fix)| fail(wrong, fix))?;
        }
        if let Err(why) = places::without_access_time(path) {
            state.notes.push(why);
        }
        let extents = file_state::extents(&file, MOST_EXTENTS).unwrap_or_else(|error| {
            state.notes.push(format!(
                "extents unknown: {} has no FIEMAP ({})",
                mounted.name,
                error_words(&error)
            ));
            Vec::new()
        });
        let places = places::choose(state.bytes, &extents, ROUNDS, |offset, length| {
            state.cached.is_none()
                || file_state::cached(&file, offset, length).is_ok_and(|found| found.bytes == 0)
        });
        let Some(first) = places.first() else {
            let mib = |bytes: Option<u64>| bytes.unwrap_or_default().div_ceil(1 << 20);
            let (cached, all) = (mib(state.cached), mib(Some(state.bytes)));
            if state.dirty.is_some_and(|dirty| dirty > 0) {
                let dirty = mib(state.dirty);
                let wrong = format!("{cached} of {all} MiB are cached, {dirty} MiB of them not written yet");
                return Err(fail(wrong, WRITE_FIRST));
            }
            let wrong = format!("{cached} of {all} MiB are cached, and no uncached place of 4 MiB is left");
            let fix = format!("{DROP_CACHE} to drop its pages, which changes no data");
            return Err(fail(wrong, &fix));
        };
        let levels = stack::below((root, machine), &mounted, &extents, first.offset);
        Ok(Self { question, file, mounted, extents, places, levels, state })
    }

    /// Longest time of the tests.
    pub(crate) const fn time(&self) -> Duration {
        self.question.time
    }

    /// Runs the tests until their end, or until `goes_on` returns false for a look.
    ///
    /// # Errors
    /// The file itself cannot be read. Devices below it that cannot be read are steps without a rate.
    pub(crate) fn answer(
        mut self,
        bed: &Testbed,
        root: &dyn SysRoot,
        mut goes_on: impl FnMut(&Progress<'_>) -> bool,
    ) -> Result<Answer, EngineError> {
        let mut steps = self.steps(bed);
        let tests = reads::of(self.levels.len(), &steps);
        let shares = tests.iter().map(reads::Test::shares).sum::<u32>().max(1);
        let share = (self.question.time / shares).div_f64(ROUNDS as f64).max(SHORTEST);
        let mut fastest = 0.0_f64;
        let mut mmap_ahead = Vec::new();
        let mut stopped = false;
        let mut watch = CpuWatch::default();
        let mut others: BTreeMap<Layer, [u64; 2]> = BTreeMap::new();
        let all = ROUNDS * tests.len();
        'rounds: for round in 0..ROUNDS {
            let place = self.places[round % self.places.len()];
            let levels = stack::below((root, &bed.read.machine), &self.mounted, &self.extents, place.offset);
            for number in 0..tests.len() {
                // Each test is first once: caches below the file system favour the last.
                let test = &tests[(number + round * tests.len() / ROUNDS) % tests.len()];
                let layer = test.step.map_or(Layer::Mmap, |step| steps[step].layer);
                let is_unread = test.step.is_some_and(|step| matches!(steps[step].rate, Rate::Unknown(_)));
                if is_unread || test.is_cached() && self.state.cached.is_none() {
                    continue;
                }
                let (paths, place) = self.place_of(test, place, &levels);
                let workload = test.workload(paths, place, share, fastest);
                let before = watch.look(root);
                let done = round * tests.len() + number;
                let result = self.read(bed, workload, |_| {
                    let on = goes_on(&Progress { layer, done, all, steps: &steps });
                    stopped |= !on;
                    on
                });
                if stopped {
                    break 'rounds;
                }
                if let (Some(before), Some(after)) = (before, watch.look(root)) {
                    let sum = others.entry(layer).or_default();
                    let [used, all] = after.others_since(&before);
                    *sum = [sum[0] + used, sum[1] + all];
                }
                fastest = result.as_ref().map_or(fastest, |rate| fastest.max(*rate));
                match (result, test.step) {
                    // It was over before its reads were counted: the next round is told how fast it is at least.
                    (Ok(0.0), _) => fastest /= reads::RAMP_OF_PLACE,
                    (Ok(rate), Some(step)) => {
                        if let Rate::Measured(rates) = &mut steps[step].rate {
                            rates.push(rate);
                        }
                    }
                    (Ok(rate), None) => mmap_ahead.push(rate),
                    (Err(error), Some(step))
                        if test.level.is_some() || steps[step].layer != Layer::FileSystem =>
                    {
                        steps[step].rate = Rate::Unknown(unread(error));
                    }
                    (Err(error), Some(_)) => return Err(error),
                    (Err(_), None) => {}
                }
            }
        }
        derived::complete(&mut steps);
        steps.retain(|step| !matches!(&step.rate, Rate::Measured(rates) if rates.is_empty()));
        let shares = others.into_iter().filter(|(_, [_, all])| *all > 0);
        let others = shares.map(|(layer, [used, all])| (layer, used as f64 / all as f64)).collect();
        let facts = Facts { others, ..self.facts(mmap_ahead) };
        self.state.notes.extend(self.notes());
        Ok(Answer { waterfall: Waterfall { steps, facts }, state: self.state, stopped })
    }

    /// Steps from the drive up, measured ones without a rate yet.
    fn steps(&self, bed: &Testbed) -> Vec<Step> {
        let measured = |layer, name: &str, because: &str| Step {
            layer,
            name: name.to_owned(),
            rate: Rate::Measured(Vec::new()),
            because: because.to_owned(),
        };
        let mut steps = known::steps(&bed.read, self.levels.last());
        for level in self.levels.iter().rev() {
            steps.push(measured(
                level.layer,
                &level.name,
                "O_DIRECT reads of 1m at the place of the file, depth 16",
            ));
        }
        let file = &self.mounted.name;
        steps.push(measured(Layer::FileSystem, file, "O_DIRECT reads of 1m of the file, depth 16"));
        let cached = |layer, name: &str, because: &str| {
            let mut step = measured(layer, name, because);
            if self.state.cached.is_none() {
                step.rate = Rate::Unknown(
                    "which pages are cached is not shown to this user; run as its owner or root".to_owned(),
                );
            }
            step
        };
        steps.push(cached(
            Layer::PageCache,
            "page cache",
            "read() of 128k, with 8m requested ahead or the kernel's readahead, or mmap, whichever reads more",
        ));
        steps.push(measured(Layer::Direct, "O_DIRECT", "reads of 1m, depth 16"));
        steps.push(cached(Layer::Buffered, "read()", "reads of 128k in order"));
        steps.push(cached(Layer::Mmap, "mmap", "page faults of 128k in order"));
        steps
    }

    /// Where a test reads: a place of the file, and of the devices below it.
    fn place_of(
        &self,
        test: &reads::Test,
        Place { offset, length }: Place,
        levels: &[Level],
    ) -> (Vec<PathBuf>, Place) {
        let level = test.level.and_then(|number| levels.get(number));
        let (paths, offset) = match (test.level, level) {
            (Some(_), Some(level)) => (level.paths.clone(), level.offset),
            // A place whose stack differs is read nowhere below.
            (Some(number), None) => (self.levels[number].paths.clone(), self.levels[number].offset),
            (None, _) => (vec![self.question.file.clone()], offset),
        };
        (paths, Place { offset, length })
    }

    /// Bytes per second of a test. Pages that it cached are dropped, since none of them were cached before.
    fn read(
        &self,
        bed: &Testbed,
        workload: Workload,
        mut goes_on: impl FnMut(&Look) -> bool,
    ) -> Result<f64, EngineError> {
        let (buffered, offset, length) =
            (!workload.direct, workload.offset.0, workload.size.unwrap_or_default().0);
        let ended = bed.run(workload, TestFiles::default(), &mut goes_on);
        if buffered {
            // An error leaves cached what was read: the next look reports it.
            let _ = self.drop_read(offset, length);
        }
        let run = ended?.run;
        match run.targets.iter().find_map(|target| target.first_error.as_ref()) {
            Some(error) => Err(EngineError::target(&self.question.file, error.as_str(), "see `dmesg`", None)),
            None => Ok(run.bytes_per_second()),
        }
    }

    /// Drops what a test read. What was requested ahead arrives first: it would slow down the next test. Pages that another
    /// program reads stay.
    fn drop_read(&self, offset: u64, length: u64) -> io::Result<()> {
        const BETWEEN: Duration = Duration::from_millis(10);
        /// Looks at most, and those that find as many pages as before.
        const MOST: u32 = 200;
        const UNCHANGED: u32 = 40;
        let (mut before, mut unchanged) = (u64::MAX, 0);
        // Readahead goes beyond the place; of a file that was not cached at all, all pages are of these tests.
        let is_ours = self.state.dropped || self.state.cached == Some(0);
        let (offset, length) = if is_ours { (0, self.state.bytes) } else { (offset, length) };
        for _ in 0..MOST {
            file_state::drop_pages(&self.file, offset, length)?;
            let left = file_state::cached(&self.file, offset, length)?.bytes;
            unchanged = if left < before { 0 } else { unchanged + 1 };
            before = left;
            if left == 0 || unchanged >= UNCHANGED {
                break;
            }
            thread::sleep(BETWEEN);
        }
        Ok(())
    }

    fn facts(&self, mmap_ahead: Vec<f64>) -> Facts {
        let top = self.levels.iter().find(|level| level.read_ahead.is_some());
        Facts {
            read_ahead: top.and_then(|level| Some((level.name.clone(), level.read_ahead?))),
            extents: file_state::pieces(&self.extents),
            pieces_below: self
                .levels
                .iter()
                .filter_map(|level| level.pieces.map(|(count, mean)| (level.name.clone(), count, mean)))
                .collect(),
            small_requests: self
                .levels
                .iter()
                .filter_map(|level| level.small_requests.map(|(now, most)| (level.name.clone(), now, most)))
                .collect(),
            buffered_loop: self.levels.iter().find(|level| level.buffered).map(|level| level.name.clone()),
            prefetch: reads::PREFETCH.0,
            mmap_ahead,
            others: Vec::new(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.places.iter().all(|place| place.length < 64 << 20) {
            let longest = self.places.iter().map(|place| place.length).max().unwrap_or_default() >> 20;
            notes.push(format!("uncached places have {longest} MiB at most: short tests vary more"));
        }
        if let Some(device) = self.levels.iter().find(|level| level.buffered) {
            notes.push(format!(
                "{} reads its file through the page cache: repeated reads are faster than the drive",
                device.name
            ));
        }
        if self.mounted.name.starts_with("btrfs") && !self.levels.is_empty() {
            notes.push(
                "FIEMAP of btrfs gives addresses of the file system: devices below it are read at another place than the file"
                    .to_owned(),
            );
        }
        if self.levels.is_empty() {
            notes.push(format!("{}: no block device below it was found", self.mounted.name));
        }
        notes
    }
}

/// An error of the file itself.
fn unopened(path: &Path, error: &io::Error) -> EngineError {
    let fix = match error.raw_os_error() {
        Some(libc::ENOENT) => "check the path; name a file of 16 MiB or more",
        Some(libc::EACCES) => "no permission: run as its owner or as root",
        _ => return crate::engine::refused(path, error),
    };
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    EngineError::target(path, crate::model::errno_words(errno), fix, errno)
}

/// Why a device below the file was not read.
fn unread(error: EngineError) -> String {
    match error {
        EngineError::Target { path, wrong, errno, .. } => match errno {
            Some(libc::EACCES) => format!("{path}: {wrong}; run as root"),
            Some(libc::EPERM) => {
                format!("{path}: {wrong}; a policy (container, device cgroup) forbids it even to root")
            }
            _ => format!("{path}: {wrong}"),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, path::Path};

    use super::*;
    use crate::{
        runtime::{clock::Clock, startup},
        source::origin::Origin,
    };

    fn file(bytes: usize) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
        file
    }

    fn ask(file: &Path, drop_cache: bool) -> Result<Inquiry, EngineError> {
        let question = Question { file: file.to_owned(), time: Duration::from_millis(500), drop_cache };
        let root = Origin::Live.open().unwrap();
        Inquiry::new(&*root, &startup::read(&*root).machine, question)
    }

    #[test]
    fn a_device_that_was_not_read_says_why_without_a_fix_for_other_commands() {
        let error = |errno| EngineError::target(Path::new("/dev/vda"), "refused", "test --filename", errno);
        assert_eq!(unread(error(libc::EACCES)), "/dev/vda: refused; run as root");
        assert!(unread(error(libc::EPERM)).ends_with("forbids it even to root"));
        assert_eq!(unread(error(libc::EIO)), "/dev/vda: refused");
    }

    #[test]
    fn dirty_pages_are_not_dropped_and_small_files_are_refused() {
        let small = file(4096);
        assert!(ask(small.path(), false).err().unwrap().to_string().contains("too few to measure"));
        let dirty = file(32 << 20);
        let wrong = ask(dirty.path(), true).err().unwrap().to_string();
        assert!(wrong.contains("dirty") || wrong.contains("no dirty pages"), "{wrong}");
        let cached = ask(dirty.path(), false).err().unwrap();
        assert!(cached.to_string().contains("not written yet; write them first: `sync FILE`"), "{cached}");
        assert!(!is_cached(&cached), "dropping does not help");
        assert!(ask(small.path(), false).err().unwrap().to_string().contains("has 4.00 KiB"));
    }

    #[test]
    fn what_is_no_file_is_refused_without_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let device = fs::read_dir("/dev")
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device()));
        let holes = file(0);
        holes.as_file().set_len(64 << 20).unwrap();
        let in_memory = tempfile::Builder::new().tempfile_in("/dev/shm").ok();
        let is_shared = in_memory.as_ref().is_some_and(|file| file.as_file().set_len(32 << 20).is_ok());
        let in_memory = in_memory.as_ref().filter(|_| is_shared).map(|file| file.path().to_owned());
        for (path, words) in [
            (in_memory, "which keeps it in memory; name a file on a drive"),
            (Some(folder.path().to_owned()), "is a directory; name a file of 16 MiB or more in it"),
            (Some(pipe), "is no regular file; name a file on the drive"),
            (Some("/dev/null".into()), "is no regular file; name a file on the drive"),
            (Some(holes.path().to_owned()), "are stored, reads of the rest ask no drive"),
            (Some("/nowhere/file".into()), "check the path; name a file of 16 MiB or more"),
            (device, "is a block device; name a file on it"),
        ] {
            let Some(path) = path else { continue };
            let wrong = ask(&path, false).err().unwrap().to_string();
            assert!(wrong.contains(words) && !wrong.contains("--size"), "{wrong}");
        }
    }

    #[test]
    fn a_cached_file_is_said_and_measured_once_its_pages_are_dropped() {
        let file = file(32 << 20);
        file.as_file().sync_all().unwrap();
        let wrong = ask(file.path(), false).err().unwrap().to_string();
        assert!(wrong.contains("32 of 32 MiB are cached") && wrong.contains("--drop-cache"), "{wrong}");
        let Ok(inquiry) = ask(file.path(), true) else { return };
        assert!(inquiry.state.dropped);
        let root = Origin::Live.open().unwrap();
        let bed = Testbed::new(&Origin::Live, &root, startup::read(&*root), Clock::real()).unwrap();
        let answer = inquiry.answer(&bed, &*root, |_| true).unwrap();
        let rate = |layer| {
            let step = answer.waterfall.steps.iter().find(|step| step.layer == layer);
            step.and_then(|step| step.rate.value()).unwrap_or_default()
        };
        for layer in [Layer::FileSystem, Layer::PageCache, Layer::Direct, Layer::Buffered, Layer::Mmap] {
            assert!(rate(layer) > 0.0, "{layer:?}: {answer:?}");
        }
        // A round that is over before its reads are counted has no rate.
        let rounds = answer.waterfall.facts.mmap_ahead.len();
        assert!((1..=ROUNDS).contains(&rounds), "{rounds}");
        let cached = file_state::cached(file.as_file(), 0, 32 << 20).unwrap();
        assert_eq!(cached.bytes, 0, "its own pages are dropped, those requested ahead too");
    }
}
