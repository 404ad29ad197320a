//! Users of real loop devices, stacked as people stack them: what `drives --json` says of the lowest.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test ends where something is not there, and files are its own"
)]

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::{Mutex, PoisonError},
};

#[path = "common/loop_device.rs"]
mod loop_device;

use loop_device::LoopDevice;
use serde_json::Value;

/// A namespace made by one test holds on to what another has mounted.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs a program; `None` with a line that says so where it is missing or fails.
fn done(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        other => {
            println!("skipped: {program} {arguments:?}: {other:?}");
            None
        }
    }
}

/// What undoes a step when the test ends, however it ends; the last step first.
#[derive(Default)]
struct Steps(Vec<(&'static str, Vec<String>)>);

impl Steps {
    fn undo_with(&mut self, program: &'static str, arguments: &[&str]) {
        self.0.push((program, arguments.iter().map(|text| (*text).to_owned()).collect()));
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        for (program, arguments) in self.0.drain(..).rev() {
            let _best_effort = Command::new(program).args(arguments).status();
        }
    }
}

/// The drive's row in `drives --json`.
fn row(name: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_iodyno")).args(["drives", "--json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let drives = document["drives"].as_array().unwrap();
    drives
        .iter()
        .find(|drive| drive["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {document}"))
        .clone()
}

fn users(name: &str) -> Vec<String> {
    let row = row(name);
    assert_eq!(row["in_use_unread"], Value::Array(Vec::new()), "all of it can be read here");
    row["in_use_by"].as_array().unwrap().iter().map(|user| user.as_str().unwrap().to_owned()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A file of `mebibytes`, to be attached.
fn image(folder: &Path, name: &str, mebibytes: u64) -> PathBuf {
    let path = folder.join(name);
    File::create(&path).unwrap().set_len(mebibytes << 20).unwrap();
    path
}

/// Attached until the steps are undone; its kernel name.
fn attach(steps: &mut Steps, file: &Path) -> Option<String> {
    let device = done("losetup", &["--find", "--show", text(file)])?;
    steps.undo_with("losetup", &["--detach", &device]);
    Some(device.trim_start_matches("/dev/").to_owned())
}

/// Made and mounted until the steps are undone.
fn mount(steps: &mut Steps, device: &Path, point: &Path) -> Option<()> {
    done("mkfs.ext4", &["-q", "-F", text(device)])?;
    fs::create_dir_all(point).ok()?;
    done("mount", &["-t", "ext4", text(device), text(point)])?;
    steps.undo_with("umount", &[text(point)]);
    Some(())
}

struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _best_effort = self.0.kill();
        let _best_effort = self.0.wait();
    }
}

#[test]
fn a_stack_of_loop_devices_is_in_use_to_the_top() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lowest) = LoopDevice::new(96 << 20) else { return };
    let name = &lowest.name;
    assert_eq!(users(name), Vec::<String>::new());
    let folder = tempfile::tempdir().unwrap();
    let mut steps = Steps::default();
    // A loop device on the device itself, as for a file system in a partition that the kernel does not see.
    let Some(direct) = attach(&mut steps, &lowest.device()) else { return };
    assert_eq!(users(name), [format!("{name} held by {direct}")]);
    let point = folder.path().join("one");
    let Some(()) = mount(&mut steps, Path::new(&format!("/dev/{direct}")), &point) else { return };
    let one = format!("{direct} mounted at {} (ext4) on {name}", point.display());
    assert_eq!(users(name), [&*one]);
    // A loop device on a file of that file system, with a file system of its own.
    let Some(second) = attach(&mut steps, &image(&point, "a.img", 32)) else { return };
    let inner = folder.path().join("two");
    let Some(()) = mount(&mut steps, Path::new(&format!("/dev/{second}")), &inner) else { return };
    let two = format!("{second} mounted at {} (ext4) on {direct} on {name}", inner.display());
    assert_eq!(users(name), [one, two]);
    assert_eq!(users(&second), [format!("{second} mounted at {} (ext4)", inner.display())]);
}

#[test]
fn a_process_that_has_it_open_uses_it_under_any_name() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = LoopDevice::new(8 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let alias = folder.path().join("alias");
    let number = fs::read_to_string(format!("/sys/block/{}/dev", device.name)).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    if done("mknod", &[text(&alias), "b", major, minor]).is_none() {
        return;
    }
    let opened = File::open(&alias).unwrap();
    let sleeper = Sleeper(Command::new("sleep").arg("600").stdin(opened).spawn().unwrap());
    let process = sleeper.0.id();
    assert_eq!(users(&device.name), [format!("{} opened by sleep (process {process})", device.name)]);
}

#[test]
fn a_mount_of_another_namespace_is_a_use() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = LoopDevice::new(32 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut steps = Steps::default();
    let Some(()) = mount(&mut steps, &device.device(), folder.path()) else { return };
    let script = "echo ready; exec sleep 600";
    let mut other = Command::new("unshare");
    let other = other.args(["--mount", "sh", "-c", script]).stdout(std::process::Stdio::piped());
    let mut other = Sleeper(other.spawn().unwrap());
    std::io::Read::read_exact(other.0.stdout.as_mut().unwrap(), &mut [0; 6]).unwrap();
    drop(steps);
    let said = users(&device.name);
    let wanted = format!("{} mounted at {} (ext4) for ", device.name, folder.path().display());
    assert!(matches!(said.as_slice(), [one] if one.starts_with(&wanted)), "{said:?}");
    drop(other);
    assert_eq!(users(&device.name), Vec::<String>::new());
}

#[test]
fn a_file_system_that_was_let_go_lazily_is_a_use() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = LoopDevice::new(32 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut steps = Steps::default();
    let Some(()) = mount(&mut steps, &device.device(), folder.path()) else { return };
    let held = File::create(folder.path().join("held")).unwrap();
    done("umount", &["--lazy", text(folder.path())]);
    assert_eq!(users(&device.name), [format!("{} mounted in another mount namespace (ext4)", device.name)]);
    drop(held);
}
