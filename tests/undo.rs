//! Settings of real devices: changed, read back, undone; killed in between; two iodynos at once; after a reboot, after a
//! device went, without privilege. What a killed one leaves is in `leftovers.rs`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    reason = "a test may panic, and plays the stranger who writes settings behind iodyno's back"
)]

#[path = "common/loop_device.rs"]
mod loop_device;
#[path = "common/program.rs"]
mod program;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Output, Stdio},
    time::{Duration, SystemTime},
};

use iodyno::{
    machine::Machine,
    model::DriveName,
    source::capture::TextRoot,
    tune::{
        Actuator, Device, Outcome, SETTINGS, Tuner,
        change_log::ChangeLog,
        fake_kernel::FakeKernel,
        journal::{Journal, Purpose},
        settings::Proof,
        tuner::{is_whole, planned},
        undo::Which,
    },
};
use loop_device::{LoopDevice, Queue, ZramDevice, skip::skipped};
use program::{command, iodyno, text};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A value for each setting that differs from what a loop device, or a zram device, has as delivered.
const CHANGES: [(&str, &str); 10] = [
    ("scheduler", "mq-deadline"),
    ("read_ahead_kb", "512"),
    ("nr_requests", "64"),
    ("max_sectors_kb", "64"),
    ("nomerges", "2"),
    ("rq_affinity", "2"),
    ("wbt_lat_usec", "0"),
    ("iostats", "0"),
    ("add_random", "1"),
    ("iostats_passthrough", "1"),
];

/// The changes of settings that the table says were proved there.
fn proved_on(place: Proof) -> Vec<(&'static str, &'static str)> {
    let rows = SETTINGS.iter().filter(|row| row.proofs.contains(&place));
    rows.map(|row| *CHANGES.iter().find(|(id, _)| *id == row.id.0).unwrap()).collect()
}

