//! md arrays: resync, missing members, bitmap, locks of RAID 5, unlike members, requests against chunks.

use super::{
    Check, Detection, Evidence, Gain, Inputs, Risk, Row, Subject,
    inputs::{shell_names, write_queue},
    release,
};
use crate::{
    machine::{Drive, layers::Md},
    model::{FindingId, Pattern, Severity},
    units::{self, Bytes, UnitSystem, counted},
};

pub(super) const MD_RESYNC: Row = Row {
    id: FindingId("md-resync"),
    title: "array is being synchronised",
    fires: "md/sync_action of an array is neither idle nor frozen: resync, recover, check, repair or reshape",
    why: "The kernel reads or writes every member beside the workload; a test during it is not valid.",
    source: "linux-raid 2023: RAID1 and RAID10 of NVMe drives were measured during an unnoticed resync",
    remedy: "Wait until it ends: {left}. md/sync_speed_max bounds its speed.",
    generally: "Wait until it ends, md/sync_speed_max bounds its speed; a check can be stopped and made another time.",
    wrong_if: "The array is only measured for what it does during a resync.",
    of_machine: true,
    check: Check::Many(md_resync),
    ..Row::PLAIN
};

pub(super) const MD_DEGRADED: Row = Row {
    id: FindingId("md-degraded"),
    title: "array with a missing member",
    fires: "md/degraded of an array is above 0, or a member is faulty",
    why: "Redundancy is lost, and RAID 5 and 6 compute missing data from all other members.",
    remedy: "Replace the failed member (mdadm --manage /dev/{array} --add DEVICE).",
    generally: "Replace the failed member (mdadm --manage ARRAY --add DEVICE).",
    risk: Risk::Hardware,
    wrong_if: "The array was created with a member missing on purpose.",
    of_machine: true,
    check: Check::Many(md_degraded),
    ..Row::PLAIN
};

pub(super) const MD_BITMAP: Row = Row {
    id: FindingId("md-bitmap"),
    title: "write-intent bitmap",
    fires: "md/bitmap/location of an array is not none; it matters while a process writes to the array",
    why: "Before a write the kernel sets a bit on every member and waits for it.",
    source: "linux-raid 2023: about 15 % of the writes of RAID1 and RAID10 on NVMe drives",
    remedy: "Use fewer bits (mdadm --grow --bitmap=none, then --bitmap=internal --bitmap-chunk=256M). Without a bitmap a crash \
             costs a full resync.",
    risk: Risk::Live,
    wrong_if: "Writes are few or large.",
    is_default: true,
    check: Check::Many(md_bitmap),
    ..Row::PLAIN
};

pub(super) const MD_RAID5_LOCK: Row = Row {
    id: FindingId("md-raid5-lock"),
    title: "one lock for all of RAID 5",
    fires: "RAID 4, 5 or 6 of flash drives on a kernel before 5.14, whose reads share one lock: a warning; or group_thread_cnt is 0, \
            which matters while a process writes to the array",
    why: "All stripes are handled by one thread or behind one lock, whatever the number of drives.",
    source: "linux-raid 2021, two Rome CPUs: 1.2 M reads/s of 13 M that the drives give; 5.3 to 5.9 M with Linux 5.14",
    remedy: "{remedy}",
    generally: "Use Linux 5.14 or later, whose reads take no lock; for writes raise group_thread_cnt.",
    risk: Risk::Live,
    wrong_if: "The distribution's kernel has the change of 5.14 under an older number.",
    check: Check::Many(md_raid5_lock),
    ..Row::PLAIN
};

pub(super) const MD_MEMBERS_DIFFER: Row = Row {
    id: FindingId("md-members-differ"),
    title: "members of an array differ",
    fires: "members of one array differ in kind, in rotational, by more than 10 % in the limit of their path, or by more than 5 % in \
            size; a slow member of RAID1 that is write-mostly is meant",
    why: "Stripes run at the pace of the slowest member. RAID10 reads the copy nearest to the last read, whatever the load.",
    source: "strugglers.net 2019: RAID10 of an NVMe and a SATA drive read both alike",
    remedy: "Use members of one kind and speed; in RAID1 mark the slow one write-mostly.",
    risk: Risk::Hardware,
    wrong_if: "Capacity matters more than speed.",
    of_machine: true,
    check: Check::Many(md_members_differ),
    ..Row::PLAIN
};

