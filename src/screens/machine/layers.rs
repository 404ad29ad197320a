//! Facts of arrays, volumes and what lies on a drive.

use super::fact::{Fact, fact, read};
use crate::{
    machine::{
        Drive, Layer, LayerKind, Machine,
        layers::{Dm, Level, Md, Target},
    },
    model::{DriveName, Limits},
    screens::widgets::words::rate,
    text::Label,
    ui::{Shared, load::possible, theme::Meaning},
    units,
};

/// What a row shows beside a drive's name: its model, or the kind of an array.
pub(super) fn title(machine: &Machine, drive: &Drive) -> String {
    match machine.layer(drive.name.as_str()) {
        Some(layer) if layer.is_stacked() => layer.words(),
        _ => machine.model_of(drive),
    }
}

/// The state of a member, unless it is in sync.
pub(super) fn member_state(machine: &Machine, array: &DriveName, part: &Label) -> Option<(String, Meaning)> {
    let state = machine.layer(array.as_str())?.md()?.state_of(part.as_str())?;
    let meaning = if state.contains("faulty") { Meaning::Problem } else { Meaning::Warning };
    Some((state.to_owned(), meaning))
}

/// Bytes per second that an array or a volume can read at most: the limits of the drives below added up, those of namespaces of one
/// controller once; of stripes the slowest member's, times their number. `None` of drives themselves, and where one limit is
/// unknown.
pub(super) fn limit(machine: &Machine, limits: &Limits, name: &DriveName) -> Option<f64> {
    machine.layer(name.as_str()).filter(|layer| layer.is_stacked())?;
    let together = together(machine, limits, name)?;
    Some(of_stripes(machine, limits, name, MOST_LEVELS)?.min(together)).filter(|limit| *limit > 0.0)
}

/// Devices on top of each other; those of a malformed capture may form a circle.
const MOST_LEVELS: usize = 16;

/// The limits of all drives below, added up.
fn together(machine: &Machine, limits: &Limits, name: &DriveName) -> Option<f64> {
    let below: Vec<DriveName> =
        machine.hardware_below(name.as_str()).into_iter().map(|drive| drive.name.clone()).collect();
    possible(machine, limits, &below)
}

/// The limit of a device whose stripes, also those of arrays below it, run at the pace of their slowest member.
fn of_stripes(machine: &Machine, limits: &Limits, name: &DriveName, levels: usize) -> Option<f64> {
    let below = machine.directly_below(name.as_str());
    if below.is_empty() || levels == 0 {
        return together(machine, limits, name);
    }
    let members: Option<Vec<f64>> =
        below.iter().map(|member| of_stripes(machine, limits, &member.name, levels - 1)).collect();
    let members = members?;
    let is_striped = machine.layer(name.as_str()).and_then(Layer::md).is_some_and(Md::is_striped);
    let slowest = members.iter().copied().min_by(f64::total_cmp)?;
    Some(if is_striped { slowest * members.len() as f64 } else { members.iter().sum() })
}

/// The same as a fact.
pub(super) fn limit_of_members(shared: &Shared, drive: &Drive) -> Option<Fact> {
    let (machine, limits) = (&shared.machine, &shared.limits);
    let limit = limit(machine, limits, &drive.name)?;
    let below = machine.hardware_below(drive.name.as_str()).len();
    let is_less = together(machine, limits, &drive.name).is_some_and(|together| limit < together);
    let by = if is_less { "stripes at the pace of the slowest of" } else { "the limits of" };
    let behind = if is_less { "" } else { " together" };
    let (limit, drives) = (rate(shared.units, limit), units::counted(below, "drive"));
    Some(fact("limit", format!("at most {limit}, {by} {drives}{behind}")))
}

/// The kind of the write cache, which decides what fsync costs.
pub(super) fn write_cache(drive: &Drive) -> Option<Fact> {
    read("cache", &drive.queue.write_cache, |kind| format!("{kind}; fsync speed is not measured"))
}

