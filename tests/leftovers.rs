//! What iodyno leaves changed when it is killed, while it runs, and when values change behind its back.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the stranger who writes settings behind iodyno's back"
)]

#[path = "common/loop_device.rs"]
mod loop_device;
#[path = "common/program.rs"]
mod program;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use iodyno::{
    model::DriveName,
    runtime::startup,
    source::origin::Origin,
    tune::{
        Device, Live, Outcome, Tuner, Wanted,
        change_log::ChangeLog,
        journal::{Journal, Purpose, parse},
        settings::find,
        tuner::planned,
        undo::Which,
    },
};
use loop_device::{LoopDevice, Queue};
use program::{iodyno, text};

#[test]
fn a_value_of_another_program_is_an_unsuccessful_undo_once() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let undo = |args: &[&str]| {
        let output = iodyno(state.path(), &[&["tune", "undo"], args].concat());
        (output.status.code(), text(&output))
    };
    let set = |value: &str| {
        let set = iodyno(state.path(), &["tune", "set", &device.name, &format!("nomerges={value}")]);
        assert!(set.status.success(), "{}", text(&set));
    };
    for scope in ["--all", &device.name] {
        set("2");
        // An undo without a record may have been before it.
        device.write("nomerges", "1");
        for status in [1, 0, 0] {
            let (code, said) = undo(&[scope]);
            assert_eq!(code, Some(status), "{said}");
            let what = match status {
                1 => "nomerges: changed to 1 by another program; not restored",
                _ => "nomerges: is 1; an earlier undo left it to another program",
            };
            assert!(said.contains(what), "{said}");
        }
        // A change begins anew, and finds 1.
        set("2");
        device.write("nomerges", "0");
        assert_eq!(undo(&[scope]).0, Some(1));
        // Another program's, though iodyno had set it.
        device.write("nomerges", "2");
        let (code, said) = undo(&[scope]);
        assert!(code == Some(0) && said.contains("nomerges: is 2; an earlier undo left it"), "{said}");
        assert_eq!(device.setting("nomerges").as_deref(), Some("2"));
        let (code, said) = undo(&[scope, "--force"]);
        assert!(code == Some(0) && said.contains("nomerges: restored to 1"), "{said}");
        device.write("nomerges", "0");
    }
}

#[test]
fn what_a_screen_changed_is_named_by_others_while_it_runs_and_after_it_was_killed() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let (machine, _) = iodyno::source::read_machine(&*Origin::Live.open().unwrap());
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let (journal, before) = (Journal::new(state.path()), device.setting("read_ahead_kb"));
    let tuner = Tuner::open(&journal, Live, Purpose::Screen, boot.trim(), || 1).unwrap();
    let (row, name) = (find("read_ahead_kb").unwrap(), Device::Drive(DriveName::new(&device.name)));
    for change in planned(&machine, &name, row, "64").unwrap() {
        assert_eq!(tuner.apply(&machine, &change).unwrap(), Outcome::Accepted);
    }
    let running = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert_eq!(running.status.code(), Some(1), "what was asked for was not done");
    let running = text(&running);
    assert!(running.contains("read_ahead_kb changed by an iodyno still running"), "{running}");
    assert!(!running.contains("nothing stands changed"), "{running}");
    assert!(!text(&iodyno(state.path(), &["check"])).contains("was killed"));
    // Its lock goes with it, and no record says that it ended.
    drop(tuner);
    let left = text(&iodyno(state.path(), &["check"]));
    assert!(
        left.contains("iodyno was killed, or could not record its end, and left settings changed"),
        "{left}"
    );
    assert_eq!(device.setting("read_ahead_kb").as_deref(), Some("64"));
    assert!(iodyno(state.path(), &["tune", "undo"]).status.success(), "as the line says");
    assert_eq!(device.setting("read_ahead_kb"), before);
}

/// Not a test by itself: `killed_experiment` runs it in a process of its own.
#[test]
#[ignore = "is run by another test, which kills it"]
fn hold_settings_until_killed() {
    let Some(drive) = std::env::var_os("IODYNO_HOLD") else { return };
    let drive = Device::Drive(DriveName::new(drive.to_str().unwrap()));
    let service = startup::settings(&Origin::Live, &Origin::Live.open().unwrap()).unwrap();
    let guard = service.guard().unwrap();
    let wanted = |id, value| Wanted::new(drive.clone(), find(id).unwrap(), value);
    guard.set(&[wanted("scheduler", "mq-deadline"), wanted("read_ahead_kb", "512")]).unwrap();
    println!("held");
    std::thread::sleep(Duration::from_mins(10));
}

