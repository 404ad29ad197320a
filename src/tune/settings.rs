//! `SETTINGS`: one row per setting that iodyno can change live. Screens, help and exports derive from it.

mod adjusting;
mod readers;

use std::fmt::Write;

pub use self::readers::{differing, readings};
use self::{
    adjusting::{exact, limited, requests, to_blocks, to_default, to_pages, unknown},
    readers::{function, nothing, nvme, plain, port_cooling, processors, queue},
};
use super::device::Device;
use crate::{
    machine::{Machine, queue::Choice},
    model::{Reading, SettingId},
    text::Label,
};

/// A value as the kernel shows it, with the kernel's choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The current value.
    pub text: Label,
    /// Words that the file lists; empty if it lists none.
    pub choices: Vec<Label>,
}

/// Values that a setting takes, as far as known before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// One of the words that the file lists, or any word if it lists none.
    Offered,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number between these, both included.
    Number(i64, i64),
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// At once, and so does its undo.
    Live,
    /// When the drive is unbound and bound again: only for a drive that is not in use.
    Rebind,
    /// Shown, never changed.
    Shown,
}

/// Where a setting lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A block device's queue.
    Queue,
    /// The controller or PCI function of a drive.
    Function,
    /// The PCI Express port above a drive.
    Port,
    /// All CPUs.
    Processors,
}

/// Where tests change a setting, read it back and undo it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// On a real loop device.
    Loop,
    /// On a real zram device, which has no scheduler.
    Zram,
    /// On a PCI function of the machine that runs the tests.
    Function,
    /// In a virtual machine with emulated NVMe drives, by the real driver of Linux 6.12 (`tests/lab`).
    Lab,
    /// With files of a fake root only.
    FakeRoot,
}

/// A setting on the kernel's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// The argument, and the devices it applies to: `every NVMe controller`.
    For(String, &'static str),
    /// None, and why.
    None(&'static str),
}

/// One row.
pub struct Setting {
    /// CONTRACT's name.
    pub id: SettingId,
    /// The file's name.
    pub file: &'static str,
    /// A few words for a column.
    pub label: &'static str,
    /// Its effect, in two sentences.
    pub help: &'static str,
    /// Where it lives.
    pub scope: Scope,
    /// Values it takes.
    pub range: Range,
    /// Usual values, where neither the file nor the range is a short list.
    pub usual: &'static [&'static str],
    /// When a change takes effect.
    pub risk: Risk,
    /// Whether a kernel may make the second value of the first.
    pub adjusts: fn(&str, &str) -> bool,
    /// Settings the kernel changes along with it.
    pub also: &'static [SettingId],
    /// The kernel's default, where it is fixed.
    pub default: Option<&'static str>,
    /// Where it is tested.
    pub proofs: &'static [Proof],
    /// The kernel argument for a value, or why there is none
    /// (Documentation/admin-guide/kernel-parameters.txt, and the parameters of the modules).
    pub argument: fn(&str) -> Argument,
    /// Its values on a device: one per file, each with the path that is written.
    pub read: fn(&Machine, &Device) -> Vec<Reading<Value>>,
}

/// Ids, for rows that name each other.
pub const SCHEDULER: SettingId = SettingId("scheduler");
/// The scheduler of a queue without one.
pub const NO_SCHEDULER: &str = "none";
/// See [`SCHEDULER`].
pub const READ_AHEAD: SettingId = SettingId("read_ahead_kb");
/// See [`SCHEDULER`].
pub const NR_REQUESTS: SettingId = SettingId("nr_requests");
/// See [`SCHEDULER`].
pub const WBT: SettingId = SettingId("wbt_lat_usec");
/// See [`SCHEDULER`].
pub const POLL_QUEUES: SettingId = SettingId("poll_queues");

/// The position of a setting in the order of writes: settings that reset others first, then the order of the table;
/// unknown ones last.
pub fn rank(id: &str) -> usize {
    let Some(place) = SETTINGS.iter().position(|row| row.id.0 == id) else { return usize::MAX };
    let is_reset = SETTINGS.iter().any(|row| row.also.iter().any(|other| other.0 == id));
    place + if is_reset { SETTINGS.len() } else { 0 }
}

/// Whether a change of the one setting may change the other along with it.
pub fn resets(id: &str, other: &str) -> bool {
    find(id).is_some_and(|row| row.also.iter().any(|also| also.0 == other))
}

