//! When a controller may leave its driver, and in which order that is done.

use std::{io, sync::Mutex};

use iodyno::{
    machine::{Machine, Use},
    model::DriveName,
    source::{origin::Origin, read_machine},
    tune::{
        Actuator,
        rebind::{RebindError, plan},
    },
};

fn machine() -> Machine {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/d-stock-qemu.capture");
    let root = Origin::Capture(capture.into()).open().expect("captures open");
    read_machine(&*root).0
}

fn a_drive(machine: &Machine) -> DriveName {
    let free = |drive: &&iodyno::machine::Drive| drive.nvme.is_some() && drive.used_by.is_empty();
    machine.drives.iter().find(free).expect("an NVMe drive that nothing uses").name.clone()
}

/// Notes what is written; refuses what it is told to.
struct Notes {
    written: Mutex<Vec<String>>,
    refuse: &'static str,
}

impl Actuator for Notes {
    fn read(&self, _: &str) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        if file.ends_with(self.refuse) {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        self.written.lock().expect("nobody panicked").push(format!("{value} > {file}"));
        Ok(())
    }
}

#[test]
fn a_free_drive_is_unbound_and_bound_and_never_reset() {
    let machine = machine();
    let rebind = plan(&machine, &a_drive(&machine)).expect("nothing uses it");
    let notes = Notes { written: Mutex::default(), refuse: "nothing" };
    rebind.carry_out(&notes).expect("it is done");
    let address = rebind.address;
    let wanted = ["unbind", "bind"].map(|file| format!("{address} > /sys/bus/pci/drivers/nvme/{file}"));
    assert_eq!(*notes.written.lock().expect("nobody panicked"), wanted);
    assert!(rebind.parts.contains(&rebind.drive.to_string()) && rebind.identity.serial.is_some());
}

#[test]
fn a_driver_that_will_not_let_go_ends_it_and_one_that_will_not_take_back_is_told_of() {
    let machine = machine();
    let rebind = plan(&machine, &a_drive(&machine)).expect("nothing uses it");
    let stuck = Notes { written: Mutex::default(), refuse: "/unbind" };
    let error = rebind.carry_out(&stuck).expect_err("refused");
    assert!(error.to_string().contains("EBUSY") && error.to_string().contains("left as it is"), "{error}");
    assert!(stuck.written.lock().expect("nobody panicked").is_empty());
    let lost = Notes { written: Mutex::default(), refuse: "/bind" };
    let error = rebind.carry_out(&lost).expect_err("refused").to_string();
    assert!(
        error.contains(&format!("echo {} | sudo tee /sys/bus/pci/drivers/nvme/bind", rebind.address)),
        "{error}"
    );
}

#[test]
fn what_is_used_stays_where_it_is() {
    let mut machine = machine();
    let name = a_drive(&machine);
    let drive = machine.drives.iter_mut().find(|drive| drive.name == name).expect("it is there");
    for used in [
        Use::Mount { part: "p1".into(), point: "/home".into(), filesystem: "ext4".into() },
        Use::Swap("p2".into()),
        Use::Holder("p3".into(), "md0".into()),
    ] {
        drive.used_by = vec![used];
        let refused = plan(&Machine { drives: vec![drive.clone()], ..self::machine() }, &name);
        let error = refused.expect_err("used");
        assert!(matches!(error, RebindError::InUse { .. }), "{error}");
    }
    assert!(matches!(plan(&machine, &DriveName::new("loop0")), Err(RebindError::NotNvme(..))));
}