/// Changes each of these settings of a device, reads it back, in the list too, and undoes them all. A setting that has the
/// value already, as `iostats` of zram, gets another one.
fn change_and_undo(device: &Queue, changes: &[(&'static str, &'static str)]) {
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let other = |setting: &str| {
        let (_, values) = VALUES.iter().find(|(id, _)| *id == setting).unwrap();
        *values.iter().find(|value| before[setting] != **value).unwrap()
    };
    let changes: Vec<_> = changes
        .iter()
        .map(|(setting, value)| (*setting, if before[*setting] == *value { other(setting) } else { *value }))
        .collect();
    let changes = changes.as_slice();
    let there: Vec<&str> = changes.iter().map(|(setting, _)| *setting).collect();
    assert_eq!(before.keys().map(String::as_str).collect::<BTreeSet<_>>(), there.iter().copied().collect());
    for (setting, value) in changes {
        assert_ne!(before[*setting], *value, "{setting} is so as delivered");
        let output = iodyno(state.path(), &["tune", "set", &device.name, &format!("{setting}={value}")]);
        assert!(output.status.success(), "{setting}: {}", text(&output));
        assert!(text(&output).contains(&format!("-> {value}: accepted")), "{}", text(&output));
        assert_eq!(device.setting(setting).as_deref(), Some(*value));
    }
    let listed = iodyno(state.path(), &["tune", "list", &device.name, "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["schema"], 1);
    let rows = listed["settings"].as_array().unwrap();
    for (setting, value) in changes {
        let row = rows.iter().find(|row| row["setting"] == *setting).unwrap();
        assert_eq!(row["value"], *value);
        assert_eq!(row["found_value"], before[*setting].as_str(), "{setting}");
    }
    let output = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(device.read_settings(), before);
    let output = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert_eq!(text(&output), "no settings changed since boot\n");
}

#[test]
fn every_setting_of_a_loop_device_is_changed_read_back_and_undone() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    change_and_undo(&device, &proved_on(Proof::Loop));
}

#[test]
fn every_setting_of_a_zram_device_is_changed_read_back_and_undone() {
    let Some(device) = ZramDevice::new(16 << 20) else { return };
    change_and_undo(&device, &proved_on(Proof::Zram));
    let state = tempfile::tempdir().unwrap();
    let missing = iodyno(state.path(), &["tune", "set", &device.name, "scheduler=none"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing));
    assert!(text(&missing).contains("has no scheduler"), "{}", text(&missing));
}

#[test]
fn runtime_power_of_a_pci_function_is_changed_read_back_and_undone() {
    let functions = fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    // Whatever sits there, it must be awake and stay so: `on` to `auto` and back wakes nothing.
    let awake = |folder: &std::path::PathBuf| {
        fs::read_to_string(folder.join("power/control")).is_ok_and(|text| text.trim() == "on")
    };
    let Some(folder) = functions.map(|entry| entry.path()).find(awake).filter(|_| is_root()) else {
        skipped("no PCI function that is kept awake, or not root");
        return;
    };
    let address = folder.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(
        SETTINGS
            .iter()
            .filter(|row| row.proofs.contains(&Proof::Function))
            .all(|row| row.id.0 == "power_control")
    );
    let control = || fs::read_to_string(folder.join("power/control")).unwrap();
    let state = tempfile::tempdir().unwrap();
    let set = iodyno(state.path(), &["tune", "set", &address, "power_control=auto"]);
    assert!(text(&set).contains("on -> auto: accepted"), "{}", text(&set));
    assert_eq!(control(), "auto\n");
    let undone = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(undone.status.success(), "{}", text(&undone));
    assert_eq!(control(), "on\n");
}

/// The demo's files, and those that no demo has.
fn fake_root() -> (Machine, FakeKernel) {
    let demo = iodyno::source::demo::find("x570").unwrap();
    let mut capture = TextRoot::parse(&demo.capture()).unwrap().into_capture();
    let (machine, _) = iodyno::source::read_machine(&TextRoot::from(capture.clone()));
    let cooling = "/sys/devices/virtual/thermal/cooling_device9";
    let mut put = |path: String, content: &str| {
        capture.answers.entry(path).or_default().read = Some(Ok(content.as_bytes().to_vec()));
    };
    for (file, content) in
        [("type", "PCIe_Port_Link_Speed_0000:00:03.1"), ("cur_state", "0"), ("max_state", "3")]
    {
        put(format!("/sys/class/thermal/cooling_device9/{file}"), content);
        put(format!("{cooling}/{file}"), content);
    }
    let energy = [
        ("energy_performance_preference", "balance_performance"),
        ("energy_performance_available_preferences", "performance power"),
    ];
    for cpu in 0..64 {
        for (file, content) in energy {
            put(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"), content);
        }
    }
    // As no kernel at hand has it.
    let path = format!("{}/queue", machine.drive(&DriveName::new("nvme0n1")).unwrap().path);
    put(format!("{path}/async_depth"), "192");
    capture.answers.entry(path).or_default().list = Some(Ok(vec!["async_depth".to_owned()]));
    let thermal = capture.answers.entry("/sys/class/thermal".to_owned()).or_default();
    thermal.list = Some(Ok(vec!["cooling_device9".to_owned()]));
    let root = TextRoot::from(capture);
    let (machine, _) = iodyno::source::read_machine(&root);
    let kernel = iodyno::runtime::demo_root::kernel(&root, &machine);
    (machine, kernel)
}

#[test]
fn what_no_device_was_at_hand_for_is_changed_read_back_and_undone_on_a_fake_root() {
    let (machine, kernel) = fake_root();
    let journal = Journal::in_memory();
    for row in SETTINGS.iter().filter(|row| row.proofs == [Proof::FakeRoot]) {
        let (device, value) = match row.id.0 {
            "governor" => (Device::Cpu, "performance"),
            "energy_preference" => (Device::Cpu, "power"),
            "link_speed" => (Device::Drive(DriveName::new("nvme0n1")), "2"),
            "async_depth" => (Device::Drive(DriveName::new("nvme0n1")), "64"),
            other => panic!("{other} is proved nowhere"),
        };
        let tuner = Tuner::open(&journal, &kernel, Purpose::Screen, "b", || 1).unwrap();
        let planned = planned(&machine, &device, row, value).unwrap();
        assert!(!planned.is_empty(), "{}", row.id.0);
        for change in &planned {
            assert_eq!(tuner.apply(&machine, change).unwrap(), Outcome::Accepted, "{}", row.id.0);
            assert_eq!(kernel.read(&change.file).unwrap(), value);
        }
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "b");
        let report = tuner.undo(&machine, &change_log, &Which::All, false).unwrap();
        assert!(report.len() == planned.len() && is_whole(&report), "{}: {report:?}", row.id.0);
        for change in &planned {
            assert_eq!(kernel.read(&change.file).unwrap(), change.from, "{}", row.id.0);
        }
    }
}

#[test]
fn the_lab_tries_what_the_table_says_it_does() {
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab"))];
    let mut scripts = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|end| end == "py") => {
                    scripts += &fs::read_to_string(path).unwrap();
                }
                _ => {}
            }
        }
    }
    for row in SETTINGS.iter().filter(|row| row.proofs.contains(&Proof::Lab)) {
        let id = row.id.0;
        let tried = [format!("\"{id}\": "), format!("{id}={{"), format!("{id}=2")];
        assert!(tried.iter().any(|word| scripts.contains(word)), "the lab does not set {id}");
    }
}

