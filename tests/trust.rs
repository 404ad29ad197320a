//! What the state folder may make root do: nothing that its own user did not write, and no file that is no setting.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the one who plants a journal"
)]

#[path = "common/loop_device.rs"]
mod loop_device;
#[path = "common/records.rs"]
mod records;

use std::{
    fs::{self, File, Permissions},
    io::{Read, Seek},
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use iodyno::tune::{
    device::Identity,
    journal::{Event, Purpose},
};
use loop_device::LoopDevice;
use records::{change, named, record};

/// Runs it, and ends the test if it hangs. Its output goes to files: a pipe holds 64 KiB.
fn run(mut command: Command) -> Output {
    let [mut stdout, mut stderr] = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
    let copy = |file: &File| Stdio::from(file.try_clone().unwrap());
    let mut child = command.stdin(Stdio::null()).stdout(copy(&stdout)).stderr(copy(&stderr)).spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_mins(5) {
            child.kill().unwrap();
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let read = |file: &mut File| {
        let mut content = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut content).unwrap();
        content
    };
    Output { status, stdout: read(&mut stdout), stderr: read(&mut stderr) }
}

fn iodyno(state: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.env("IODYNO_STATE_DIR", state).args(args);
    run(command)
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A journal that an experiment seems to have left when it was killed.
fn plant(state: &Path, session: &str, changes: Vec<Event>) {
    fs::set_permissions(state, Permissions::from_mode(0o700)).unwrap();
    let open = Event::Open { purpose: Purpose::Experiment, pid: 1 };
    let lines: String = std::iter::once(open)
        .chain(changes)
        .map(|event| serde_json::to_string(&record(session, event)).unwrap() + "\n")
        .collect();
    let path = state.join("journal.jsonl");
    fs::write(&path, lines).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: only root writes settings and gives files away");
    }
    root
}

#[test]
fn files_that_are_no_settings_are_neither_written_nor_shown() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    fs::create_dir(&state).unwrap();
    let mut secrets = Vec::new();
    let mut changes = Vec::new();
    for setting in ["nomerges", "driver", "poll_queues", "governor", "write_cache", "\u{1b}[2J"] {
        for name in [&*device.name, "cpu", "0000:00:00.0", "gone0"] {
            let secret = folder.path().join(format!("secret{}", secrets.len()));
            fs::write(&secret, "hunter2\n").unwrap();
            changes.push(change(named(name), setting, secret.to_str().unwrap(), "1", "2"));
            secrets.push(secret);
        }
    }
    let function = "/sys/bus/pci/devices/0000:00:00.0/driver";
    for (setting, file, old) in [
        ("nomerges", "/sys/module/loop/parameters/max_loop", "1"),
        ("nomerges", "/sys/block/../block/x/queue/nomerges", "1"),
        ("read_ahead_kb", "/sys/kernel/uevent_helper", "4"),
        ("driver", function, "../../../../tmp/x"),
    ] {
        changes.push(change(named(&device.name), setting, file, old, "2"));
    }
    plant(&state, "1-1-1", changes);
    let before = device.read_settings();
    for args in [
        &["tune", "undo", "--all", "--dry-run"][..],
        &["tune", "export", "udev"],
        &["tune", "export", "kernel-args"],
        &["tune", "list", &device.name],
        &["tune", "undo", "--all"],
        &["tune", "undo", "--all", "--force"],
        &["tune", "set", &device.name, "nomerges=0"],
    ] {
        let said = text(&iodyno(&state, args));
        assert!(
            !said.contains("hunter2") && !said.contains('\u{1b}') && !said.contains("tee "),
            "{args:?}: {said}"
        );
    }
    for secret in secrets {
        assert_eq!(fs::read_to_string(secret).unwrap(), "hunter2\n");
    }
    assert_eq!(device.read_settings(), before);
}

#[test]
fn a_value_that_the_setting_does_not_take_is_refused() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    let path = state.path().join("journal.jsonl");
    let journal = fs::read_to_string(&path).unwrap();
    fs::write(&path, journal.replace("\"old\":\"0\"", "\"old\":\"7\"")).unwrap();
    let undone = iodyno(state.path(), &["tune", "undo", "--all", "--force"]);
    assert_eq!(undone.status.code(), Some(1));
    let said = text(&undone);
    assert!(
        said.contains("nomerges: not restored: takes a whole number from 0 to 2; 7 was not written"),
        "{said}"
    );
    assert_eq!(device.setting("nomerges").as_deref(), Some("2"));
}

