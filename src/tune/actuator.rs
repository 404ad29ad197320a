//! The only writer to /sys.
//!
//! A device's driver is a setting like others, `/sys/bus/pci/devices/ADDRESS/driver`: its value is the driver's name, or
//! [`NO_DRIVER`]. Writing that unbinds the device, writing a name binds it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    ops::Deref,
    os::unix::fs::OpenOptionsExt,
    thread,
    time::Duration,
};

use crate::model::PciAddress;

/// Reads and writes the files of settings.
pub trait Actuator {
    /// The file's value: the word in brackets, or the first line.
    fn read(&self, file: &str) -> io::Result<String>;

    /// Writes `value` in a single call.
    fn write(&self, file: &str, value: &str) -> io::Result<()>;

    /// The names in a folder, sorted.
    fn names(&self, _folder: &str) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Waits until a program that reverts changes would have reverted this one.
    fn settle(&self) {}
}

impl<P: Deref<Target: Actuator>> Actuator for P {
    fn read(&self, file: &str) -> io::Result<String> {
        (**self).read(file)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        (**self).write(file, value)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        (**self).names(folder)
    }

    fn settle(&self) {
        (**self).settle();
    }
}

/// The driver of an unbound device.
pub const NO_DRIVER: &str = "none";

/// Never blocks, never follows a link.
const FLAGS: i32 = libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOFOLLOW;

/// Time in which a program that reverts a file in a loop has reverted it.
const SETTLE: Duration = Duration::from_millis(2);

/// The running kernel. Writes only to existing files below /sys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Live;

impl Actuator for Live {
    fn read(&self, file: &str) -> io::Result<String> {
        if let Some(device) = file.strip_suffix("/driver") {
            return driver_of(device);
        }
        // Settings are short; longer files are none.
        let mut content = String::new();
        let settings = OpenOptions::new().read(true).custom_flags(FLAGS).open(file)?;
        settings.take(64 << 10).read_to_string(&mut content)?;
        Ok(current_word(&content).to_owned())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let (file, value) = checked(file, value)?;
        let written =
            OpenOptions::new().write(true).custom_flags(FLAGS).open(file)?.write(value.as_bytes())?;
        if written == value.len() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::WriteZero)) }
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?.into_iter();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn settle(&self) {
        thread::sleep(SETTLE);
    }
}

/// The file and text to write for a setting's value. Only a device's driver differs: its link takes no text.
pub fn write_for(file: &str, value: &str) -> (String, String) {
    let Some((device, address)) =
        file.strip_suffix("/driver").and_then(|device| Some((device, device.rsplit_once('/')?.1)))
    else {
        return (file.to_owned(), value.to_owned());
    };
    let written_to = if value == NO_DRIVER {
        format!("{device}/driver/unbind")
    } else {
        format!("/sys/bus/pci/drivers/{value}/bind")
    };
    (written_to, address.to_owned())
}

/// [`write_for`], for files below /sys and drivers of PCI functions only.
fn checked(file: &str, value: &str) -> io::Result<(String, String)> {
    let is_below_sys = file.starts_with("/sys/") && file.split('/').all(|part| ![".", ".."].contains(&part));
    let is_driver = file.ends_with("/driver");
    if is_below_sys && (!is_driver || function_of(file).is_some() && is_driver_name(value)) {
        return Ok(write_for(file, value));
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

/// The PCI function whose driver this file is.
pub fn function_of(file: &str) -> Option<PciAddress> {
    let text = file.strip_prefix("/sys/bus/pci/devices/")?.strip_suffix("/driver")?;
    // The kernel has one spelling of an address.
    text.parse().ok().filter(|address: &PciAddress| address.to_string() == text)
}

/// Whether this may be a driver's name: a word, no path.
pub fn is_driver_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn driver_of(device: &str) -> io::Result<String> {
    match fs::read_link(format!("{device}/driver")) {
        Ok(driver) => Ok(driver.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        // An unbound device has no link; a missing one has no folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::metadata(device).map(|_| NO_DRIVER.to_owned())
        }
        Err(error) => Err(error),
    }
}

/// `none` of `[none] mq-deadline`, else the first line.
pub fn current_word(content: &str) -> &str {
    let line = content.lines().next().unwrap_or_default().trim();
    let bracketed = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
    bracketed.unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_sys_is_ever_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(Live.write(path, "x").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(Live.write(&format!("/sys/..{path}"), "x").is_err());
        assert_eq!(fs::read_to_string(path).unwrap(), "");
        let link = "/sys/bus/pci/devices/0000:41:00.0/driver";
        for (file, value) in [
            (link, "../../../../tmp/x"),
            (link, "nvme/../x"),
            (link, ""),
            (link, ".."),
            ("/sys/bus/pci/devices/../../../tmp/driver", "nvme"),
            ("/sys/tmp/driver", "nvme"),
            ("/sys/bus/pci/devices/0000:41:00.0/x/driver", "nvme"),
        ] {
            assert_eq!(
                Live.write(file, value).unwrap_err().kind(),
                io::ErrorKind::PermissionDenied,
                "{file} {value}"
            );
        }
        assert_eq!(checked(link, "nvme").unwrap().0, "/sys/bus/pci/drivers/nvme/bind");
    }

    #[test]
    fn a_driver_is_read_from_its_link_and_written_by_unbind_and_bind() {
        let device = "/sys/bus/pci/devices/0000:41:00.0";
        let link = format!("{device}/driver");
        let address = "0000:41:00.0".to_owned();
        assert_eq!(write_for(&link, NO_DRIVER), (format!("{link}/unbind"), address.clone()));
        assert_eq!(write_for(&link, "nvme"), ("/sys/bus/pci/drivers/nvme/bind".to_owned(), address));
        assert_eq!(write_for("/sys/q/nomerges", "2"), ("/sys/q/nomerges".to_owned(), "2".to_owned()));
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("0000:41:00.0");
        let driver = device.join("driver").to_str().unwrap().to_owned();
        assert!(Live.read(&driver).is_err(), "a device that is gone has no driver to speak of");
        fs::create_dir(&device).unwrap();
        assert_eq!(Live.read(&driver).unwrap(), NO_DRIVER);
        std::os::unix::fs::symlink("../../drivers/nvme", &driver).unwrap();
        assert_eq!(Live.read(&driver).unwrap(), "nvme");
    }

    #[test]
    fn the_bracketed_word_is_the_value() {
        assert_eq!(current_word("none [mq-deadline] kyber\n"), "mq-deadline");
        assert_eq!(current_word("128\n"), "128");
        assert_eq!(current_word(""), "");
    }
}