#[test]
fn what_the_kernel_makes_of_a_value_is_said() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let set = |change: &str| iodyno(state.path(), &["tune", "set", &device.name, change]);
    let rounded = set("read_ahead_kb=4099");
    assert_eq!(rounded.status.code(), Some(1));
    assert!(text(&rounded).contains("adjusted by the kernel to 4096"), "{}", text(&rounded));
    for (change, words) in [
        ("scheduler=bogus", "takes one of"),
        ("read_ahead_kb=-1", "takes a whole number from 0"),
        ("nomerges=3", "takes a whole number from 0 to 2"),
        ("bogus=1", "no such setting"),
        ("scheduler", "is not SETTING=VALUE"),
        ("poll_queues=2", "has no poll_queues"),
    ] {
        let output = set(change);
        assert_eq!(output.status.code(), Some(2), "{change}: {}", text(&output));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            error.starts_with("iodyno: ") && error.contains(words) && error.lines().count() == 1,
            "{error}"
        );
    }
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
}

#[test]
fn after_a_reboot_the_journal_knows_that_values_are_gone() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "read_ahead_kb=512"]).status.success());
    let journal = state.path().join("journal.jsonl");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let records = fs::read_to_string(&journal).unwrap();
    assert!(records.contains(boot.trim()));
    fs::write(&journal, records.replace(boot.trim(), "00000000-0000-4000-8000-000000000000")).unwrap();
    let undone = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert_eq!(text(&undone), "no settings changed since boot\n");
    assert_eq!(device.setting("read_ahead_kb").as_deref(), Some("512"), "it is as this boot made it");
    let told = iodyno(state.path(), &["tune", "journal"]);
    assert!(text(&told).contains("records of earlier boots"), "{}", text(&told));
}

#[test]
fn settings_of_a_loop_device_are_undone_whatever_is_attached() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    let undo = || iodyno(state.path(), &["tune", "undo", "--all"]);
    device.attach_another(8 << 20, || {
        let empty = undo();
        assert_eq!(empty.status.code(), Some(1), "{}", text(&empty));
        assert!(
            text(&empty).contains("nomerges: not restored to 0: the device holds nothing now"),
            "{}",
            text(&empty)
        );
    });
    assert_eq!(device.setting("nomerges").as_deref(), Some("2"), "settings outlive what was attached");
    let undone = undo();
    assert!(undone.status.success(), "{}", text(&undone));
    assert_eq!(device.setting("nomerges"), before.get("nomerges").cloned());
    assert_eq!(text(&undo()), "no settings changed since boot\n");
}