/// Settings of a device that an experiment changed before it was killed.
fn killed_experiment(device: &Queue, state: &Path) {
    let mut holder = Command::new(std::env::current_exe().unwrap());
    holder.args(["--exact", "hold_settings_until_killed", "--ignored", "--nocapture"]);
    holder.env("IODYNO_HOLD", &device.name).env("IODYNO_STATE_DIR", state);
    let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(said.map_while(Result::ok).any(|line| line.contains("held")), "it never held");
    assert_eq!(device.setting("scheduler").as_deref(), Some("mq-deadline"));
    let living = iodyno(state, &["tune", "set", &device.name, "nomerges=0"]);
    assert_eq!(device.setting("read_ahead_kb").as_deref(), Some("512"), "a living one's settings stay");
    assert!(living.status.success(), "{}", text(&living));
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn an_experiment_that_was_killed_is_undone_by_the_next_change_without_asking() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let before = device.read_settings();
    let state = tempfile::tempdir().unwrap();
    killed_experiment(&device, state.path());
    let dry = iodyno(state.path(), &["tune", "set", &device.name, "nomerges=0", "--dry-run"]);
    assert!(dry.status.success());
    assert_eq!(device.setting("scheduler").as_deref(), Some("mq-deadline"), "a dry run writes nothing");
    let start: &[&str] = &["tune", "set", &device.name, "nomerges=0"];
    let output = iodyno(state.path(), start);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("an earlier iodyno ended before it restored settings")
            && said.contains("scheduler: restored to none"),
        "{said}"
    );
    assert_eq!(device.read_settings(), before);
    let again = iodyno(state.path(), start);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("earlier"), "put back once");
}

#[test]
fn commands_that_only_read_name_what_a_killed_experiment_left_and_leave_it() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    killed_experiment(&device, state.path());
    let left = device.read_settings();
    let path = device.device();
    let commands: [&[&str]; 9] = [
        &["tree"],
        &["check", "--json"],
        &["drives"],
        &["sheet"],
        &["metrics"],
        &["tune", "list"],
        &["tune", "export", "udev"],
        &["tune", "undo", "--dry-run"],
        &["bench", "--filename", path.to_str().unwrap(), "--runtime", "1"],
    ];
    for command in commands {
        let output = iodyno(state.path(), command);
        assert!(output.status.success(), "{command:?}: {}", text(&output));
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().find(|line| line.contains("killed")).unwrap_or_default();
        let leftover = format!("{} scheduler (was none)", device.name);
        assert!(line.contains(&leftover) && line.contains("`iodyno tune undo`"), "{command:?}: {said}");
        assert_eq!(device.read_settings(), left, "{command:?} changed something");
    }
    assert!(iodyno(state.path(), &["tune", "undo"]).status.success());
    assert_eq!(device.read_settings(), before);
}

#[test]
fn an_undo_goes_back_to_what_the_last_change_found_not_to_what_an_undone_one_did() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let done = |args: &[&str]| assert!(iodyno(state.path(), args).status.success(), "{args:?}");
    done(&["tune", "set", &device.name, "read_ahead_kb=512"]);
    done(&["tune", "undo", "--all"]);
    device.write("read_ahead_kb", "776");
    done(&["tune", "set", &device.name, "read_ahead_kb=64"]);
    done(&["tune", "undo", "--all"]);
    assert_eq!(device.setting("read_ahead_kb").as_deref(), Some("776"));
}

#[test]
fn two_killed_sessions_whose_clock_went_back_are_undone_in_the_order_they_wrote() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=1"]).status.success());
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    // As two that were killed leave it, the second with an earlier clock.
    let journal = state.path().join("journal.jsonl");
    let records = fs::read_to_string(&journal).unwrap();
    let parse = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let sessions: Vec<String> = records
        .lines()
        .map(parse)
        .filter(|record| record["event"] == "open")
        .map(|record| record["session"].as_str().unwrap().to_owned())
        .collect();
    let open: String = records
        .lines()
        .filter(|line| !["keep", "close"].contains(&parse(line)["event"].as_str().unwrap()))
        .map(|line| line.replace(&sessions[0], "19f-1-0").replace(&sessions[1], "18a-2-0") + "\n")
        .collect();
    fs::write(&journal, open).unwrap();
    let undone = iodyno(state.path(), &["tune", "undo"]);
    assert!(text(&undone).contains("nomerges: restored to 0"), "{}", text(&undone));
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
}