/// The device's own layer, then everything that lies on it.
pub(super) fn of_drive(machine: &Machine, drive: &Drive) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(layer) = machine.layer(drive.name.as_str()) {
        match &layer.kind {
            LayerKind::Md(md) => about_array(md, &mut facts),
            LayerKind::Dm(dm) => about_mapping(dm, &mut facts),
            _ => {}
        }
        let below = machine.stack_below(drive.name.as_str()).into_iter().skip(1);
        for (at, level) in below.enumerate() {
            let label = if at == 0 { "made of" } else { " " };
            facts.push(fact(label, level_words(&level, 1)));
        }
    }
    let mut levels = machine.stack_above(drive);
    let is_stacked = levels.iter().any(|level| level.is_device);
    if !is_stacked {
        // `in use` names plain mounts; options are worth a line.
        levels.retain(|level| level.words.contains(", "));
    }
    let mut named = "";
    for level in &levels {
        // What is mounted from the drive itself; what lies on devices made of it follows them.
        let label = if level.depth == 0 && !level.is_device { "mounts" } else { "stack" };
        facts.push(fact(if label == named { " " } else { label }, level_words(level, 0)));
        named = label;
    }
    facts
}

/// A level with a mark for each level between it and `first`.
fn level_words(level: &Level, first: usize) -> String {
    format!("{}{}", "· ".repeat(level.depth.saturating_sub(first)), level.words)
}

fn about_array(md: &Md, facts: &mut Vec<Fact>) {
    facts.extend(read("array", &md.state, |state| format!("{}, {state}", md.level_name())));
    if md.degraded.get().is_some_and(|missing| missing > 0) {
        facts.extend(
            read("degraded", &md.degraded, |missing| {
                format!("{} missing", units::counted(*missing as usize, "member"))
            })
            .map(|found| Fact { meaning: Meaning::Problem, ..found }),
        );
    }
    if let Some(words) = md.sync_words() {
        let path = Some(md.sync_action.path());
        facts.push(Fact { path, meaning: Meaning::Warning, ..fact("sync", words) });
    }
    if let Some(chunk) = md.chunk.get().filter(|chunk| chunk.0 > 0) {
        let stripe = md
            .stripe()
            .map_or_else(String::new, |stripe| format!(", full stripe {}", units::block_size(stripe)));
        facts.extend(read("chunk", &md.chunk, |_| format!("{}{stripe}", units::block_size(chunk))));
    }
    facts.extend(read("bitmap", &md.bitmap, |place| match (place.as_str(), md.bitmap_chunk.get()) {
        ("none", _) => "none".to_owned(),
        (place, Some(chunk)) => format!("at {place}, a bit for each {}", units::block_size(chunk)),
        (place, None) => format!("at {place}"),
    }));
    facts.extend(read("threads", &md.group_threads, |threads| match threads {
        0 => "group_thread_cnt 0: one thread for all stripes".to_owned(),
        threads => format!("group_thread_cnt {threads}"),
    }));
}