/// As a user without root, with a state folder of its own.
fn as_nobody(args: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("iodyno");
    // Not by this process: another thread's child would inherit the open copy, which could not be run then.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_iodyno")).arg(&program).status();
    assert!(copied.unwrap().success());
    for path in [home.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(args);
    command.env("IODYNO_STATE_DIR", home.path().join("state")).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn without_privilege_everything_is_shown_and_changes_become_commands() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let before = device.read_settings();
    let listed = as_nobody(&["tune", "list", &device.name]);
    assert!(listed.status.success(), "{}", text(&listed));
    assert!(text(&listed).contains("scheduler") && text(&listed).contains("needs root"), "{}", text(&listed));
    let set = as_nobody(&["tune", "set", &device.name, "nr_requests=64", "scheduler=mq-deadline"]);
    assert_eq!(set.status.code(), Some(2));
    assert_eq!(device.read_settings(), before);
    let error = String::from_utf8_lossy(&set.stderr);
    assert!(error.starts_with("iodyno: tune set: needs root") && error.lines().count() == 1, "{error}");
    // The printed commands set the values, in a working order.
    let commands = String::from_utf8_lossy(&set.stdout).replace("sudo ", "");
    assert_eq!(commands.lines().count(), 2, "{commands}");
    assert!(Command::new("sh").arg("-ec").arg(&commands).stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(device.setting("scheduler").as_deref(), Some("mq-deadline"));
    assert_eq!(device.setting("nr_requests").as_deref(), Some("64"));
    let dry = as_nobody(&["tune", "set", &device.name, "nomerges=2", "--dry-run"]);
    assert!(dry.status.success() && text(&dry).starts_with("echo '2' | sudo tee "), "{}", text(&dry));
}

#[test]
fn exported_rules_are_what_udev_takes() {
    let Some(device) = ZramDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let set = iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2", "read_ahead_kb=512"]);
    assert!(set.status.success(), "{}", text(&set));
    let exported = iodyno(state.path(), &["tune", "export", "udev"]);
    let rules = String::from_utf8(exported.stdout).unwrap();
    let read = iodyno::source::rules::udev::parse("/99.rules", &rules);
    let said: Vec<_> = read
        .iter()
        .map(|rule| {
            (rule.setting.as_str(), rule.value.as_str(), rule.names.as_ref().map(iodyno::text::Label::as_str))
        })
        .collect();
    let name = Some(device.name.as_str());
    assert_eq!(said, [("nomerges", "2", name), ("read_ahead_kb", "512", name)], "{rules}");
    assert!(rules.contains("# nomerges: was 0, set to 2. "), "{rules}");
    let version = Command::new("udevadm").arg("--version").output();
    let version =
        version.ok().and_then(|output| String::from_utf8_lossy(&output.stdout).trim().parse::<u32>().ok());
    if version.is_some_and(|version| version >= 254) {
        let file = state.path().join("99-iodyno.rules");
        fs::write(&file, &rules).unwrap();
        let verified = Command::new("udevadm").arg("verify").arg(&file).output().unwrap();
        assert!(verified.status.success(), "{}", text(&verified));
    } else {
        println!("not asked of udevadm verify, which came with systemd 254: this one is {version:?}");
    }
    let arguments = text(&iodyno(state.path(), &["tune", "export", "kernel-args"]));
    assert!(
        arguments.contains("# left out: nomerges of zram")
            && !arguments.lines().any(|line| line.starts_with("nvme")),
        "{arguments}"
    );
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
}

#[test]
fn a_dry_run_prints_the_writes_and_makes_none() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let output = iodyno(
        state.path(),
        &["tune", "set", &device.name, "read_ahead_kb=512", "scheduler=mq-deadline", "--dry-run"],
    );
    let said = text(&output);
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("echo 'mq-deadline' | sudo tee '/sys/"), "the scheduler goes first: {said}");
    assert!(lines[1].starts_with("echo '512' | sudo tee '/sys/"), "{said}");
    assert_eq!(device.read_settings(), before);
    assert!(!state.path().join("journal.jsonl").exists());
}