#[test]
fn a_program_that_writes_the_old_value_back_is_not_taken_for_the_kernel() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let found = device.setting("read_ahead_kb").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let told = format!("changed by another program to {found}");
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                device.write("read_ahead_kb", &found);
            }
        });
        // On a busy machine the other program may not run while iodyno looks.
        let seen = (0..50).any(|_| {
            let said = text(&iodyno(state.path(), &["tune", "set", &device.name, "read_ahead_kb=512"]));
            assert!(!said.contains("the kernel"), "{said}");
            said.contains(&told)
        });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        seen
    });
    assert!(seen, "never said: {told}");
    device.write("read_ahead_kb", &found);
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
    assert_eq!(device.setting("read_ahead_kb"), Some(found));
}

/// A session of the screen in this process, which has set `scheduler` of the device.
fn screen_with_scheduler(device: &Queue, state: &Path) -> (Tuner<'static>, String) {
    let (machine, _) = iodyno::source::read_machine(&*Origin::Live.open().unwrap());
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned();
    let tuner = Tuner::open(&Journal::new(state), Live, Purpose::Screen, &boot, || 1).unwrap();
    let (row, name) = (find("scheduler").unwrap(), Device::Drive(DriveName::new(&device.name)));
    for change in planned(&machine, &name, row, "mq-deadline").unwrap() {
        assert_eq!(tuner.apply(&machine, &change).unwrap(), Outcome::Accepted);
    }
    (tuner, boot)
}

#[test]
fn a_value_that_another_iodyno_holds_is_kept_by_a_set_of_the_same() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let set = || iodyno(state.path(), &["tune", "set", &device.name, "scheduler=mq-deadline"]);
    for is_running in [true, false] {
        let (tuner, boot) = screen_with_scheduler(&device, state.path());
        let changed = device.read_settings();
        let running = Some(tuner).filter(|_| is_running);
        let kept = set();
        assert!(kept.status.success(), "{}", text(&kept));
        let says = if is_running {
            "scheduler: already mq-deadline, set by an iodyno still running; it stays when that one ends\n"
        } else {
            "scheduler: already mq-deadline, set by an earlier iodyno and now kept\n"
        };
        assert!(text(&kept).contains(says), "{}", text(&kept));
        if let Some(tuner) = running {
            let (machine, _) = iodyno::source::read_machine(&*Origin::Live.open().unwrap());
            let records = Journal::new(state.path()).contents().unwrap().records;
            let own = [tuner.session()];
            tuner.undo(&machine, &ChangeLog::of(&records, &boot), &Which::Sessions(&own), false).unwrap();
        } else {
            assert!(iodyno(state.path(), &["tune", "undo"]).status.success());
        }
        assert_eq!(device.read_settings(), changed, "it stays, with what changed along");
        assert!(text(&set()).contains("scheduler: already mq-deadline\n"), "once is enough");
        assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
        assert_eq!(device.read_settings(), before);
    }
}

#[test]
fn what_an_undo_left_to_another_program_is_restored_by_force() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "rq_affinity=2"]).status.success());
    let before = device.read_settings();
    killed_experiment(&device, state.path());
    device.write("read_ahead_kb", "776");
    let left = iodyno(state.path(), &["tune", "undo"]);
    let remedy = format!("`iodyno tune undo --force` sets {}", before["read_ahead_kb"]);
    assert_eq!(left.status.code(), Some(1), "{}", text(&left));
    assert!(text(&left).contains("read_ahead_kb: changed to 776 by another program; not restored"));
    assert!(text(&left).contains(&remedy), "{}", text(&left));
    let again = iodyno(state.path(), &["tune", "undo"]);
    assert!(text(&again).contains(&remedy), "{}", text(&again));
    let dry = iodyno(state.path(), &["tune", "undo", "--force", "--dry-run"]);
    assert!(text(&dry).contains("read_ahead_kb'") && !text(&dry).contains("rq_affinity"), "{}", text(&dry));
    let forced = iodyno(state.path(), &["tune", "undo", "--force"]);
    assert!(forced.status.success(), "{}", text(&forced));
    assert_eq!(device.read_settings(), before, "a kept value stays");
    let nothing = iodyno(state.path(), &["tune", "undo", "--force"]);
    assert_eq!(text(&nothing), "only kept changes remain; --all undoes them\n");
}