const fn row(id: SettingId, file: &'static str, label: &'static str, help: &'static str) -> Setting {
    Setting {
        id,
        file,
        label,
        help,
        scope: Scope::Queue,
        range: Range::Offered,
        usual: &[],
        risk: Risk::Live,
        adjusts: exact,
        also: &[],
        default: None,
        proofs: &[Proof::Loop, Proof::Lab],
        argument: |_| Argument::None("no kernel argument sets queues of drives; see udev"),
        read: nothing,
    }
}

/// Reset by settings that make the kernel recompute a queue's limits (`blk_apply_bdi_limits`; seen on Linux 6.18).
const NEW_LIMITS: &[SettingId] = &[READ_AHEAD];

/// The table, in the order of the matrix' columns; [`rank`] is the order of writes.
pub static SETTINGS: &[Setting] = &[
    Setting {
        also: &[NR_REQUESTS, WBT],
        argument: |_| Argument::None("Linux ignores elevator= since 5.0; see udev"),
        read: |m, d| {
            queue(m, d, |q| {
                q.queue.scheduler.clone().map(|Choice { current, choices }| Value { text: current, choices })
            })
        },
        ..row(
            SCHEDULER,
            "queue/scheduler",
            "scheduler",
            "Orders requests before they reach the drive. On a drive with its own deep queues it costs CPU time per \
             request and `none` is the fastest; a scheduler trades that for steadier latency.",
        )
    },
    Setting {
        range: Range::Number(0, 1 << 30),
        usual: &["0", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096", "8192"],
        adjusts: to_pages,
        default: Some("128"),
        read: |m, d| queue(m, d, |q| plain(&q.queue.read_ahead_kb)),
        proofs: &[Proof::Loop, Proof::Zram, Proof::Lab],
        ..row(
            READ_AHEAD,
            "queue/read_ahead_kb",
            "readahead KiB",
            "Prefetch size of buffered sequential reads. Direct I/O never uses it; the kernel rounds it down to \
             its page size.",
        )
    },
    Setting {
        range: Range::Number(1, 1 << 20),
        usual: &["4", "16", "32", "64", "128", "256", "512", "1023"],
        adjusts: requests,
        read: |m, d| queue(m, d, |q| plain(&q.queue.nr_requests)),
        ..row(
            NR_REQUESTS,
            "queue/nr_requests",
            "requests",
            "Requests that a block-layer queue holds. Further reads wait for a free tag; values from 1 to 3 \
             become 4, and changing the scheduler resets it. Without a scheduler it sets the tags of the queue; they \
             stay as set while a scheduler shows requests of its own.",
        )
    },
    Setting {
        range: Range::Number(0, 1 << 30),
        usual: &["64", "128", "256", "512", "1024", "1280", "2048", "4096"],
        adjusts: to_blocks,
        read: |m, d| queue(m, d, |q| plain(&q.queue.max_sectors_kb)),
        also: NEW_LIMITS,
        proofs: &[Proof::Loop, Proof::Zram, Proof::Lab],
        ..row(
            SettingId("max_sectors_kb"),
            "queue/max_sectors_kb",
            "max sectors KiB",
            "The max request of the block layer. Larger reads are split; the drive's own limit is \
             max_hw_sectors_kb, and kernels from 6.12 on clamp to it where older ones refuse.",
        )
    },
    Setting {
        range: Range::Number(0, 2),
        default: Some("0"),
        read: |m, d| queue(m, d, |q| plain(&q.queue.nomerges)),
        proofs: &[Proof::Loop, Proof::Zram, Proof::Lab],
        ..row(
            SettingId("nomerges"),
            "queue/nomerges",
            "nomerges",
            "0 tries all merges, 1 only simple one-hit merges, 2 none. Random reads have no adjacent \
             requests: without the lookup they cost less; small sequential reads get slower.",
        )
    },
    Setting {
        range: Range::Number(0, 2),
        default: Some("1"),
        read: |m, d| queue(m, d, |q| plain(&q.queue.rq_affinity)),
        ..row(
            SettingId("rq_affinity"),
            "queue/rq_affinity",
            "rq_affinity",
            "The CPU that completes a request: 1 in the submitting CPU's group, 2 the submitting CPU, 0 the CPU that took \
             the interrupt. 2 spreads completions that saturate a single CPU.",
        )
    },
    Setting {
        range: Range::Number(-1, i64::MAX),
        usual: &["0", "75", "500", "2000", "10000", "75000"],
        adjusts: to_default,
        read: |m, d| queue(m, d, |q| plain(&q.queue.wbt_lat_usec)),
        ..row(
            WBT,
            "queue/wbt_lat_usec",
            "wbt_lat_usec",
            "The target read latency of writeback throttling, in microseconds. 0 disables throttling and -1 restores \
             the kernel's default.",
        )
    },
    Setting {
        range: Range::Number(0, 1),
        default: Some("1"),
        read: |m, d| queue(m, d, |q| plain(&q.queue.iostats)),
        also: NEW_LIMITS,
        proofs: &[Proof::Loop, Proof::Zram, Proof::Lab],
        ..row(
            SettingId("iostats"),
            "queue/iostats",
            "statistics",
            "Counts each request in /proc/diskstats. 0 saves CPU time, but iostat, dstat and other monitors show nothing \
             for the drive.",
        )
    },
    Setting {
        range: Range::Number(0, 1),
        default: Some("0"),
        read: |m, d| queue(m, d, |q| plain(&q.queue.add_random)),
        also: NEW_LIMITS,
        proofs: &[Proof::Loop, Proof::Zram, Proof::Lab],
        ..row(
            SettingId("add_random"),
            "queue/add_random",
            "add_random",
            "Feeds the timing of completions to the random number generator. 0 saves that work; solid-state drives have \
             it off by default.",
        )
    },
    Setting {
        range: Range::Number(0, 1),
        default: Some("0"),
        read: |m, d| queue(m, d, |q| plain(&q.queue.other("iostats_passthrough"))),
        also: NEW_LIMITS,
        proofs: &[Proof::Loop, Proof::Zram],
        ..row(
            SettingId("iostats_passthrough"),
            "queue/iostats_passthrough",
            "passthrough stats",
            "Counts passthrough commands (ioengine io_uring_cmd) in /proc/diskstats too, where the kernel has it. 1 makes \
             iostat, dstat and other monitors show them.",
        )
    },
    Setting {
        range: Range::Number(1, 1 << 20),
        usual: &["4", "16", "32", "64", "128", "256", "512", "1023"],
        adjusts: requests,
        read: |m, d| queue(m, d, |q| plain(&q.queue.other("async_depth"))),
        proofs: &[Proof::FakeRoot],
        ..row(
            SettingId("async_depth"),
            "queue/async_depth",
            "async depth",
            "Requests that a scheduler lets asynchronous I/O have, where the kernel has it as a queue attribute. Lower \
             values keep requests free for synchronous reads.",
        )
    },
    Setting {
        risk: Risk::Shown,
        read: |m, d| queue(m, d, |q| plain(&q.queue.write_cache)),
        proofs: &[],
        ..row(
            SettingId("write_cache"),
            "queue/write_cache",
            "write cache",
            "Whether the kernel treats the drive's write cache as volatile and flushes it. Not tunable: a wrong \
             value loses data.",
        )
    },
    Setting {
        scope: Scope::Function,
        range: Range::Number(0, 1024),
        risk: Risk::Rebind,
        default: Some("0"),
        proofs: &[Proof::Lab],
        argument: |value| Argument::For(format!("nvme.poll_queues={value}"), "every NVMe controller"),
        read: |m, d| nvme(m, d, |_| poll_queues(m)),
        ..row(
            POLL_QUEUES,
            "/sys/module/nvme/parameters/poll_queues",
            "poll queues",
            "Queues of the nvme driver that poll instead of using interrupts, read when a controller is probed. A \
             controller probed without them must be unbound and bound again, never reset: after a reset reads can stall \
             for 30 seconds each.",
        )
    },
    Setting {
        scope: Scope::Function,
        range: Range::Number(0, 1),
        proofs: &[Proof::Lab],
        argument: |value| {
            // drivers/pci/pcie/aspm.c; pcie_aspm=off only keeps the kernel from touching what the firmware chose.
            let policy = if value == "0" { "performance" } else { "powersave" };
            Argument::For(format!("pcie_aspm.policy={policy}"), "every link, L0s with it")
        },
        read: |m, d| {
            function(m, d, |node| {
                node.aspm.get("l1_aspm").cloned().map(|r| r.map(|on| Value::of(&u8::from(on).to_string())))
            })
        },
        ..row(
            SettingId("aspm"),
            "link/l1_aspm",
            "ASPM L1",
            "Lets the link enter L1 between reads. Leaving L1 takes microseconds, which shows at queue depth 1.",
        )
    },
    Setting {
        scope: Scope::Function,
        range: Range::Words(&["on", "auto"]),
        argument: |_| Argument::None("no kernel argument sets it for a device; see udev"),
        read: |m, d| function(m, d, |node| Some(plain(&node.power_control))),
        proofs: &[Proof::Function, Proof::Lab],
        ..row(
            SettingId("power_control"),
            "power/control",
            "runtime power",
            "`auto` lets the kernel suspend the device when idle, `on` keeps it active. A suspended drive completes its first \
             read late.",
        )
    },
    Setting {
        scope: Scope::Function,
        usual: &["0", "auto"],
        adjusts: unknown,
        proofs: &[Proof::Lab],
        argument: |value| match value.parse::<u64>() {
            Ok(us) => {
                Argument::For(format!("nvme_core.default_ps_max_latency_us={us}"), "every NVMe controller")
            }
            Err(_) => Argument::None("the driver's own choice needs no argument"),
        },
        read: |m, d| nvme(m, d, |drive| Some(plain(&drive.latency_tolerance_us))),
        ..row(
            SettingId("latency_tolerance_us"),
            "power/pm_qos_latency_tolerance_us",
            "latency tolerance",
            "The wake-up latency an NVMe drive's own power states may add, in microseconds. 0 keeps it out of them, `auto` \
             lets the driver decide.",
        )
    },
    Setting {
        scope: Scope::Processors,
        adjusts: unknown,
        proofs: &[Proof::FakeRoot],
        argument: |value| {
            Argument::For(format!("cpufreq.default_governor={value}"), "every CPU, from Linux 5.9 on")
        },
        read: |m, d| processors(m, d, |cpu| (&cpu.governor, &cpu.governors)),
        ..row(
            SettingId("governor"),
            "cpufreq/scaling_governor",
            "governor",
            "How each CPU's clock follows its load. `performance` keeps it high, which raises IOPS \
             and power draw.",
        )
    },
    Setting {
        scope: Scope::Processors,
        adjusts: unknown,
        proofs: &[Proof::FakeRoot],
        argument: |_| Argument::None("no kernel argument sets a preference; see udev"),
        read: |m, d| processors(m, d, |cpu| (&cpu.energy_preference, &cpu.energy_preferences)),
        ..row(
            SettingId("energy_preference"),
            "cpufreq/energy_performance_preference",
            "energy",
            "Preference of CPUs that manage their own clock. `performance` favors speed, `power` favors \
             saving.",
        )
    },
    Setting {
        scope: Scope::Port,
        range: Range::Number(0, 5),
        adjusts: limited,
        proofs: &[Proof::FakeRoot],
        argument: |_| Argument::None("no kernel argument limits a link"),
        read: port_cooling,
        ..row(
            SettingId("link_speed"),
            "thermal cooling device cur_state",
            "link slowed by",
            "PCIe generations by which the cooling device of the drive's port lowers the link (kernel \
             6.13 on). 0 is no limit; a slow device alone also makes it non-zero.",
        )
    },
];

impl Proof {
    /// A few words for it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Loop => "a loop device",
            Self::Zram => "a zram device",
            Self::Function => "a PCI function",
            Self::Lab => "emulated NVMe drives",
            Self::FakeRoot => "simulated files only, no device",
        }
    }
}