fn about_mapping(dm: &Dm, facts: &mut Vec<Fact>) {
    if let Some(title) = dm.title() {
        facts.push(fact("volume", title));
    }
    let words = |target: &Target| {
        let options = target.options.iter().map(Label::as_str);
        [target.kind.as_str()].into_iter().chain(options).collect::<Vec<_>>().join(" ")
    };
    facts.extend(read("table", &dm.targets, |targets| {
        let mut all: Vec<String> = targets.iter().map(words).collect();
        all.dedup();
        all.join("; ")
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        model::{Basis, Limit, Reading},
        report::flatten::{Row, RowKey, Screen, Sort},
        source::{self, capture::TextRoot},
        ui::{MachineRead, shared::Mode},
        units::BytesPerSecond,
    };

    const STACK: &str = include_str!("../../../tests/fixtures/stack.capture");

    fn machine() -> Machine {
        machine_of(STACK)
    }

    fn machine_of(text: &str) -> Machine {
        source::read_machine(&TextRoot::parse(text).unwrap()).0
    }

    fn values(machine: &Machine, name: &str, label: &str) -> Vec<String> {
        let facts = of_drive(machine, machine.whole(name).unwrap());
        facts.into_iter().filter(|fact| fact.label == label).map(|fact| fact.value).collect()
    }

    #[test]
    fn an_array_tells_its_state_and_what_it_is_made_of() {
        let machine = machine();
        assert_eq!(values(&machine, "md0", "array"), ["RAID5, active"]);
        assert_eq!(values(&machine, "md0", "degraded"), ["1 member missing"]);
        assert_eq!(values(&machine, "md0", "chunk"), ["512k, full stripe 1m"]);
        assert_eq!(values(&machine, "md0", "bitmap"), ["at +8, a bit for each 64m"]);
        assert_eq!(values(&machine, "md0", "made of"), ["nvme0n1p1 of nvme0n1 Fast 1TB"]);
        assert_eq!(values(&machine, "dm-0", "table"), ["crypt aes-xts-plain64 allow_discards"]);
        assert_eq!(values(&machine, "dm-1", "volume"), ["data-1/home"]);
        let on_drive =
            values(&machine, "nvme1n1", "stack").concat() + &values(&machine, "nvme1n1", " ").concat();
        for part in ["md0 RAID5, 2 of 3 members", "· dm-0 crypt cryptdata", "· · /srv/data ext4, noatime"]
        {
            assert!(on_drive.contains(part), "{part} in {on_drive}");
        }
    }

    #[test]
    fn the_limit_of_an_array_is_that_of_its_members_together() {
        let machine = machine();
        let name = DriveName::new;
        let of = |bytes: f64| Limit {
            bytes_per_second: BytesPerSecond(bytes),
            basis: Basis::Published,
            because: "a test".to_owned(),
            node: None,
        };
        let mut limits = Limits::default();
        for (drive, bytes) in [("nvme0n1", 7e9), ("nvme1n1", 5e9), ("nvme2n1", 3e9)] {
            limits.drives.insert(name(drive), of(bytes));
        }
        assert_eq!(limit(&machine, &limits, &name("md0")), Some(15e9));
        assert_eq!(limit(&machine, &limits, &name("dm-0")), Some(15e9), "crypt on the array");
        assert_eq!(limit(&machine, &limits, &name("nvme0n1")), None, "a drive has its own");
        assert_eq!(limit(&machine, &limits, &name("dm-1")), None, "its drive has no known limit");
        let words = |machine: Machine| {
            let (problems, limits) = (Vec::new(), Arc::new(limits.clone()));
            let read = MachineRead { machine: Arc::new(machine), problems, limits };
            let shared = Shared::new(Mode::Capture, read, (120, 40));
            limit_of_members(&shared, shared.machine.whole("md0").unwrap()).unwrap().value
        };
        assert_eq!(words(machine), "at most 15.0 GB/s, the limits of 3 drives together");
        let striped = machine_of(&STACK.replace("raid5", "raid0"));
        assert_eq!(limit(&striped, &limits, &name("md0")), Some(9e9), "three times the slowest");
        assert_eq!(limit(&striped, &limits, &name("dm-0")), Some(9e9), "crypt on the array");
        assert_eq!(words(striped), "at most 9.00 GB/s, stripes at the pace of the slowest of 3 drives");
    }

    #[test]
    fn plain_mounts_take_no_line_and_options_do() {
        let plain = "40 22 259:1 / /srv/data rw,relatime - ext4 /dev/nvme0n1p1 rw";
        let mount = "40 22 253:0 / /srv/data rw,noatime - ext4 /dev/mapper/cryptdata rw,stripe=256";
        let at = |line: &str| {
            let text = STACK
                .replace(mount, line)
                .replace("link /sys/block/md0", "link /sys/block/gone")
                .replace("link /sys/block/loop0", "link /sys/block/none");
            machine_of(&text)
        };
        assert!(values(&at(plain), "nvme0n1", "mounts").is_empty());
        let options = plain.replace("relatime", "noatime");
        assert_eq!(values(&at(&options), "nvme0n1", "mounts"), ["/srv/data ext4, noatime"]);
        let reserved = plain.replace("relatime", "discard,resgid=65534,resuid=65534,resv_strict");
        assert_eq!(values(&at(&reserved), "nvme0n1", "mounts"), ["/srv/data ext4, discard"]);
    }

    #[test]
    fn a_member_out_of_sync_says_so() {
        let machine = machine();
        let state = |part: &str| member_state(&machine, &DriveName::new("md0"), &Label::new(part));
        assert_eq!(state("nvme1n1"), None);
        assert_eq!(state("nvme2n1"), Some(("spare".to_owned(), Meaning::Warning)));
    }

    #[test]
    fn the_write_cache_says_that_fsync_is_not_measured() {
        let mut machine = machine();
        let drive = &mut machine.drives[0];
        for kind in ["write back", "write through"] {
            drive.queue.write_cache = Reading::known("/x", Label::new(kind));
            let said = write_cache(drive).unwrap().value;
            assert!(said.starts_with(kind) && said.ends_with("fsync speed is not measured"), "{said}");
        }
    }

    #[test]
    fn software_devices_are_unfolded_where_rows_are_left() {
        use crate::report::flatten::{Group, RowKind};
        let machine = machine();
        let software = RowKey::Group(Group::Software);
        let open = |toggled: &[RowKey], spacious| {
            let toggled = toggled.iter().cloned().collect();
            let value = |_: &Row| None;
            let (everything, sort, height) = (false, Sort::Bus, 60);
            let rows = Screen {
                machine: &machine,
                toggled: &toggled,
                everything,
                sort,
                value: &value,
                height,
                spacious,
            };
            let rows = rows.rows();
            let group = rows.iter().find(|row| row.kind == RowKind::Group(Group::Software)).unwrap();
            (rows.len(), group.open == Some(true))
        };
        let (folded, is_open) = open(&[], 0);
        assert!(!is_open);
        let all = folded + 1;
        assert_eq!(open(&[], all), (all, true), "one loop device");
        assert_eq!(open(&[], all - 1), (folded, false), "it would not fit");
        let own = std::slice::from_ref(&software);
        assert_eq!(open(own, all), (folded, false), "folded by the user");
        assert_eq!(open(own, 0), (all, true), "unfolded by the user");
    }

    #[test]
    fn every_sort_lists_the_same_drives() {
        let machine = machine();
        let toggled = std::collections::BTreeSet::new();
        let value = |_: &Row| None;
        let drives = |everything, sort| {
            let (toggled, value) = (&toggled, &value);
            let screen =
                Screen { machine: &machine, toggled, everything, sort, value, height: 60, spacious: 0 };
            let rows = screen.rows();
            rows.iter().filter_map(|row| Some(row.drive()?.to_string())).collect::<Vec<String>>()
        };
        for everything in [false, true] {
            let mut by_load = drives(everything, Sort::Load);
            by_load.sort();
            assert!(by_load.contains(&"loop0".to_owned()), "{by_load:?}");
            for sort in [Sort::Name, Sort::Column("read"), Sort::Reversed("read")] {
                let mut other = drives(everything, sort);
                // Of loop devices there may be many.
                assert!(sort != Sort::Name || other.last().is_some_and(|last| last == "loop0"), "{other:?}");
                other.sort();
                assert_eq!(by_load, other, "{sort:?}");
            }
        }
    }

    #[test]
    fn the_tree_has_arrays_with_their_members() {
        let machine = machine();
        let toggled = std::collections::BTreeSet::new();
        let value = |_: &Row| None;
        let screen = Screen {
            machine: &machine,
            toggled: &toggled,
            everything: false,
            sort: Sort::Bus,
            value: &value,
            height: 60,
            spacious: 0,
        };
        let rows = screen.rows();
        let named: Vec<String> = rows
            .iter()
            .filter(|row| row.depth > 0)
            .map(|row| match &row.key {
                RowKey::Member(array, part) => format!("{} {part} of {array}", row.depth),
                _ => format!("{} {}", row.depth, row.drives[0]),
            })
            .collect();
        let arrays = named.iter().position(|name| name == "1 dm-0").unwrap();
        assert_eq!(
            named[arrays..],
            [
                "1 dm-0",
                "2 md0 of dm-0",
                "3 nvme0n1p1 of md0",
                "3 nvme1n1 of md0",
                "3 nvme2n1 of md0",
                "1 dm-1",
                "2 nvme3n1 of dm-1"
            ]
        );
    }
}