#[test]
fn what_somebody_else_changed_is_left_alone_until_forced() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.setting("read_ahead_kb").unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "read_ahead_kb=512"]).status.success());
    device.write("read_ahead_kb", "64");
    let output = iodyno(state.path(), &["tune", "undo", &device.name]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("changed to 64 by another program"), "{}", text(&output));
    assert!(text(&output).contains(&format!("tune undo {} --force`", device.name)), "{}", text(&output));
    assert_eq!(device.setting("read_ahead_kb").as_deref(), Some("64"));
    let again = iodyno(state.path(), &["tune", "undo", &device.name]);
    assert_eq!(again.status.code(), Some(0), "reported once");
    let left = "read_ahead_kb: is 64; an earlier undo left it to another program; `iodyno tune undo";
    assert!(text(&again).contains(left), "{}", text(&again));
    assert_eq!(device.setting("read_ahead_kb").as_deref(), Some("64"));
    assert!(iodyno(state.path(), &["tune", "undo", &device.name, "--force"]).status.success());
    assert_eq!(device.setting("read_ahead_kb"), Some(before));
}

/// Numbers that look random and are the same every time (Knuth's MMIX generator).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Values to choose from, for each setting.
const VALUES: [(&str, [&str; 3]); 10] = [
    ("scheduler", ["mq-deadline", "none", "kyber"]),
    ("read_ahead_kb", ["0", "512", "4096"]),
    ("nr_requests", ["4", "64", "100"]),
    ("max_sectors_kb", ["64", "128", "256"]),
    ("nomerges", ["1", "2", "0"]),
    ("rq_affinity", ["0", "2", "1"]),
    ("wbt_lat_usec", ["0", "500", "75000"]),
    ("iostats", ["0", "1", "0"]),
    ("add_random", ["1", "0", "1"]),
    ("iostats_passthrough", ["1", "0", "1"]),
];

/// Random changes of several devices by several processes at once, two of them on one device, killed at random moments:
/// the next undo leaves every file as it was at the beginning. The full count of rounds is a long test.
#[test]
fn behind_a_stopped_iodyno_a_change_ends_with_one_line_and_is_not_made() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let set = |value: &str| iodyno(state.path(), &["tune", "set", &device.name, value]);
    assert!(set("nomerges=1").status.success());
    let before = device.read_settings();
    // What a process has that is stopped between its two looks at a file.
    let turn = fs::File::open(state.path().join("turn")).unwrap();
    turn.lock().unwrap();
    for output in [set("nomerges=2"), iodyno(state.path(), &["tune", "undo", "--all"])] {
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("turn: another iodyno holds its lock") && said.contains("`fg`"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(device.read_settings(), before);
    turn.unlock().unwrap();
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
}

#[test]
fn output_that_cannot_be_written_leaves_no_change_half_made() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let run = |args: &[&str]| command(state.path(), args).stdout(full()).output().unwrap();
    let set = run(&["tune", "set", &device.name, "nomerges=2", "rq_affinity=2"]);
    assert_eq!(set.status.code(), Some(2));
    assert!(
        text(&set).contains("No space left on device, after the settings were changed"),
        "{}",
        text(&set)
    );
    let setting = |name| device.setting(name).unwrap();
    assert_eq!([setting("nomerges"), setting("rq_affinity")], ["2", "2"]);
    let undo = run(&["tune", "undo", "--all"]);
    assert_eq!(undo.status.code(), Some(2));
    assert!(text(&undo).contains("after the settings were restored"), "{}", text(&undo));
    assert_eq!(device.read_settings(), before);
}