impl Setting {
    /// Where it is tested, in words.
    pub fn proved_on(&self) -> String {
        match self.proofs {
            [] => "not tunable".to_owned(),
            places => places.iter().map(|place| place.words()).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The table for `docs/settings.md`.
pub fn markdown() -> String {
    let mut text = String::from("| setting | file | takes effect | tested on |\n|---|---|---|---|\n");
    for row in SETTINGS {
        let holds = match row.risk {
            Risk::Live => "at once",
            Risk::Rebind => "when the driver probes the drive again",
            Risk::Shown => "never changed",
        };
        let (id, file) = (row.id.0, row.file);
        let _infallible = writeln!(text, "| `{id}` | `{file}` | {holds} | {} |", row.proved_on());
    }
    text
}

/// The row of that name.
pub fn find(id: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.id.0 == id)
}

/// The parameter behind [`POLL_QUEUES`], which exists also while a drive is unbound.
pub fn poll_queues(machine: &Machine) -> Option<Reading<Value>> {
    machine.host.module_parameters.get("nvme/poll_queues").map(plain)
}

/// Why a setting cannot have had a value, in words. Files may show words that they do not list, such as a scheduler whose
/// module is gone, or a number for a preference without a name: any word passes for those.
pub fn take_back(setting: &Setting, value: &str) -> Result<(), String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if value.is_empty() || value.len() > 64 || !value.bytes().all(is_word) {
        return Err("takes a word or a number".to_owned());
    }
    validate(setting, &Value::of(value), value)
}

/// Why a value is invalid, in words; the kernel may still refuse a valid one.
pub fn validate(setting: &Setting, now: &Value, wanted: &str) -> Result<(), String> {
    if setting.risk == Risk::Shown {
        return Err("is not tunable".to_owned());
    }
    match setting.range {
        Range::Offered if now.choices.is_empty() || now.choices.iter().any(|choice| *choice == wanted) => {
            Ok(())
        }
        Range::Offered => Err(format!("takes one of {}", words(now.choices.iter().map(Label::as_str)))),
        Range::Words(offered) if offered.contains(&wanted) => Ok(()),
        Range::Words(offered) => Err(format!("takes one of {}", words(offered.iter().copied()))),
        Range::Number(least, most) => match wanted.parse::<i64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(()),
            _ if most == i64::MAX => Err(format!("takes a whole number from {least}")),
            _ => Err(format!("takes a whole number from {least} to {most}")),
        },
    }
}

