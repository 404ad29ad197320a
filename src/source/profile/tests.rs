//! Tests of [`ProfileReader`] on the running kernel, and without what it reads.

use std::{fs, io::Write as _, path::Path, time::Duration};

use super::*;
use crate::{
    counters::profile::{Function, Word},
    loop_device::skip,
    source::root::{FolderRoot, LiveRoot},
};

/// Writes a file below a folder.
pub(super) fn put(folder: &Path, path: &str, content: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create(path).unwrap().write_all(content.as_bytes()).unwrap();
}

/// Time since the machine was started.
fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap()
}

/// Samples of a function of which `is` holds while this thread works, as soon as there are some; 0 after a minute.
fn seen(
    reader: &mut ProfileReader,
    mut work: impl FnMut(),
    is: impl Fn(&Function) -> bool,
) -> Result<u64, Problem> {
    const ENOUGH: u64 = 5;
    let began = now();
    assert!(reader.look(&LiveRoot, true, now()).transpose()?.is_none(), "nothing is sampled yet");
    while now() < began + Duration::from_mins(1) {
        let look = now() + Duration::from_millis(300);
        while now() < look {
            work();
        }
        let profile = reader.look(&LiveRoot, true, now()).expect("the events are open")?;
        if !profile.problems.is_empty() {
            return Err(profile.problems[0].clone());
        }
        assert!(profile.cost > Duration::ZERO && profile.elapsed > Duration::ZERO);
        let count = profile.functions.iter().filter(|(function, _)| is(function)).map(|(_, n)| n).sum();
        if count >= ENOUGH {
            return Ok(count);
        }
    }
    Ok(0)
}

#[test]
fn a_loop_of_this_program_is_named_by_its_file() {
    let (mut reader, mut sum) = (ProfileReader::default(), 0_u64);
    let own = std::env::current_exe().unwrap();
    let own = own.file_name().unwrap().to_str().unwrap();
    let is_own = |function: &Function| {
        function.word == Word::Programs && function.object.as_ref().is_some_and(|name| name.as_str() == own)
    };
    let work = || sum = std::hint::black_box(sum).wrapping_mul(3) + 1;
    match seen(&mut reader, work, is_own) {
        Ok(count) => {
            assert!(count > 0, "{reader:?}");
            assert_eq!(reader.look(&LiveRoot, false, Duration::ZERO), None);
            assert!(format!("{reader:?}").contains("events: []"), "events are closed: {reader:?}");
        }
        Err(problem) => skip::skipped(format!("{}: {}", problem.path, problem.reason)),
    }
}

#[test]
fn buffered_reads_are_copying() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![1; 16 << 20]).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let work = || {
        let mut file = fs::File::open(file.path()).unwrap();
        while std::io::Read::read(&mut file, &mut buffer).unwrap() > 0 {}
    };
    let mut reader = ProfileReader::default();
    match seen(&mut reader, work, |function| function.word == Word::Copying) {
        Ok(count) => assert!(count > 0, "{reader:?}"),
        Err(problem) => skip::skipped(format!("{}: {}", problem.path, problem.reason)),
    }
}

#[test]
fn hidden_functions_say_what_to_set() {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, content: &str| put(folder.path(), path, content);
    put("proc/kallsyms", "0000000000000000 T _stext\n0000000000000000 t nvme_irq\t[nvme]\n");
    for (level, fix) in [("1\n", "run as root"), ("2\n", "set it to 1")] {
        put("proc/sys/kernel/kptr_restrict", level);
        let mut functions = Functions::read(&FolderRoot::new(folder.path()), Duration::ZERO);
        let problem = functions.problem.clone().unwrap();
        assert!(problem.reason.contains(fix), "{problem:?}");
        assert_eq!(functions.at(0xffff_ffff_8100_0000), (None, None));
    }
    put("proc/kallsyms", include_str!("../../../tests/fixtures/kallsyms.txt"));
    let mut functions = Functions::read(&FolderRoot::new(folder.path()), Duration::ZERO);
    assert_eq!(functions.problem, None);
    assert_eq!(functions.at(0xffff_ffff_81b6_cc31), (Some(Label::new("_copy_to_iter")), None));
    let mut reader = ProfileReader::default();
    let folder = tempfile::tempdir().unwrap();
    let problem = reader.samples(&FolderRoot::new(folder.path()), Duration::ZERO).unwrap_err();
    assert_eq!(&*problem.path, "/sys/devices/system/cpu/online");
}