pub(super) const MD_QUEUE: Row = Row {
    id: FindingId("md-queue"),
    title: "requests smaller than the array's stripe",
    fires: "max_sectors_kb of a striped array is below its chunk; its readahead is below a full stripe; or a test keeps too little in \
            flight to read from all members at once",
    why: "Each request goes to one member. An array is faster than one drive only while several are read at once.",
    source: "linux-raid 2024: RAID0 of NVMe drives, buffered, no faster than one drive",
    remedy: "{remedy}",
    generally: "Raise max_sectors_kb and readahead to the stripe, or keep more reads in flight, whichever the finding names.",
    risk: Risk::Live,
    wrong_if: "Latency matters, not throughput.",
    check: Check::Many(md_queue),
    ..Row::PLAIN
};

/// Bytes per second from which an array counts as written to.
const WRITES: f64 = 10e6;

fn is_written(inputs: &Inputs, array: &Drive) -> bool {
    let disk = inputs.rates.and_then(|rates| rates.disks.get(&array.name));
    disk.is_some_and(|disk| disk.written_bytes >= WRITES)
}

fn md_resync(inputs: &Inputs) -> Vec<Detection> {
    let found = inputs.machine.arrays().filter_map(|(array, md)| {
        let action = md.syncing()?;
        let left = md.seconds_left().map(crate::machine::layers::duration);
        let is_check = matches!(action.as_str(), "check" | "repair");
        let stop =
            || Some(format!("echo idle | sudo tee /sys/block/{}/md/sync_action", shell_names(&[array])?));
        let proofs = [
            Evidence::of(&md.sync_action),
            md.sync_completed.get().map(|progress| {
                let words =
                    format!("{:.1} %, {} / {} sectors", progress.percent(), progress.done, progress.total);
                Evidence::at(&md.sync_completed, words)
            }),
            md.sync_speed.get().map(|speed| {
                Evidence::at(&md.sync_speed, format!("{}/s per member", UnitSystem::Decimal.size(speed)))
            }),
        ];
        let detection = Detection::new(Severity::Warning, format!("{}: {}", array.name, md.sync_words()?))
            .about([Subject::drive(array)])
            .with_evidence(proofs.into_iter().flatten())
            .fill(
                "left",
                left.map_or_else(|| "its speed is not known yet".to_owned(), |left| format!("{left} left")),
            );
        Some(if is_check {
            detection
                .with_remedy("Wait until it ends, {left}, or stop it and check another time.", Risk::Live)
                .with_command(stop())
        } else {
            detection
        })
    });
    found.collect()
}

fn md_degraded(inputs: &Inputs) -> Vec<Detection> {
    let found = inputs.machine.arrays().filter_map(|(array, md)| {
        let missing = md.degraded.get().unwrap_or(0);
        let is_faulty = |state: &str| state.split(',').any(|word| word == "faulty");
        let faulty: Vec<_> = md
            .members
            .iter()
            .filter(|member| member.state.value().is_some_and(|state| is_faulty(state.as_str())))
            .collect();
        (missing > 0 || !faulty.is_empty()).then_some(())?;
        let disks = md.disks.get().unwrap_or(missing).max(missing);
        let failed: Vec<&str> = faulty.iter().map(|member| member.name.as_str()).collect();
        let failed =
            if failed.is_empty() { String::new() } else { format!("; {} failed", failed.join(", ")) };
        let has = format!("{} of {}", disks - missing, counted(disks as usize, "member"));
        let title = format!("{}: {} with {has}{failed}", array.name, md.level_name());
        let detection = Detection::new(Severity::High, title)
            .about([Subject::drive(array)])
            .with_evidence(Evidence::of(&md.degraded))
            .with_evidence(faulty.iter().filter_map(|member| Evidence::of(&member.state)))
            .fill("array", array.name.to_string())
            .with_gain(Gain::words("redundancy", ""));
        let is_recovering = md.syncing().is_some_and(|action| *action == "recover");
        Some(if is_recovering {
            detection.with_remedy("Recovery onto a spare runs: wait until it ends.", Risk::None)
        } else {
            detection
        })
    });
    found.collect()
}

fn md_bitmap(inputs: &Inputs) -> Vec<Detection> {
    let found = inputs.machine.arrays().filter_map(|(array, md)| {
        let place = md.bitmap.value().filter(|place| **place != "none")?;
        let bits =
            md.bitmap_chunk.get().map(|chunk| Evidence::at(&md.bitmap_chunk, units::block_size(chunk)));
        let title = format!("{}: write-intent bitmap at {place}", array.name);
        Some(
            Detection::new(Severity::Info, title)
                .about([Subject::drive(array)])
                .with_evidence(Evidence::of(&md.bitmap))
                .with_evidence(bits)
                .with_default(!is_written(inputs, array)),
        )
    });
    found.collect()
}