fn words<'a>(choices: impl Iterator<Item = &'a str>) -> String {
    choices.collect::<Vec<_>>().join(" ")
}

impl Value {
    fn of(text: &str) -> Self {
        Self { text: Label::new(text), choices: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_stand_in_help_and_none_stands_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for setting in SETTINGS {
            assert!(seen.insert(setting.id), "{} stands twice", setting.id.0);
            assert!(setting.help.matches(['.', ':']).count() >= 2, "{}: two sentences", setting.id.0);
            assert!(setting.help.ends_with('.') && setting.label.chars().count() <= 18, "{}", setting.id.0);
            for also in setting.also {
                assert!(SETTINGS.iter().any(|row| row.id == *also), "{} names {}", setting.id.0, also.0);
            }
        }
        assert_eq!(rank("scheduler"), 0, "undo restores the scheduler first");
        for row in SETTINGS {
            assert!(
                row.also.iter().all(|also| rank(row.id.0) < rank(also.0)),
                "{} is made before what it resets",
                row.id.0
            );
        }
    }

    #[test]
    fn the_table_holds_the_names_scripts_rely_on() {
        let names: Vec<_> =
            SETTINGS.iter().filter(|row| row.risk != Risk::Shown).map(|row| row.id.0).collect();
        let contract = "scheduler read_ahead_kb nr_requests max_sectors_kb nomerges rq_affinity wbt_lat_usec iostats add_random \
                        iostats_passthrough async_depth \
                        poll_queues aspm power_control latency_tolerance_us governor energy_preference link_speed";
        assert_eq!(names, contract.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn values_are_refused_with_what_would_do() {
        let now = Value { text: "none".into(), choices: vec!["none".into(), "mq-deadline".into()] };
        let row = |id| find(id).unwrap();
        assert_eq!(validate(row("scheduler"), &now, "mq-deadline"), Ok(()));
        assert_eq!(validate(row("scheduler"), &now, "bogus").unwrap_err(), "takes one of none mq-deadline");
        assert_eq!(validate(row("nomerges"), &now, "3").unwrap_err(), "takes a whole number from 0 to 2");
        assert_eq!(validate(row("wbt_lat_usec"), &now, "-1"), Ok(()));
        assert!(validate(row("wbt_lat_usec"), &now, "-2").is_err());
        assert!(validate(row("read_ahead_kb"), &now, "12 ; rm").is_err());
        assert!(validate(row("write_cache"), &now, "write through").is_err());
        for (id, value) in [("scheduler", "kyber"), ("energy_preference", "128"), ("wbt_lat_usec", "-1")] {
            assert_eq!(take_back(row(id), value), Ok(()), "{id}");
        }
        for (id, value) in
            [("scheduler", "../x"), ("governor", "a b"), ("nomerges", "3"), ("aspm", ""), ("governor", "a\n")]
        {
            assert!(take_back(row(id), value).is_err(), "{id}");
        }
    }
}