#[test]
fn a_record_that_names_one_drive_and_the_folder_of_another_is_refused() {
    let (Some(one), Some(other)) = (LoopDevice::new(16 << 20), LoopDevice::new(16 << 20)) else { return };
    let state = tempfile::tempdir().unwrap();
    let folder = format!("/sys/devices/virtual/block/{}", other.name);
    let device = Identity { path: Some(folder.clone()), ..named(&one.name) };
    plant(
        state.path(),
        "1-1-1",
        vec![change(device, "nomerges", &format!("{folder}/queue/nomerges"), "2", "0")],
    );
    let undone = iodyno(state.path(), &["tune", "undo", "--all", "--force"]);
    let said = text(&undone);
    assert_eq!(undone.status.code(), Some(1), "{said}");
    let refused = format!("not restored: the journal names {} and the folder of {}", one.name, other.name);
    assert!(said.contains(&refused), "{said}");
    assert_eq!([&one, &other].map(|device| device.setting("nomerges").unwrap()), ["0", "0"]);
}

#[test]
fn a_session_name_is_no_path_and_pipes_and_links_are_refused_at_once() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    fs::create_dir_all(state.join("sessions")).unwrap();
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    pipe(&folder.path().join("pipe"));
    let queue = format!("/sys/block/{}/queue/nomerges", device.name);
    for session in ["../../pipe", "../pipe", "", "/etc/passwd"] {
        plant(&state, session, vec![change(named(&device.name), "nomerges", &queue, "1", "0")]);
        iodyno(&state, &["tune", "list"]);
        iodyno(&state, &["tune", "undo", "--all", "--dry-run"]);
    }
    let journal = state.join("journal.jsonl");
    let refused = |why: &str| {
        let undone = iodyno(&state, &["tune", "undo", "--all"]);
        let said = text(&undone);
        assert!(undone.status.code() == Some(2) && said.contains(why) && said.contains("; "), "{said}");
        assert!(iodyno(&state, &["tune", "list", &device.name]).status.success());
    };
    fs::remove_file(&journal).unwrap();
    pipe(&journal);
    refused("journal.jsonl: is not a regular file");
    fs::remove_file(&journal).unwrap();
    symlink("/etc/passwd", &journal).unwrap();
    refused("journal.jsonl: is a symbolic link");
    let alias = folder.path().join("alias");
    symlink(&state, &alias).unwrap();
    let said = text(&iodyno(&alias, &["tune", "undo", "--all"]));
    assert!(said.contains("alias: is a symbolic link"), "{said}");
}

#[test]
fn a_folder_or_journal_of_another_user_makes_root_write_nothing() {
    if !is_root() {
        return;
    }
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    fs::create_dir(&state).unwrap();
    assert!(iodyno(&state, &["tune", "set", &device.name, "nomerges=2"]).status.success());
    let journal = state.join("journal.jsonl");
    let text_before = fs::read_to_string(&journal).unwrap();
    // As a killed experiment leaves it.
    let left: String = text_before
        .replace("\"command\"", "\"experiment\"")
        .lines()
        .filter(|line| !line.contains("\"keep\"") && !line.contains("\"close\""))
        .map(|line| line.to_owned() + "\n")
        .collect();
    fs::write(&journal, left).unwrap();
    let file = device.device();
    let plain: &[&str] = &["bench", "--filename", file.to_str().unwrap(), "--runtime", "1"];
    for (path, lax) in [(&journal, None), (&state, None), (&journal, Some(0o666))] {
        let mode = fs::metadata(path).unwrap().permissions();
        match lax {
            None => chown(path, Some(65_534), None).unwrap(),
            Some(lax) => fs::set_permissions(path, Permissions::from_mode(lax)).unwrap(),
        }
        for args in
            [&["tune", "undo"][..], &["tune", "undo", "--all"], &["tune", "set", &device.name, "iostats=0"]]
        {
            let refused = iodyno(&state, args);
            assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", text(&refused));
            let said = String::from_utf8_lossy(&refused.stderr);
            let why = if lax.is_some() { "other users can write to it" } else { "belongs to user 65534" };
            assert!(said.contains(path.to_str().unwrap()) && said.contains(why), "{said}");
            assert_eq!(device.setting("nomerges").as_deref(), Some("2"), "{args:?}");
            assert_eq!(device.setting("iostats").as_deref(), Some("1"), "{args:?}");
        }
        for args in [plain, &["sheet"], &["tree"], &["drives"], &["check"], &["metrics"], &["tune", "list"]] {
            let output = iodyno(&state, args);
            assert!(output.status.success(), "{args:?}: {}", text(&output));
            assert!(!output.stderr.is_empty(), "{args:?} says nothing of it");
        }
        chown(path, Some(0), None).unwrap();
        fs::set_permissions(path, mode).unwrap();
    }
    assert!(iodyno(&state, &["tune", "undo"]).status.success());
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
}