#[test]
fn a_detached_device_is_undone_by_its_name_and_dry_runs_say_the_same() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    let undo = |args: &[&str]| iodyno(state.path(), &[&["tune", "undo"], args].concat());
    let says = format!(
        "{} nomerges: not restored to 0: the device holds nothing now and keeps its settings; attach something, \
         then undo",
        device.name
    );
    device.attach_another(8 << 20, || {
        for (args, status) in [
            (&["--all", "--dry-run"][..], 0),
            (&["--all"], 1),
            (&[&device.name, "--dry-run"], 0),
            (&[&device.name], 1),
            (&[&format!("/dev/{}", device.name)], 1),
        ] {
            let output = undo(args);
            assert_eq!(output.status.code(), Some(status), "{args:?}: {}", text(&output));
            assert!(text(&output).contains(&says), "{args:?}: {}", text(&output));
        }
    });
    assert!(undo(&[&device.name]).status.success());
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
    let again = text(&undo(&[&device.name]));
    assert_eq!(again, format!("{}: no settings changed since boot\n", device.name));
}

#[test]
fn an_end_that_was_no_kill_is_not_called_one() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let check = || text(&iodyno(state.path(), &["check"]));
    screen_with_scheduler(&device, state.path()).0.close().unwrap();
    let said = check();
    assert!(said.contains("iodyno ended and left settings changed: "), "{said}");
    assert!(iodyno(state.path(), &["tune", "undo"]).status.success());
    let journal = state.path().join("journal.jsonl");
    let length = || usize::try_from(fs::metadata(&journal).unwrap().len()).unwrap();
    let begin = length();
    let set = ["tune", "set", &device.name, "nomerges=2"];
    assert!(iodyno(state.path(), &set).status.success());
    let records = fs::read_to_string(&journal).unwrap();
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
    // A file that may not grow takes the beginning of the session and the change, and no outcome.
    let room = length() + records[begin..].split_inclusive('\n').take(2).map(str::len).sum::<usize>() + 50;
    let set = format!("exec prlimit --fsize={room} \"$0\" {}", set.join(" "));
    let output = Command::new("sh")
        .args(["-c", &set, env!("CARGO_BIN_EXE_iodyno")])
        .env("IODYNO_STATE_DIR", state.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert_eq!(device.setting("nomerges").as_deref(), Some("2"), "{}", text(&output));
    let said = check();
    let says = format!(
        "`iodyno tune set` ended before its changes were kept: {} nomerges (was 0); `iodyno tune undo` undoes them",
        device.name
    );
    assert!(said.contains(&says) && !said.contains("killed"), "{said}");
    assert!(iodyno(state.path(), &["tune", "undo"]).status.success());
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
}

#[test]
fn a_set_that_failed_half_way_is_not_kept_and_says_what_is_set() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let (before, tags) = (device.read_settings(), device.tags());
    let set = ["tune", "set", &device.name, "nr_requests=64", "scheduler=mq-deadline"];
    let journal = state.path().join("journal.jsonl");
    let read = || fs::read_to_string(&journal).unwrap_or_default();
    let remedy = "`iodyno tune undo` restores it";
    let unrecorded = "but the journal could not record it (File too large (os error 27))";
    let scheduler = format!("mq-deadline was written (accepted), {unrecorded}, nr_requests not set; ");
    let between =
        format!("File too large (os error 27), scheduler set before ({remedy}), nr_requests not set; ");
    let requests = format!("64 was written (accepted), {unrecorded}, scheduler set before ({remedy}); ");
    // The records that the journal takes: the beginning of the session; the first change, the tunables after it, its result; the
    // tunables before the second one, that change, the tunables after it.
    for (records, says) in
        [(2, &scheduler), (3, &scheduler), (4, &between), (5, &between), (6, &requests), (7, &requests)]
    {
        let begin = read().len();
        assert!(iodyno(state.path(), &set).status.success());
        let lengths: Vec<usize> = read()[begin..].split_inclusive('\n').map(str::len).collect();
        assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
        // A shorter record that follows has room where this one has not.
        let room = read().len() + lengths[..=records].iter().sum::<usize>() - 9;
        let output = Command::new("prlimit")
            .arg(format!("--fsize={room}"))
            .arg(env!("CARGO_BIN_EXE_iodyno"))
            .args(set)
            .env("IODYNO_STATE_DIR", state.path())
            .output()
            .unwrap();
        let said = text(&output);
        assert!(output.status.code() == Some(2) && said.contains(says.as_str()), "{records}: {said}");
        assert_ne!(device.read_settings(), before, "{records}");
        let undone = iodyno(state.path(), &["tune", "undo"]);
        assert!(undone.status.success(), "{records}: {}", text(&undone));
        assert_eq!((device.read_settings(), device.tags()), (before.clone(), tags), "{records}");
    }
}

