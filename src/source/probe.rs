//! Probes: values that no file has, tried on the live machine and stored as pseudo-files: `/probe/io_uring` (accepted
//! setup flags), `/probe/euid`, `/probe/host`, and digests of long files.

use std::{fmt::Write as _, io};

use io_uring::{Builder, IoUring, cqueue, squeue};
use sysinfo::System;

use super::{
    nvme::messages,
    open_files,
    root::{LiveRoot, RootError},
    rules, smbios,
};
use crate::{
    model::{errno_name, errno_words, locked_memory},
    store,
};

/// The answer to `/probe/NAME`.
pub(super) fn ask(name: &str) -> Result<Vec<u8>, RootError> {
    match name {
        "io_uring" => io_uring_text().map(String::into_bytes),
        "euid" => Ok(format!("{}\n", rustix::process::geteuid().as_raw()).into_bytes()),
        "host" => Ok(host().into_bytes()),
        "device-users" => Ok(open_files::ask()),
        "boot-rules" => Ok(rules::probe(&LiveRoot::new())),
        "measured-limits" => measured_limits(),
        "memory-modules" => smbios::memory_probe(&LiveRoot::new()),
        "nvme-messages" => messages::ask(),
        "board-slots" => smbios::slot_probe(&LiveRoot::new()),
        other => Err(RootError::NotHere(format!("unknown probe: {other}"))),
    }
}

fn measured_limits() -> Result<Vec<u8>, RootError> {
    match store::remembered(&store::folder()) {
        Ok(Some(limits)) => Ok(limits),
        Ok(None) => Err(RootError::Errno(libc::ENOENT)),
        // An untrusted folder or file has no errno.
        Err(error) => Err(RootError::Errno(error.raw_os_error().unwrap_or(libc::EPERM))),
    }
}

/// Entries of a probe's ring.
const ENTRIES: u32 = 2;

/// SQPOLL idle time of a probe's ring, milliseconds.
const SQPOLL_IDLE: u32 = 10;

/// Flags of `io_uring_setup(2)`.
const FLAGS: [&str; 7] =
    ["SINGLE_ISSUER", "DEFER_TASKRUN", "COOP_TASKRUN", "NO_SQARRAY", "SUBMIT_ALL", "IOPOLL", "SQPOLL"];

/// Cannot be combined with task work flags.
const ALONE: &str = "SQPOLL";

/// Sets a flag and the flags it requires.
fn set<S: squeue::EntryMarker, C: cqueue::EntryMarker>(ring: &mut Builder<S, C>, flag: &str) {
    match flag {
        "SINGLE_ISSUER" => ring.setup_single_issuer(),
        "DEFER_TASKRUN" => ring.setup_single_issuer().setup_defer_taskrun(),
        "COOP_TASKRUN" => ring.setup_coop_taskrun(),
        "NO_SQARRAY" => ring.setup_no_sqarray(),
        "SUBMIT_ALL" => ring.setup_submit_all(),
        "IOPOLL" => ring.setup_iopoll(),
        "SQPOLL" => ring.setup_sqpoll(SQPOLL_IDLE),
        _ => ring,
    };
}

/// Creates a ring with these flags and closes it.
fn make<S: squeue::EntryMarker, C: cqueue::EntryMarker>(flags: &[&str]) -> io::Result<()> {
    let mut builder = IoUring::<S, C>::builder();
    for flag in flags {
        set(&mut builder, flag);
    }
    locked_memory::retry(|| builder.build(ENTRIES)).map(drop)
}

/// `flag NAME accepted` and `flag NAME refused ERRNO`, a line each; an error when a plain ring fails, or locked memory
/// does not suffice.
fn io_uring_text() -> Result<String, RootError> {
    offers().map_err(|error| match error.raw_os_error() {
        Some(libc::ENOMEM) => RootError::NotHere(format!(
            "{}: {}; {}",
            errno_words(libc::ENOMEM),
            locked_memory::used_up(),
            locked_memory::RAISE_LIMIT
        )),
        _ => error.into(),
    })
}

/// Each ring takes locked memory that is freed some time after its close. So one ring tries all compatible flags; only
/// if the kernel refuses it, each flag is tried alone.
fn offers() -> io::Result<String> {
    // SQE128 and CQE32 are separate types.
    let wide = make::<squeue::Entry128, cqueue::Entry32>;
    let plain = make::<squeue::Entry, cqueue::Entry>;
    let together: Vec<&str> = FLAGS.into_iter().filter(|flag| *flag != ALONE).collect();
    let all = wide(&together);
    let takes_all = all.is_ok();
    all.or_else(|error| if is_short(&error) { Err(error) } else { plain(&[]) })?;
    let mut text = String::new();
    for flag in FLAGS {
        let tried = if takes_all && flag != ALONE { Ok(()) } else { plain(&[flag]) };
        say(&mut text, flag, tried)?;
    }
    say(&mut text, "SQE128_CQE32", if takes_all { Ok(()) } else { wide(&[]) })?;
    Ok(text)
}

/// Whether locked memory was insufficient, which does not concern the flag.
fn is_short(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

fn say(text: &mut String, name: &str, tried: io::Result<()>) -> io::Result<()> {
    let _ = match tried {
        Ok(()) => writeln!(text, "flag {name} accepted"),
        Err(error) if is_short(&error) => return Err(error),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let word = errno_name(errno).map_or_else(|| errno.to_string(), str::to_owned);
            writeln!(text, "flag {name} refused {word}")
        }
    };
    Ok(())
}

/// Host name and distribution of sysinfo, which bypasses the root, so its answers are stored.
fn host() -> String {
    [
        ("name", System::host_name()),
        ("distribution", System::long_os_version()),
        ("kernel", System::kernel_version()),
    ]
    .into_iter()
    .filter_map(|(key, value)| {
        let value = crate::text::Label::new(&value.ok()?);
        (!value.is_empty()).then(|| format!("{key}={value}\n"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> String {
        String::from_utf8(ask(name).unwrap()).unwrap()
    }

    #[test]
    fn probes_answer_in_lines() {
        assert!(text("euid").trim().parse::<u32>().is_ok());
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert!(text("host").contains(&format!("kernel={kernel}")), "{}", text("host"));
        assert!(matches!(ask("weather"), Err(RootError::NotHere(_))));
    }

    #[test]
    fn a_ring_tells_its_flags_or_why_there_is_none() {
        match ask("io_uring") {
            Ok(answer) => {
                let answer = String::from_utf8(answer).unwrap();
                assert_eq!(answer.lines().count(), FLAGS.len() + 1, "{answer}");
                for line in answer.lines() {
                    let words: Vec<&str> = line.split(' ').collect();
                    let fits = match words[..] {
                        ["flag", _, "accepted"] => true,
                        ["flag", _, "refused", errno] => errno.starts_with('E'),
                        _ => false,
                    };
                    assert!(fits, "{line}");
                }
            }
            Err(error) => assert!(matches!(error, RootError::Errno(_))),
        }
    }
}