#[test]
fn files_are_private_whatever_the_umask_was() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("new/state");
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_iodyno")]);
    command.args(["tune", "set", &device.name, "nomerges=2"]).env("IODYNO_STATE_DIR", &state);
    assert!(run(command).status.success());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let modes = || {
        [
            mode(&state),
            mode(&state.join("sessions")),
            mode(&state.join("journal.jsonl")),
            mode(&state.join("turn")),
        ]
    };
    assert_eq!(modes(), [0o700, 0o700, 0o600, 0o600]);
    for (name, lax) in [("", 0o755), ("sessions", 0o750), ("journal.jsonl", 0o644), ("turn", 0o640)] {
        fs::set_permissions(state.join(name), Permissions::from_mode(lax)).unwrap();
    }
    assert!(iodyno(&state, &["tune", "undo", "--all"]).status.success());
    assert_eq!(
        modes(),
        [0o755, 0o750, 0o600, 0o600],
        "folders keep their modes, which may be another's matter"
    );
}

#[test]
fn under_sudo_another_user_s_folder_is_not_taken() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    fs::create_dir(&state).unwrap();
    chown(&state, Some(65_534), None).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.env("IODYNO_STATE_DIR", &state).env("SUDO_UID", "65534").args(["tune", "journal"]);
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.starts_with("/var/lib/iodyno/journal.jsonl\n"),
        "{}",
        text(&output)
    );
    let noted = String::from_utf8_lossy(&output.stderr);
    assert!(
        noted.starts_with("iodyno: IODYNO_STATE_DIR: ") && noted.contains("belongs to user 65534"),
        "{noted}"
    );
}

#[test]
fn a_damaged_line_costs_itself_and_is_named() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    let path = state.path().join("journal.jsonl");
    let mut lines = fs::read(&path).unwrap();
    lines.splice(0..0, *b"{\"time\": 1, \"nonsense\"}\n\xff\xfe}\n");
    fs::write(&path, lines).unwrap();
    let file = state.path().join("plain");
    fs::write(&file, vec![0; 1 << 20]).unwrap();
    let bench = ["bench", "--filename", file.to_str().unwrap(), "--direct=0", "--runtime", "1"];
    for args in
        [&bench[..], &["sheet"], &["tree"], &["tune", "list", &device.name], &["tune", "undo", "--all"]]
    {
        let output = iodyno(state.path(), args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {}", text(&output));
        for line in ["journal.jsonl: line 1 is damaged (", "journal.jsonl: line 2 is damaged ("] {
            assert_eq!(said.matches(line).count(), 1, "{args:?}: {said}");
        }
    }
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"), "the whole lines are undone");
}

#[test]
fn damaged_lines_are_no_proof_that_nothing_changed() {
    let state = tempfile::tempdir().unwrap();
    fs::write(state.path().join("journal.jsonl"), "nonsense\n".repeat(20)).unwrap();
    let out = |args: &[&str]| String::from_utf8(iodyno(state.path(), args).stdout).unwrap();
    let said = "no readable change since boot; 20 lines of the journal could not be read\n";
    assert_eq!(out(&["tune", "undo", "--all"]), said);
    assert_eq!(out(&["tune", "undo"]), said);
    for args in [&["tune", "undo", "--dry-run"][..], &["tune", "export", "udev"]] {
        assert_eq!(out(args), format!("# {said}"), "{args:?}");
    }
    let journal = out(&["tune", "journal"]);
    assert!(journal.ends_with("\n20 lines could not be read\n"), "{journal}");
}

