//! When a controller may leave its driver, and in which order that is done.

use std::{
    collections::BTreeMap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

use iodyno::{
    machine::{Machine, Use, User},
    model::{DriveName, Reading},
    source::{origin::Origin, read_machine},
    tune::{
        Actuator, Change, Device, Tuner,
        change_log::ChangeLog,
        device::DRIVER,
        journal::{Journal, Purpose},
        rebind::{Rebind, RebindError, plan},
        settings,
        tuner::is_whole,
        undo::Which,
    },
};

fn machine() -> Machine {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/d-stock-qemu.capture");
    let root = Origin::Capture(capture.into()).open().expect("captures open");
    let mut machine = read_machine(&*root).0;
    // The capture is older than the question for open files.
    machine.drives.iter_mut().for_each(|drive| drive.users_unread.clear());
    machine
}

fn a_drive(machine: &Machine) -> DriveName {
    let free = |drive: &&iodyno::machine::Drive| drive.nvme.is_some() && drive.used_by.is_empty();
    machine.drives.iter().find(free).expect("an NVMe drive that nothing uses").name.clone()
}

const PARAMETER: &str = "/sys/module/nvme/parameters/poll_queues";

/// When a process that writes to the kernel is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kill {
    Never,
    Before(usize),
    After(usize),
}

/// A driver's parameter and a controller's driver, with the values written; refuses one value, and panics before or after
/// a write, as a kill ends a process.
struct Kernel {
    files: Mutex<BTreeMap<String, String>>,
    written: Mutex<Vec<String>>,
    refuse: &'static str,
    kill: Kill,
}

impl Kernel {
    fn new(rebind: &Rebind, refuse: &'static str, kill: Kill) -> Self {
        let files = [(PARAMETER.to_owned(), "0".to_owned()), (driver(rebind), "nvme".to_owned())];
        Self { files: Mutex::new(files.into()), written: Mutex::default(), refuse, kill }
    }