fn md_raid5_lock(inputs: &Inputs) -> Vec<Detection> {
    let kernel = &inputs.machine.host.kernel;
    let number = kernel.value().and_then(|kernel| release(kernel.as_str()));
    let is_old = number.is_some_and(|number| number < (5, 14));
    let is_flash = |drive: &&Drive| drive.queue.rotational.get() == Some(false);
    let found = inputs.machine.arrays().filter(|(_, md)| md.has_parity()).filter_map(|(array, md)| {
        let below = inputs.machine.hardware_below(array.name.as_str());
        (!below.is_empty() && below.iter().all(is_flash)).then_some(())?;
        let threads = md.group_threads.get();
        let level = md.level_name();
        let about = |severity, title: String| Detection::new(severity, title).about([Subject::drive(array)]);
        let raise = "Raise group_thread_cnt, to four for example, for writes.";
        let command = shell_names(&[array])
            .map(|name| format!("echo 4 | sudo tee /sys/block/{name}/md/group_thread_cnt"));
        if is_old {
            let title =
                format!("{}: reads of {level} share one lock on Linux {}", array.name, kernel.value()?);
            return Some(
                about(Severity::Warning, title)
                    .with_evidence(Evidence::of(kernel))
                    .with_evidence(Evidence::of(&md.group_threads))
                    .with_remedy("Use Linux 5.14 or later, whose reads take no lock.", Risk::Reboot),
            );
        }
        (threads == Some(0)).then(|| {
            about(Severity::Info, format!("{}: one thread handles all stripes of {level}", array.name))
                .with_evidence(Evidence::of(&md.group_threads))
                .fill("remedy", raise)
                .with_command(command)
                .with_default(!is_written(inputs, array))
        })
    });
    found.collect()
}

/// Share by which limits and sizes of members may differ: drives of one class differ by 1 to 3 % in size.
const RATES_ALIKE: f64 = 0.10;
const SIZES_ALIKE: f64 = 0.05;

fn md_members_differ(inputs: &Inputs) -> Vec<Detection> {
    inputs.machine.arrays().filter_map(|(array, md)| members_differ(inputs, array, md)).collect()
}

/// A member's drive, its limit in bytes per second, and the bytes of the drive or partition.
struct Compared<'a> {
    part: &'a str,
    drive: &'a Drive,
    rate: Option<f64>,
    size: Option<Bytes>,
}

fn members_differ(inputs: &Inputs, array: &Drive, md: &Md) -> Option<Detection> {
    let machine = inputs.machine;
    // A journal and a spare have no part of the stripes.
    let is_apart = |part: &str| {
        let state =
            md.members.iter().find(|member| member.name == *part).and_then(|member| member.state.value());
        let of = |word: &str| ["write_mostly", "journal", "spare", "replacement", "faulty"].contains(&word);
        state.is_some_and(|state| state.as_str().split(',').any(of))
    };
    let below = &machine.layer(array.name.as_str())?.below;
    let members: Vec<Compared> = below
        .iter()
        .filter(|part| !is_apart(part.as_str()))
        .filter_map(|part| {
            let drive = machine.whole(part.as_str())?;
            let partition = drive.partitions.iter().find(|own| own.name == *part);
            let size = partition.map_or(&drive.size, |partition| &partition.size).get();
            let rate = inputs.limits.drive(&drive.name).map(|limit| limit.bytes_per_second.0);
            Some(Compared { part: part.as_str(), drive, rate, size })
        })
        .collect();
    let mut kinds: Vec<&str> = members.iter().map(|member| member.drive.kind.name()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let turns =
        |wanted: bool| members.iter().any(|member| member.drive.queue.rotational.get() == Some(wanted));
    let rates: Vec<f64> = members.iter().filter_map(|member| member.rate).collect();
    let sizes: Vec<f64> = members.iter().filter_map(|member| member.size.map(|size| size.0 as f64)).collect();
    let apart = |values: &[f64], share: f64| {
        let (least, most) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(0.0, f64::max),
        );
        (values.len() > 1 && least < most * (1.0 - share)).then_some((least, most))
    };
    let mut words = Vec::new();
    let mut severity = Severity::Warning;
    if kinds.len() > 1 {
        words.push(kinds.join(" and "));
    }
    if turns(true) && turns(false) {
        words.push("hard disk and flash".to_owned());
    }
    if let Some((least, most)) = apart(&rates, RATES_ALIKE) {
        words.push(format!("{} to {}", inputs.rate(least), inputs.rate(most)));
    }
    if let Some((least, most)) = apart(&sizes, SIZES_ALIKE) {
        if words.is_empty() {
            severity = Severity::Info;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes come from whole numbers"
        )]
        let size = |bytes: f64| inputs.units.size(Bytes(bytes as u64));
        words.push(format!("{} to {}", size(least), size(most)));
    }
    (!words.is_empty()).then_some(())?;
    let proofs = members.iter().map(|member| {
        let rate = member.rate.map(|rate| format!("limit {}", inputs.rate(rate)));
        let size = member.size.map(|size| inputs.units.size(size));
        let words = [Some(member.drive.kind.name().to_owned()), rate, size].into_iter().flatten();
        Evidence::new(
            &*member.drive.path,
            format!("{}: {}", member.part, words.collect::<Vec<_>>().join(", ")),
        )
    });
    let title = format!("{}: members of {} differ: {}", array.name, md.level_name(), words.join(", "));
    Some(Detection::new(severity, title).about([Subject::drive(array)]).with_evidence(proofs))
}