#[test]
fn zeros_and_torn_lines_cost_themselves_and_are_named() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    let path = state.path().join("journal.jsonl");
    let lines = fs::read(&path).unwrap();
    // Zeros that a loss of power left, alone and before a record; the beginning of a record in the middle.
    let damaged = [b"\0\0\0\0\n{\"time\": 1, \"boot\": \"x\n\0\0", &lines[..]].concat();
    fs::write(&path, damaged).unwrap();
    for args in [&["tree"][..], &["tune", "list", &device.name], &["tune", "undo", "--all"]] {
        let output = iodyno(state.path(), args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {}", text(&output));
        for line in
            ["line 1 is damaged (zeros)", "line 2 is damaged (", "line 3 is damaged (zeros in the place"]
        {
            assert_eq!(said.matches(line).count(), 1, "{args:?}: {said}");
        }
        assert!(!said.contains("line 4"), "{said}");
    }
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"), "the record behind the zeros counts");
    // What a kill tore at the end is cut off by the next record.
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join("journal.jsonl");
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=1"]).status.success());
    let mut lines = fs::read(&path).unwrap();
    lines.extend(b"{\"time\":1,\"boot\":\"torn");
    fs::write(&path, lines).unwrap();
    let torn = "line 6 was not finished before a kill and is skipped; the next change removes it\n";
    for args in [&["tree"][..], &["tune", "undo", "--all"]] {
        let output = iodyno(state.path(), args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}", text(&output));
        assert!(said.ends_with(torn) && said.lines().count() == 1, "{args:?}: {said}");
    }
    let again = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(again.status.success() && again.stderr.is_empty(), "it is said once: {}", text(&again));
    assert!(!fs::read_to_string(&path).unwrap().contains("torn"));
}

#[test]
fn a_journal_with_another_name_is_refused() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    let journal = state.path().join("journal.jsonl");
    fs::hard_link(&journal, state.path().join("other")).unwrap();
    let refused = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(
        refused.status.code() == Some(2) && text(&refused).contains("journal.jsonl: has other names"),
        "{}",
        text(&refused)
    );
    assert!(iodyno(state.path(), &["tree"]).status.success());
    fs::remove_file(state.path().join("other")).unwrap();
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
}

/// Runs a script with a small file system of its own at `$STATE`, and `fill` to leave no page free on it.
fn on_a_small_disk(device: &str, script: &str) -> Option<String> {
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    let begin = "mount -t tmpfs -o size=256k,mode=700 none \"$STATE\" || exit 77\n\
                 export IODYNO_STATE_DIR=\"$STATE\"; cd \"$STATE\"\n\
                 fill() { dd if=/dev/zero of=fill bs=4096 2>/dev/null; true; }\n\
                 # The journal's last page has this many bytes left.\n\
                 pad() { size=$(stat -c %s journal.jsonl); n=$(( (4096 - (size + $1) % 4096) % 4096 ));\n\
                 head -c $n /dev/zero | tr '\\0' '\\n' >> journal.jsonl; }\n";
    command.args(["--mount", "sh", "-c", &format!("{begin}{script}")]);
    command.env("STATE", state.path()).env("IODYNO", env!("CARGO_BIN_EXE_iodyno")).env("DEVICE", device);
    let output = run(command);
    if output.status.code() == Some(77) {
        println!("skipped: no mount namespace for a small file system");
        return None;
    }
    Some(text(&output))
}

#[test]
fn on_a_full_disk_changes_are_refused_and_undone() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let script = "\
        $IODYNO tune set $DEVICE nomerges=2 >/dev/null || exit 1\n\
        pad 0; fill\n\
        $IODYNO tune set $DEVICE rq_affinity=2; echo set: $?\n\
        cat /sys/block/$DEVICE/queue/rq_affinity\n\
        $IODYNO tree >/dev/null; echo tree: $?\n\
        $IODYNO tune undo --all; echo undo: $?\n\
        cat /sys/block/$DEVICE/queue/nomerges\n\
        rm fill; $IODYNO tune undo --all; echo again: $?\n\
        $IODYNO tune undo --all; echo done: $?\n";
    let Some(said) = on_a_small_disk(&device.name, script) else { return };
    for line in [
        "journal.jsonl: No space left on device (os error 28); free some space there, or set IODYNO_STATE_DIR",
        "set: 2\n1\ntree: 0\n",
        "nomerges: restored to 0\nundo: 0\n0\n",
        "the undo is not recorded, so the next undo repeats it: ",
        "nomerges: already 0\nagain: 0\nno settings changed since boot\ndone: 0\n",
    ] {
        assert!(said.contains(line), "{line}\nin\n{said}");
    }
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
}

