//! [`Measuring`]: an inquiry of the screen, on a thread of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{Answer, Inquiry, LEAST_FILE, Progress, Question, derived, is_cached};
use crate::{
    engine::{EngineError, no_thread},
    model::Failed,
    runtime::{beside, clock::Clock, run::Testbed, startup},
    source::{SysRoot, origin::Origin},
    text::Label,
    ui::inquiry::{FileAnswer, FileNews, FileRefusal, FileRequest, FileStep},
    waterfall::{Facts, Waterfall},
};

/// Time of all tests.
const TIME: Duration = Duration::from_secs(12);
/// Names of a folder that are looked at for a file to measure.
const MOST_NAMES: usize = 4096;

/// A measurement in progress. Dropped, it stops at its next look; nothing waits for that, since a read may hang.
pub(in crate::runtime) struct Measuring(Arc<AtomicBool>);

impl Measuring {
    /// Starts one of this machine; without a screen (`inline`) it has ended when this returns.
    pub(in crate::runtime) fn start(
        request: FileRequest,
        root: Arc<dyn SysRoot>,
        inline: bool,
        report: impl Fn(FileNews) + Send + Sync + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let (file, report) = (request.file.clone(), Arc::new(report));
        let news = Arc::clone(&report);
        let job = move || {
            let result = measure(&request, TIME, &root, &stops, &*news);
            news(FileNews::Ended(result));
        };
        if inline {
            job();
        } else if let Err(error) = beside::try_start(job) {
            // The tests take too long for the thread that draws.
            report(FileNews::Ended(Err(refusal(&file, no_thread(&error)))));
        }
        Self(stop)
    }

    /// Ends the tests at their next look.
    pub(in crate::runtime) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        self.stop();
    }
}

fn measure(
    request: &FileRequest,
    time: Duration,
    root: &Arc<dyn SysRoot>,
    stop: &AtomicBool,
    report: &impl Fn(FileNews),
) -> Result<FileAnswer, FileRefusal> {
    let file = crate::runtime::opening::expanded(request.file.clone());
    let refuse = |error| refusal(&file, error);
    // Loop devices and file systems may have changed since the screen read the machine.
    let bed = Testbed::new(&Origin::Live, root, startup::read(&**root), Clock::real());
    let bed = bed.ok_or(EngineError::Stopped).map_err(refuse)?;
    let question = Question { file: file.clone(), time, drop_cache: request.drop_cache };
    let inquiry = Inquiry::new(&**root, &bed.read.machine, question).map_err(refuse)?;
    let mut last = None;
    let answer = inquiry.answer(&bed, &**root, |progress: &Progress<'_>| {
        if last.replace(progress.done) != Some(progress.done) {
            let mut steps = progress.steps.to_vec();
            derived::complete(&mut steps);
            report(FileNews::Step(FileStep {
                layer: progress.layer.name(),
                done: progress.done,
                all: progress.all,
                path: Waterfall { steps, facts: Facts::default() },
            }));
        }
        !stop.load(Ordering::Relaxed)
    });
    let Answer { waterfall, state, stopped } = answer.map_err(refuse)?;
    Ok(FileAnswer { asked: state.asked(&file, stopped), path: waterfall })
}

/// An error with what the screen can do about it.
fn refusal(file: &Path, error: EngineError) -> FileRefusal {
    let is_cached = is_cached(&error);
    let instead = if file.is_dir() { largest(file) } else { None };
    let why = match (&error, &instead) {
        (EngineError::Target { path, wrong, errno, .. }, _) if is_cached => Failed::new(
            format!("{path}: {wrong}; {{drop pages}} drops its pages, which changes no data"),
            *errno,
        ),
        (EngineError::Target { path, wrong, .. }, Some(other)) => {
            let other = Label::new(&other.to_string_lossy());
            Failed::new(format!("{path}: {wrong}; its largest file is {other}"), None)
        }
        _ => error.into(),
    };
    FileRefusal { why, is_cached, instead }
}

/// The largest file of a folder that can be measured.
fn largest(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.take(MOST_NAMES).filter_map(Result::ok);
    let sized = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((metadata.len(), entry.path()))
    });
    let readable = sized
        .filter(|(bytes, path)| *bytes >= LEAST_FILE && crate::runtime::access::check(path, None).is_ok());
    readable.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Mutex, mpsc},
    };

    use super::*;

    fn start(file: &Path) -> (Measuring, mpsc::Receiver<FileNews>) {
        let root = Origin::Live.open().unwrap();
        let (sender, news) = mpsc::channel();
        let sender = Mutex::new(sender);
        let request = FileRequest { file: file.to_owned(), drop_cache: false };
        let measuring = Measuring::start(request, root, false, move |news| {
            let _ = sender.lock().unwrap().send(news);
        });
        (measuring, news)
    }

    fn refused(file: &Path) -> FileRefusal {
        let (_measuring, news) = start(file);
        let FileNews::Ended(Err(refusal)) = news.recv().unwrap() else { panic!("it was refused") };
        refusal
    }

    #[test]
    fn a_folder_offers_its_largest_file_and_a_cached_file_its_pages() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert_eq!(refused(folder.path()).instead, None, "an empty folder has none");
        for (name, mib) in [("small", 1), ("large", 24), ("larger", 32)] {
            let mut file = fs::File::create(folder.path().join(name)).unwrap();
            file.write_all(&vec![3; mib << 20]).unwrap();
            file.sync_all().unwrap();
        }
        let refusal = refused(folder.path());
        assert_eq!(refusal.instead, Some(folder.path().join("larger")));
        assert!(refusal.why.to_string().contains("is a directory; its largest file is /"), "{}", refusal.why);
        let refusal = refused(&folder.path().join("larger"));
        assert!(
            refusal.is_cached && refusal.why.to_string().contains("; {drop pages} drops its pages"),
            "{}",
            refusal.why
        );
        assert!(!refused(&folder.path().join("small")).is_cached);
        assert!(refused(Path::new("/nowhere/file")).why.to_string().contains("ENOENT"));
    }

    #[test]
    fn a_measurement_reports_its_steps_and_stops_when_it_is_told() {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![3; 32 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        crate::engine::file_state::drop_pages(file.as_file(), 0, 0).unwrap();
        let (measuring, news) = start(file.path());
        let FileNews::Step(step) = news.recv().unwrap() else { panic!("it runs") };
        assert!(step.done < step.all && step.path.steps.len() > 5, "{step:?}");
        measuring.stop();
        let ended = news.iter().find_map(|news| match news {
            FileNews::Ended(result) => Some(result),
            FileNews::Step(_) => None,
        });
        let answer = ended.unwrap().unwrap();
        assert!(answer.asked.stopped && answer.asked.bytes == 32 << 20);
    }
}