    fn files(&self) -> BTreeMap<String, String> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn written(&self) -> Vec<String> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn driver(rebind: &Rebind) -> String {
    format!("/sys/bus/pci/devices/{}/driver", rebind.address)
}

impl Actuator for Kernel {
    fn read(&self, file: &str) -> io::Result<String> {
        self.files().get(file).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let count = self.written().len();
        assert!(self.kill != Kill::Before(count), "killed");
        if value == self.refuse {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{value} > {file}"));
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.to_owned(), value.to_owned());
        assert!(self.kill != Kill::After(count), "killed");
        Ok(())
    }
}

/// Parameter and rebind in one session, as `tune set DRIVE poll_queues=2 --rebind` does; the session is not ended.
fn poll_queues(
    journal: &Journal,
    kernel: &Kernel,
    machine: &Machine,
    rebind: &Rebind,
) -> Result<(), RebindError> {
    let tuner = Tuner::open(journal, kernel, Purpose::Command, "boot", || 1).expect("the journal is written");
    let parameter = Change {
        device: Device::Drive(rebind.drive.clone()),
        identity: rebind.identity.clone(),
        setting: settings::POLL_QUEUES,
        file: PARAMETER.to_owned(),
        from: "0".to_owned(),
        to: "2".to_owned(),
    };
    tuner.apply(machine, &parameter).expect("it is written");
    rebind.carry_out(&tuner, machine)
}

#[test]
fn a_free_drive_is_unbound_and_bound_and_never_reset() {
    let machine = machine();
    let rebind = plan(&machine, &a_drive(&machine)).expect("nothing uses it");
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = Kernel::new(&rebind, "nothing", Kill::Never);
    poll_queues(&Journal::new(folder.path()), &kernel, &machine, &rebind).expect("it is done");
    let link = driver(&rebind);
    let wanted = [format!("2 > {PARAMETER}"), format!("none > {link}"), format!("nvme > {link}")];
    assert_eq!(kernel.written(), wanted);
    let address = rebind.address;
    assert_eq!(
        rebind.commands(),
        format!(
            "echo '{address}' | sudo tee '{link}/unbind'\n\
             echo '{address}' | sudo tee '/sys/bus/pci/drivers/nvme/bind'\n"
        )
    );
    let controller =
        machine.drive(&rebind.drive).and_then(|drive| drive.nvme.as_ref()).map(|n| n.controller.to_string());
    for part in [rebind.drive.to_string(), controller.expect("it has one")] {
        assert!(rebind.parts.contains(&part), "{:?} lacks {part}", rebind.parts);
    }
}

#[test]
fn a_driver_that_will_not_let_go_ends_it_and_one_that_will_not_take_back_is_told_of() {
    let machine = machine();
    let rebind = plan(&machine, &a_drive(&machine)).expect("nothing uses it");
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Journal::new(folder.path());
    let stuck = Kernel::new(&rebind, "none", Kill::Never);
    let error = poll_queues(&journal, &stuck, &machine, &rebind).expect_err("refused").to_string();
    assert!(error.contains("EBUSY") && error.contains("nothing was changed"), "{error}");
    assert_eq!(stuck.files()[&driver(&rebind)], "nvme");
    let lost = Kernel::new(&rebind, "nvme", Kill::Never);
    let error = poll_queues(&journal, &lost, &machine, &rebind).expect_err("refused").to_string();
    let fix = format!("echo '{}' | sudo tee '/sys/bus/pci/drivers/nvme/bind'", rebind.address);
    assert!(error.contains(&fix), "{error}");
    let change_log = ChangeLog::of(&journal.contents().expect("it is readable").records, "boot");
    let away = change_log.entries.iter().find(|entry| entry.setting == DRIVER.0).expect("the journal knows");
    assert!(
        away.is_open_in(&away.by) && change_log.is_unasked(&away.by),
        "it is brought back without asking"
    );
}

#[test]
fn killed_at_any_step_the_drive_is_bound_again_by_the_next_start() {
    let machine = machine();
    let rebind = plan(&machine, &a_drive(&machine)).expect("nothing uses it");
    // The machine without the drive, as it is read while the controller has no driver.
    let without = Machine { drives: Vec::new(), ..self::machine() };
    for kill in (0..3).flat_map(|step| [Kill::Before(step), Kill::After(step)]) {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Journal::new(folder.path());
        let mut kernel = Kernel::new(&rebind, "nothing", kill);
        let before = kernel.files();
        let killed = catch_unwind(AssertUnwindSafe(|| poll_queues(&journal, &kernel, &machine, &rebind)));
        assert!(killed.is_err(), "{kill:?}");
        let is_away = kernel.files()[&driver(&rebind)] == "none";
        assert_eq!(is_away, matches!(kill, Kill::After(1) | Kill::Before(2)), "{kill:?}");
        kernel.kill = Kill::Never;
        let change_log = ChangeLog::of(&journal.contents().expect("it is readable").records, "boot");
        let dead: Vec<&str> = change_log.sessions.keys().map(String::as_str).collect();
        assert!(dead.iter().all(|session| journal.is_dead(session)), "{kill:?}");
        assert!(
            !is_away || dead.iter().any(|session| change_log.is_unasked(session)),
            "{kill:?}: a drive waits"
        );
        let tuner = Tuner::open(&journal, &kernel, Purpose::Command, "boot", || 2).expect("a session");
        let report = tuner.undo(&without, &change_log, &Which::Sessions(&dead), false).expect("it is undone");
        assert!(is_whole(&report), "{kill:?}: {report:?}");
        assert_eq!(kernel.files(), before, "{kill:?}");
        let order = kernel.written();
        let last = order.last().map(String::as_str).unwrap_or_default();
        assert!(
            !is_away || last.starts_with("nvme > "),
            "{kill:?}: the parameter, then the driver: {order:?}"
        );
        let change_log = ChangeLog::of(&journal.contents().expect("it is readable").records, "boot");
        assert_eq!(change_log.entries, [], "{kill:?}");
    }
}

#[test]
fn what_is_used_stays_where_it_is() {
    let mut machine = machine();
    let name = a_drive(&machine);
    let drive = machine.drives.iter_mut().find(|drive| drive.name == name).expect("it is there");
    for used in [
        Use::of("p1", User::Mount { point: "/home".into(), filesystem: "ext4".into() }),
        Use::of("p2", User::Swap),
        Use { chain: vec!["p3".into(), "md0".into()], by: User::Holder },
    ] {
        drive.used_by = vec![used];
        let refused = plan(&Machine { drives: vec![drive.clone()], ..self::machine() }, &name);
        let error = refused.expect_err("used");
        assert!(matches!(error, RebindError::InUse { .. }), "{error}");
    }
    drive.used_by.clear();
    drive.users_unread = Reading::<()>::denied("/proc/7/fd", "EACCES").problem().into_iter().collect();
    let refused = plan(&Machine { drives: vec![drive.clone()], ..self::machine() }, &name);
    let error = refused.expect_err("perhaps used").to_string();
    assert!(error.contains("its users cannot be read (/proc/7/fd: EACCES)"), "{error}");
    assert!(matches!(plan(&machine, &DriveName::new("loop0")), Err(RebindError::NotNvme(..))));
}