fn md_queue(inputs: &Inputs) -> Vec<Detection> {
    let striped = inputs.machine.arrays().filter_map(|(array, md)| {
        let chunk = md.chunk.get().filter(|chunk| chunk.0 > 0)?;
        Some((array, md, chunk, md.stripe()?))
    });
    striped
        .flat_map(|(array, md, chunk, stripe)| {
            [
                few_in_flight(inputs, array, md, chunk),
                small_readahead(inputs, array, md, stripe),
                small_requests(array, md, chunk),
            ]
        })
        .flatten()
        .collect()
}

/// A test that reads from fewer members at once than there are.
fn few_in_flight(inputs: &Inputs, array: &Drive, md: &Md, chunk: Bytes) -> Option<Detection> {
    let load = inputs.load.filter(|_| inputs.is_tested(&array.name))?;
    let (work, members) = (load.workload, md.data_members()?);
    let block = work.largest_block().0.max(1);
    let requests = u64::from(work.depth) * u64::from(work.jobs);
    let busy = match work.pattern {
        Pattern::Random => requests * block.div_ceil(chunk.0),
        Pattern::Sequential => (requests * block).div_ceil(chunk.0).max(u64::from(work.jobs)),
    };
    // Readahead decides what buffered reads have in flight.
    (work.direct && busy < u64::from(members)).then(|| {
        let title = format!(
            "{}: the test reads from {busy} of {} at once",
            array.name,
            counted(members as usize, "member")
        );
        let in_flight = format!(
            "{requests} reads of {} in flight, chunk {}",
            units::block_size(Bytes(block)),
            units::block_size(chunk)
        );
        Detection::new(Severity::Warning, title)
            .about([Subject::drive(array)])
            .with_evidence([Evidence::at(&md.chunk, in_flight)])
            .fill("remedy", "Raise depth, jobs or block size until a full stripe is in flight.")
    })
}

fn small_readahead(inputs: &Inputs, array: &Drive, md: &Md, stripe: Bytes) -> Option<Detection> {
    let kib = array.queue.read_ahead_kb.get().filter(|kib| kib * 1024 < stripe.0)?;
    let is_buffered = inputs.load.is_some_and(|load| {
        !load.workload.direct && load.workload.pattern == Pattern::Sequential && inputs.is_tested(&array.name)
    });
    let severity = if is_buffered { Severity::Warning } else { Severity::Info };
    let full = units::block_size(stripe);
    let title = format!("{}: readahead {kib} KiB, full stripe {full}", array.name);
    let wanted = (2 * stripe.0).div_ceil(1024);
    Some(
        Detection::new(severity, title)
            .about([Subject::drive(array)])
            .with_evidence(Evidence::of(&array.queue.read_ahead_kb))
            .with_evidence([Evidence::at(
                &md.chunk,
                format!("{}, full stripe {full}", units::block_size(md.chunk.get()?)),
            )])
            .fill("remedy", "Raise the array's readahead to two full stripes for buffered sequential reads.")
            .with_command(write_queue(&[array], "read_ahead_kb", &wanted.to_string())),
    )
}

fn small_requests(array: &Drive, md: &Md, chunk: Bytes) -> Option<Detection> {
    let kib = array.queue.max_sectors_kb.get().filter(|kib| kib * 1024 < chunk.0)?;
    let most = array.queue.max_hw_sectors_kb.get();
    let can_rise = most.is_some_and(|most| most > kib);
    let title = format!("{}: max request {kib} KiB, chunk {}", array.name, units::block_size(chunk));
    let detection = Detection::new(Severity::Info, title)
        .about([Subject::drive(array)])
        .with_evidence(Evidence::of(&array.queue.max_sectors_kb))
        .with_evidence([Evidence::at(&md.chunk, units::block_size(chunk))]);
    Some(match most.filter(|_| can_rise) {
        Some(most) => detection
            .fill("remedy", "Raise max_sectors_kb of the array and of its members.")
            .with_command(write_queue(&[array], "max_sectors_kb", &most.min(chunk.0 / 1024).to_string())),
        None => detection.with_remedy("Information only: the members take no larger requests.", Risk::None),
    })
}
