//! Probes: values that no file has, tried on the live machine and stored as pseudo-files: `/probe/io_uring` (accepted
//! setup flags), `/probe/memlock`, `/probe/euid`, `/probe/host`, and digests of long files.

use std::{fmt::Write as _, io};

use io_uring::{Builder, IoUring, Parameters, cqueue, squeue};
use sysinfo::System;

use super::{
    host::kernel_config,
    open_files,
    root::{LiveRoot, RootError},
    rules, smbios,
};
use crate::{
    model::{errno_name, errno_words, locked_memory},
    store,
    units::Bytes,
};

/// The answer to `/probe/NAME`.
pub(super) fn ask(name: &str) -> Result<Vec<u8>, RootError> {
    match name {
        "io_uring" => io_uring_text().map(String::into_bytes),
        "memlock" => Ok(memlock().into_bytes()),
        "euid" => Ok(format!("{}\n", rustix::process::geteuid().as_raw()).into_bytes()),
        "host" => Ok(host().into_bytes()),
        "device-users" => Ok(open_files::ask()),
        "boot-rules" => Ok(rules::probe(&LiveRoot::new())),
        "kernel-config" => kernel_config::probe(&LiveRoot::new()),
        "measured-limits" => measured_limits(),
        "memory-modules" => smbios::probe(&LiveRoot::new()),
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

/// Creates a ring with these flags and closes it; returns its features.
fn make<S: squeue::EntryMarker, C: cqueue::EntryMarker>(flags: &[&str]) -> io::Result<u32> {
    let mut builder = IoUring::<S, C>::builder();
    for flag in flags {
        set(&mut builder, flag);
    }
    locked_memory::retry(|| builder.build(ENTRIES)).map(|ring| features(ring.params()))
}

/// `flag NAME accepted`, `flag NAME refused ERRNO` and `features N`, a line each; an error when not even a plain ring
/// can be had, or when locked memory does not suffice to tell.
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

/// What rings can have. Each one tried takes locked memory that is freed some time after its close, so one ring with
/// all flags that go together answers for them; a kernel that refuses it is asked flag by flag.
fn offers() -> io::Result<String> {
    // SQE128 and CQE32 are separate types.
    let wide = make::<squeue::Entry128, cqueue::Entry32>;
    let plain = make::<squeue::Entry, cqueue::Entry>;
    let together: Vec<&str> = FLAGS.into_iter().filter(|flag| *flag != ALONE).collect();
    let all = wide(&together);
    let takes_all = all.is_ok();
    let features = all.or_else(|error| if is_short(&error) { Err(error) } else { plain(&[]) })?;
    let mut text = String::new();
    for flag in FLAGS {
        let tried = if takes_all && flag != ALONE { Ok(features) } else { plain(&[flag]) };
        say(&mut text, flag, tried)?;
    }
    say(&mut text, "SQE128_CQE32", if takes_all { Ok(features) } else { wide(&[]) })?;
    let _ = writeln!(text, "features {features}");
    Ok(text)
}

/// Whether locked memory was insufficient, which does not concern the flag.
fn is_short(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

fn say(text: &mut String, name: &str, tried: io::Result<u32>) -> io::Result<()> {
    let _ = match tried {
        Ok(_) => writeln!(text, "flag {name} accepted"),
        Err(error) if is_short(&error) => return Err(error),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let word = errno_name(errno).map_or_else(|| errno.to_string(), str::to_owned);
            writeln!(text, "flag {name} refused {word}")
        }
    };
    Ok(())
}

/// `IORING_FEAT_*` bits that the crate exposes.
fn features(parameters: &Parameters) -> u32 {
    let bits: &[(u32, bool)] = &[
        (0, parameters.is_feature_single_mmap()),
        (1, parameters.is_feature_nodrop()),
        (2, parameters.is_feature_submit_stable()),
        (3, parameters.is_feature_rw_cur_pos()),
        (4, parameters.is_feature_cur_personality()),
        (5, parameters.is_feature_fast_poll()),
        (6, parameters.is_feature_poll_32bits()),
        (7, parameters.is_feature_sqpoll_nonfixed()),
        (8, parameters.is_feature_ext_arg()),
        (9, parameters.is_feature_native_workers()),
        (10, parameters.is_feature_resource_tagging()),
        (11, parameters.is_feature_skip_cqe_on_success()),
        (12, parameters.is_feature_linked_file()),
        (14, parameters.is_feature_recvsend_bundle()),
        (15, parameters.is_feature_min_timeout()),
        (17, parameters.is_feature_no_iowait()),
    ];
    bits.iter().filter(|(_, on)| *on).fold(0, |sum, (bit, _)| sum | (1 << bit))
}

/// The soft limit in bytes, or `unlimited`.
fn memlock() -> String {
    match locked_memory::limit() {
        Some(Bytes(bytes)) => format!("{bytes}\n"),
        None => "unlimited\n".to_owned(),
    }
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
        assert!(text("memlock") == "unlimited\n" || text("memlock").trim().parse::<u64>().is_ok());
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert!(text("host").contains(&format!("kernel={kernel}")), "{}", text("host"));
        assert!(matches!(ask("weather"), Err(RootError::NotHere(_))));
    }

    #[test]
    fn a_ring_tells_its_flags_or_why_there_is_none() {
        match ask("io_uring") {
            Ok(answer) => {
                let answer = String::from_utf8(answer).unwrap();
                assert_eq!(answer.lines().count(), FLAGS.len() + 2, "{answer}");
                for line in answer.lines() {
                    let words: Vec<&str> = line.split(' ').collect();
                    let fits = match words[..] {
                        ["flag", _, "accepted"] => true,
                        ["flag", _, "refused", errno] => errno.starts_with('E'),
                        ["features", bits] => bits.parse::<u32>().is_ok_and(|bits| bits & 1 == 1),
                        _ => false,
                    };
                    assert!(fits, "{line}");
                }
            }
            Err(error) => assert!(matches!(error, RootError::Errno(_))),
        }
    }
}
