//! Forms of listings that other programs and loops of a shell print, and drives that listings name in part.

use std::{fmt::Write as _, time::Duration};

use iodyno::{
    capacity,
    report::json::TreeDocument,
    source::{SysRoot as _, import},
};
use rustix::time::{ClockId, clock_gettime};

use crate::imports::machine;

#[test]
fn of_a_long_log_the_newest_messages_are_kept() {
    let log = (0..3000).fold(String::new(), |mut log, at| {
        let _infallible = writeln!(log, "[{at:5}.000000] nvme nvme0: I/O 12 QID 3 timeout, aborting");
        log
    });
    let root = import::read(log.as_bytes()).unwrap().unwrap();
    let kept = String::from_utf8(root.read("/probe/nvme-messages").unwrap()).unwrap();
    assert_eq!(kept.lines().count(), 256);
    assert!(kept.lines().next_back().unwrap().starts_with("[ 2999."), "{kept}");
}

#[test]
fn the_work_for_a_tree_grows_with_its_drives() {
    let work = |count: usize| -> Duration {
        let log = (0..count).fold(String::new(), |mut log, at| {
            let (bus, device) = (at / 32, at % 32);
            let _infallible =
                writeln!(log, "[    1.0] nvme nvme{at}: pci function 0000:{bus:02x}:{device:02x}.0");
            log
        });
        let machine = machine(&log);
        assert_eq!(machine.drives.len(), count);
        let limits = capacity::limits(&machine);
        let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        let once = || {
            let began = now();
            let _document = TreeDocument::new(&machine, &limits, &[]);
            now().saturating_sub(began)
        };
        (0..3).map(|_| once()).min().unwrap()
    };
    let (few, many) = (work(500), work(2000));
    assert!(many < few * 9, "{few:?} for 500 drives, {many:?} for 2000");
}