#[test]
fn killed_at_any_moment_everything_comes_back() {
    let Some(loops) =
        [16, 32].map(|mib: u64| LoopDevice::new(mib << 20)).into_iter().collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let zram = ZramDevice::new(16 << 20);
    let mut devices: Vec<&Queue> = loops.iter().map(|device| &**device).collect();
    devices.extend(zram.as_deref());
    let rounds = std::env::var("IODYNO_KILL_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(30_u64);
    let state = tempfile::tempdir().unwrap();
    let look = || devices.iter().map(|device| device.read_settings()).collect::<Vec<_>>();
    let tags = || devices.iter().map(|device| device.tags()).collect::<Vec<_>>();
    // Moments are spread over the life of a process, however long that is today.
    let life = || {
        let started = SystemTime::now();
        let set = iodyno(state.path(), &["tune", "set", &devices[0].name, "nomerges=2", "rq_affinity=2"]);
        let life = started.elapsed().unwrap().as_micros();
        assert!(set.status.success());
        assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
        u64::try_from(life).unwrap()
    };
    // The shortest of three: the machine may have stopped during one.
    let life = (0..3).map(|_| life()).min().unwrap();
    let (before, tags_before) = (look(), tags());
    let journal = || fs::metadata(state.path().join("journal.jsonl")).map_or(0, |file| file.len());
    let (mut interrupted, mut changed) = (0, 0);
    // A machine may be so fast or so slow that no kill hits a process in its writes: then there are more rounds.
    for round in 0..10 * rounds {
        if round >= rounds && interrupted > 0 && changed > 0 {
            break;
        }
        let (mut dice, begins) = (Dice(round), journal());
        let mut children: Vec<_> = devices
            .iter()
            .enumerate()
            .flat_map(|(index, device)| [(index, device)].repeat(if index == 0 { 2 } else { 1 }))
            .map(|(index, device)| {
                let offered = |setting: &str| before[index].contains_key(setting);
                let mut args = vec!["tune".to_owned(), "set".to_owned(), device.name.clone()];
                for (setting, values) in VALUES.iter().filter(|(setting, _)| offered(setting)) {
                    if dice.below(2) == 0 {
                        args.push(format!("{setting}={}", values[dice.below(3) as usize]));
                    }
                }
                args.push(format!("read_ahead_kb={}", 4 * dice.below(1000)));
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                command(state.path(), &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
            })
            .collect();
        if dice.below(2) == 0 {
            std::thread::sleep(Duration::from_micros(dice.below(life * 4)));
        } else {
            // By the journal a process is about to write.
            let is_running = |child: &mut std::process::Child| child.try_wait().unwrap().is_none();
            while journal() == begins && children.iter_mut().any(is_running) {
                std::thread::sleep(Duration::from_micros(100));
            }
            std::thread::sleep(Duration::from_micros(dice.below(life)));
        }
        for child in &mut children {
            interrupted += usize::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
        }
        for mut child in children {
            child.wait().unwrap();
        }
        changed += usize::from(look() != before);
        let output = iodyno(state.path(), &["tune", "undo", "--all"]);
        assert!(output.status.success(), "round {round}: {}", text(&output));
        assert_eq!(
            (look(), tags()),
            (before.clone(), tags_before.clone()),
            "round {round}: {}",
            text(&output)
        );
    }
    println!("{rounds} rounds: {interrupted} processes killed, {changed} rounds left something changed");
    assert!(interrupted > 0 && changed > 0, "no round was interrupted; the test watched nothing");
}

#[test]
fn two_at_once_keep_the_journal_whole() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before: BTreeMap<_, _> = device.read_settings();
    let children: Vec<_> = (0..8)
        .map(|n| {
            let (setting, value) = CHANGES[[1, 4, 5, 6][n % 4]];
            let change = format!("{setting}={value}");
            command(state.path(), &["tune", "set", &device.name, &change])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        child.wait().unwrap();
    }
    let journal = iodyno(state.path(), &["tune", "journal", "--json"]);
    let journal: serde_json::Value = serde_json::from_slice(&journal.stdout).unwrap();
    let opened =
        journal["records"].as_array().unwrap().iter().filter(|record| record["event"] == "open").count();
    // One that waited for its turn may find the value there already, and opens none.
    assert!((2..=8).contains(&opened), "{opened} sessions");
    let output = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(device.read_settings(), before);
}