#[test]
fn a_number_that_a_restored_scheduler_resets_is_reported_as_it_is() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let set = ["tune", "set", &device.name, "scheduler=kyber", "nr_requests=77"];
    if !iodyno(state.path(), &set).status.success() {
        loop_device::skip::skipped("this kernel has no kyber");
        return;
    }
    device.write("scheduler", "mq-deadline");
    device.write("nr_requests", "33");
    assert_eq!(iodyno(state.path(), &["tune", "undo", "--all"]).status.code(), Some(1));
    device.write("scheduler", "kyber");
    let undone = iodyno(state.path(), &["tune", "undo", "--all", "--force"]);
    assert!(undone.status.success() && !text(&undone).contains("256"), "{}", text(&undone));
    assert_eq!(device.read_settings(), before);
}

#[test]
fn requests_of_another_program_that_go_with_their_scheduler_are_named() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "scheduler=mq-deadline"]).status.success());
    // More than the driver has tags, and not what a scheduler begins with.
    let tags = &before["nr_requests"];
    let theirs = (tags.parse::<u32>().unwrap() + 72).to_string();
    device.write("nr_requests", &theirs);
    let undone = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert_eq!(undone.status.code(), Some(1), "{}", text(&undone));
    let says = format!(
        "{} nr_requests: is {tags} now; another program's value {theirs} was not kept (it belonged to \
         the scheduler mq-deadline)\n",
        device.name
    );
    assert!(text(&undone).contains(&says), "{}", text(&undone));
    assert_eq!(device.read_settings(), before);
    let again = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert_eq!(text(&again), "no settings changed since boot\n");
}

/// The short form of `tests/trials/kills`, whose 300 rounds `.ci/long` runs.
#[test]
fn kills_and_hang_ups_leave_no_setting_that_is_not_offered() {
    if !rustix::process::geteuid().is_root() {
        loop_device::skip::skipped("loop devices need root");
        return;
    }
    let trial = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trials/kills");
    let arguments = ["--rounds", "10", "--seed", "7", "--iodyno", env!("CARGO_BIN_EXE_iodyno")];
    match Command::new(trial).args(arguments).output() {
        Ok(output) => {
            let said = text(&output);
            assert!(output.status.success() && said.contains(", 0 lost"), "{said}");
        }
        Err(error) => loop_device::skip::skipped(format_args!("no python3 for {trial}: {error}")),
    }
}

#[test]
fn a_long_journal_is_shortened_and_dead_sessions_leave_no_files() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let set = |change: &str| iodyno(state.path(), &["tune", "set", &device.name, change]);
    assert!(set("nomerges=2").status.success());
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
    let path = state.path().join("journal.jsonl");
    let there_and_back = fs::read(&path).unwrap();
    fs::write(&path, there_and_back.repeat((400 << 10) / there_and_back.len())).unwrap();
    fs::write(state.path().join("sessions/1-dead-0"), "").unwrap();
    assert!(set("rq_affinity=2").status.success());
    let length = fs::metadata(&path).unwrap().len();
    assert!(length < 4096, "{length} bytes are left");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(state.path().join("sessions")).unwrap().count(), 0);
    let undone = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(undone.status.success(), "{}", text(&undone));
    assert_eq!(device.setting("rq_affinity").as_deref(), Some("1"));
}

#[test]
fn a_journal_of_a_setting_that_is_set_again_and_again_is_shortened() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let set = |change: &str| {
        assert!(iodyno(state.path(), &["tune", "set", &device.name, change]).status.success());
    };
    let path = state.path().join("journal.jsonl");
    set("nomerges=2");
    let mut journal = fs::read_to_string(&path).unwrap();
    set("nomerges=1");
    set("nomerges=2");
    let again = fs::read_to_string(&path).unwrap().split_off(journal.len());
    let sessions: BTreeSet<String> =
        parse(again.as_bytes()).records.into_iter().map(|record| record.session).collect();
    for number in 0..(400 << 10) / again.len() {
        let anew =
            |text: String, (place, id): (usize, &str)| text.replace(id, &format!("{number:x}-{place:x}-0"));
        journal += &sessions.iter().map(String::as_str).enumerate().fold(again.clone(), anew);
    }
    fs::write(&path, journal).unwrap();
    set("nomerges=1");
    let length = fs::metadata(&path).unwrap().len();
    assert!(length < 8192, "{length} bytes are left");
    let undone = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(undone.status.success(), "{}", text(&undone));
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
}