#[test]
fn an_undo_that_a_full_disk_left_out_of_the_journal_is_not_another_program_s() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    // The second change is one that was not kept.
    let script = "\
        $IODYNO tune set $DEVICE nomerges=1 >/dev/null; $IODYNO tune set $DEVICE nomerges=2 >/dev/null\n\
        head -n -2 journal.jsonl > short; cat short > journal.jsonl; rm short\n\
        pad 0; fill\n\
        $IODYNO tune undo --all 2>/dev/null; echo full: $?\n\
        rm fill; $IODYNO tune list $DEVICE | grep before; echo listed\n\
        $IODYNO tune undo; echo next: $?\n\
        $IODYNO tune undo; echo last: $?\n";
    let Some(said) = on_a_small_disk(&device.name, script) else { return };
    let name = &device.name;
    let says = format!(
        "{name} nomerges: restored to 0\nfull: 0\nlisted\n{name} nomerges: already 0\nnext: 0\n\
         no settings changed since boot\nlast: 0\n"
    );
    assert_eq!(said, says);
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
}

#[test]
fn a_value_whose_outcome_could_not_be_recorded_is_named_and_can_be_undone() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    // The records that there is room for: the session and the change, the outcome too.
    for (records, says) in [
        (
            2,
            "nomerges: 1 was written (accepted), but the journal could not record it (No space left on device",
        ),
        (
            3,
            "No space left on device (os error 28): the values are set, but not recorded as kept; free some space",
        ),
    ] {
        let script = format!(
            "$IODYNO tune set $DEVICE nomerges=2 >/dev/null; $IODYNO tune undo --all >/dev/null\n\
             room=$(head -n {records} journal.jsonl | wc -c)\n\
             pad $((room + 8)); fill\n\
             $IODYNO tune set $DEVICE nomerges=1 >/dev/null; echo set: $?\n\
             cat /sys/block/$DEVICE/queue/nomerges\n\
             $IODYNO tune undo; echo undo: $?\n\
             cat /sys/block/$DEVICE/queue/nomerges\n"
        );
        let Some(said) = on_a_small_disk(&device.name, &script) else { return };
        // The change is made and is not a success: a script that goes on knows.
        for line in [says, "set: 2\n1\n", "nomerges: restored to 0\nundo: 0\n0\n"] {
            assert!(said.contains(line), "{line}\nin\n{said}");
        }
        assert!(!said.contains("nothing was"), "{said}");
    }
}

#[test]
fn without_a_home_nothing_is_stored_in_tmp_and_a_relative_folder_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.env("IODYNO_STATE_DIR", "own/state").current_dir(folder.path()).args(["tune", "journal"]);
    let said = text(&run(command));
    assert!(said.contains(folder.path().join("own/state/journal.jsonl").to_str().unwrap()), "{said}");
    if !is_root() {
        return;
    }
    let program = folder.path().join("iodyno");
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_iodyno")).arg(&program).status().unwrap().success());
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let there = Path::new("/tmp/iodyno").exists();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=54321", "--regid=54321", "--clear-groups"]).arg(&program);
    command.args(["bench", "--direct=0", "--runtime", "1", "--filename"]).arg(&file);
    command.env_remove("HOME").env_remove("XDG_STATE_HOME").env_remove("IODYNO_STATE_DIR");
    let output = run(command);
    assert!(output.status.success(), "{}", text(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("as HOME is not set: set IODYNO_STATE_DIR"), "{said}");
    assert_eq!(Path::new("/tmp/iodyno").exists(), there);
}

#[test]
fn without_proc_nothing_is_changed_that_could_not_be_undone() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let without = |args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\""]);
        command.arg(env!("CARGO_BIN_EXE_iodyno")).args(args).env("IODYNO_STATE_DIR", state.path());
        run(command)
    };
    if !without(&["demos"]).status.success() {
        println!("skipped: no mount namespace to hide /proc in");
        return;
    }
    for args in [&["tune", "set", &device.name, "nomerges=2"][..], &["tune", "undo", "--all"]] {
        let output = without(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output));
        assert!(said.contains("boot_id: ") && said.contains("; mount /proc"), "{args:?}: {said}");
    }
    assert_eq!(device.setting("nomerges").as_deref(), Some("0"));
    assert!(without(&["tune", "list", &device.name]).status.success());
}

#[test]
fn a_read_only_sys_is_not_called_writable() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -o remount,bind,ro /sys && exec \"$0\" \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_iodyno")).args(["tune", "list", &device.name, "--json"]);
    let output = run({
        command.env("IODYNO_STATE_DIR", state.path());
        command
    });
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(&output.stdout) else {
        println!("skipped: /sys cannot be made read-only here: {}", text(&output));
        return;
    };
    for row in document["settings"].as_array().unwrap() {
        assert_eq!(row["writable"], false, "{row}");
        let why = row["why_not"].as_str().unwrap();
        assert!(row["value"].is_null() || why.contains("/sys is read-only") || why == "not tunable", "{row}");
    }
}
