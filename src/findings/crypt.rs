//! Encryption and copies between drive and program: dm-crypt's work queues, ZFS' cache, the page cache.

use super::{
    Check, Detection, Evidence, Inputs, Risk, Row, Subject,
    inputs::{count_drives, names},
};
use crate::{
    machine::{Drive, DriveKind, User},
    model::{FindingId, Severity},
};

pub(super) const DM_CRYPT_WORKQUEUES: Row = Row {
    id: FindingId("dm-crypt-workqueues"),
    title: "dm-crypt hands I/O to work queues",
    fires: "the table of a crypt device over flash drives lacks no_read_workqueue or no_write_workqueue (root; without root its table \
            is not readable and the finding is not judged); a warning while the device reads or writes",
    why: "Each I/O waits for another thread before it is encrypted or decrypted; fast drives then wait for threads.",
    source: "Cloudflare 2020, Speeding up Linux disk encryption: twice the throughput, half the latency without the queues",
    remedy: "Refresh the device without the queues (Linux 5.9 or later, LUKS2; the command asks for the passphrase).",
    risk: Risk::Live,
    wrong_if: "The CPU has no AES instructions, or other work on the submitting CPUs matters more.",
    check: Check::Many(dm_crypt_workqueues),
    ..Row::PLAIN
};

pub(super) const MEMORY_COPIES: Row = Row {
    id: FindingId("memory-copies"),
    title: "copies of file data limited by memory",
    fires: "the drives of ZFS pools, or a buffered test, read so fast that three passes over memory for each byte exceed 60 % of what \
            the memory channels carry",
    why: "The drive writes a byte to memory, the kernel reads it and writes it again for the program: three passes.",
    source: "openzfs 8381: four PM1725a behind the ARC limited by memory bandwidth",
    remedy: "Read with O_DIRECT where the program can (ZFS 2.3 or later: direct=always), keep primarycache=metadata for streams, and \
             populate all memory channels.",
    risk: Risk::Live,
    wrong_if: "Data read again comes from the cache, which costs one pass.",
    check: Check::Many(memory_copies),
    ..Row::PLAIN
};

/// The parameters that leave out a work queue.
const DIRECT: [&str; 2] = ["no_read_workqueue", "no_write_workqueue"];

fn dm_crypt_workqueues(inputs: &Inputs) -> Vec<Detection> {
    inputs.machine.drives.iter().filter_map(|drive| queued(inputs, drive)).collect()
}

fn queued(inputs: &Inputs, drive: &Drive) -> Option<Detection> {
    let dm = inputs.machine.layer(drive.name.as_str())?.dm()?;
    let targets = dm.targets.value()?;
    let crypt = targets.iter().find(|target| target.kind == "crypt")?;
    let lacking: Vec<&str> =
        DIRECT.into_iter().filter(|word| !crypt.options.iter().any(|option| *option == **word)).collect();
    let below = inputs.machine.hardware_below(drive.name.as_str());
    let is_fast = |drive: &&Drive| {
        drive.kind == DriveKind::Nvme
            || drive.queue.rotational.get() == Some(false) && drive.kind != DriveKind::Usb
    };
    (!lacking.is_empty() && below.iter().any(is_fast)).then_some(())?;
    let is_loaded = inputs.is_tested(&drive.name) || inputs.live_disk(&drive.name).is_some();
    let severity = if is_loaded { Severity::Warning } else { Severity::Info };
    let title = format!("{}: encryption of {} goes through work queues", drive.name, names(&below));
    let is_plain = |name: &str| {
        !name.starts_with('-')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    let name = dm.name.value().map(crate::text::Label::as_str).filter(|name| is_plain(name));
    let options = lacking.iter().map(|word| format!("--perf-{word}")).collect::<Vec<_>>().join(" ");
    let command = name.map(|name| format!("sudo cryptsetup refresh --persistent {options} {name}"));
    let cipher = crypt.options.first().map_or("", crate::text::Label::as_str);
    Some(
        Detection::new(severity, title)
            .about([Subject::drive(drive)])
            .with_evidence([Evidence::at(
                &dm.targets,
                format!("crypt {cipher} without {}", lacking.join(" and ")),
            )])
            .with_command(command),
    )
}

/// Passes over memory for each byte read through a cache.
const PASSES: f64 = 3.0;
/// Share of the peak rate that memory rarely exceeds.
const MEMORY_SHARE: f64 = 0.6;

fn memory_copies(inputs: &Inputs) -> Vec<Detection> {
    let Some(memory) = &inputs.limits.memory else { return Vec::new() };
    let peak = memory.bytes_per_second.0;
    let proof = || {
        let words = format!("{}: {}", memory.because, inputs.rate(peak));
        Evidence::at(&inputs.machine.host.modules, words)
    };
    let is_too_much = |rate: &f64| rate * PASSES > peak * MEMORY_SHARE;
    [
        pools(inputs).filter(|(rate, ..)| is_too_much(rate)),
        buffered(inputs).filter(|(rate, ..)| is_too_much(rate)),
    ]
    .into_iter()
    .flatten()
    .map(|(rate, severity, what)| {
        let most = inputs.rate(peak * MEMORY_SHARE / PASSES);
        let title = format!("{what} {}; with copies memory carries about {most}", inputs.rate(rate));
        let arc = inputs.machine.layers.arc.as_ref().and_then(|arc| {
            arc.most
                .get()
                .map(|most| Evidence::at(&arc.most, format!("ARC up to {}", inputs.units.size(most))))
        });
        Detection::new(severity, title).about([Subject::host()]).with_evidence([proof()]).with_evidence(arc)
    })
    .collect()
}

/// The rate of all drives of ZFS pools together.
fn pools(inputs: &Inputs) -> Option<(f64, Severity, String)> {
    inputs.machine.layers.arc.as_ref()?;
    let is_pooled = |drive: &&Drive| drive.used_by.iter().any(|used| matches!(used.by, User::Pool(_)));
    let drives: Vec<&Drive> = inputs.machine.hardware_drives().filter(is_pooled).collect();
    let rates = drives.iter().filter_map(|drive| inputs.limits.drive(&drive.name));
    let rate: f64 = rates.map(|limit| limit.bytes_per_second.0).sum();
    (!drives.is_empty())
        .then(|| (rate, Severity::Info, format!("{} of ZFS pools read", count_drives(&drives))))
}

/// What a buffered test reads.
fn buffered(inputs: &Inputs) -> Option<(f64, Severity, String)> {
    let load = inputs.load.filter(|load| !load.workload.direct)?;
    Some((load.summary?.bytes_per_second(), Severity::Warning, "the buffered test reads".to_owned()))
}
