//! The built program: exit statuses, error lines, closed pipes.
#![expect(clippy::disallowed_methods, reason = "files in folders of the test's own")]

use std::{
    ffi::OsStr,
    fs::Permissions,
    io::Write,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    process::{Command, Output, Stdio},
};

use iodyno::model::PciAddress;
use serde_json::Value;

fn iodyno<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    iodyno(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The error line of a failed command, with its form checked.
fn complaint(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "nothing on standard output");
    let line = said.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "one line: {said}");
    let line = line.strip_prefix("iodyno: ").unwrap();
    let (about, rest) = line.split_once(": ").expect("what it is about");
    let (wrong, fix) = rest.rsplit_once("; ").expect("what to do");
    assert!(!about.is_empty() && !wrong.is_empty() && !fix.is_empty(), "{line}");
    line.to_owned()
}

#[test]
fn help_and_version_are_answers_and_not_errors() {
    for arguments in [["--help"].as_slice(), &["-h"], &["tree", "--help"], &["capture", "-h"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stderr.is_empty());
        let help = stdout(&output);
        for option in ["--demo", "--open", "--sysroot"] {
            assert!(help.contains(option), "{arguments:?} explains {option}");
        }
    }
    assert_eq!(stdout(&run(&["--version"])), format!("iodyno {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_is_wrong_with_the_arguments_is_one_line_with_status_2() {
    for (arguments, line) in [
        (["frobnicate"].as_slice(), "frobnicate: no such command; `iodyno --help` lists the commands"),
        (&["tre"], "tre: no such command; did you mean tree?"),
        (&["tree", "--jsn"], "--jsn: no such option; did you mean --json?"),
        (&["tree", "--zzz=1"], "--zzz: no such option; see `iodyno tree --help`"),
        (&["tree", "word"], "word: unexpected argument; see `iodyno tree --help`"),
        (&["--open"], "--open: needs a value; see `iodyno --help`"),
        (&["tree", "--json=yes"], "--json yes: unexpected value; see `iodyno tree --help`"),
        (&["tree", "--json", "--json"], "--json: given twice; leave one out"),
        (&["--demo=none", "tree"], "--demo none: no such demo; `iodyno demos` lists them"),
        (
            &["tree", "--open", "/nowhere"],
            "/nowhere: No such file or directory; check the file and its permissions",
        ),
        (
            &["--demo", "--open", "x", "tree"],
            "--open: conflicts with another machine option; keep one of --demo, --open and --sysroot",
        ),
        (
            &["--open", "x", "tree", "--sysroot", "y"],
            "--sysroot: conflicts with another machine option; keep one of --demo, --open and --sysroot",
        ),
        (
            &["sheet", "--format", "html"],
            "--format html: is not a valid value; use one of markdown, bbcode, text, json, svg",
        ),
        (
            &["sheet", "--only", "tree,bios"],
            "--only bios: no such part; use some of machine,tree,findings,settings,runs,experiments,commands,versions",
        ),
        (
            &["sheet", "--simulate", "--open", "examples/shared.capture"],
            "--simulate: works with demos only; run `iodyno bench`, then print the sheet",
        ),
        (
            &["compare", "/nowhere", "x"],
            "/nowhere: No such file or directory; check the file and its permissions",
        ),
        (
            &["compare", "README.md", "README.md"],
            "README.md: is not a JSON sheet (line 1, column 1); make a sheet with `iodyno sheet --format json` or a \
             capture with `iodyno capture`",
        ),
        (
            &["compare", "a", "b", "--margin", "much"],
            "--margin much: not a percentage; use 0 to 99, such as 2",
        ),
        (
            &["compare", "--demo", "x570", "--", "a", "b"],
            "compare: takes no machine option; name two files, sheets in JSON or captures",
        ),
        (&["--zz\u{1b}[2J\u{202e}"], "--zz\u{fffd}: no such option; see `iodyno --help`"),
    ] {
        assert_eq!(complaint(&run(arguments)), line, "{arguments:?}");
    }
    complaint(&iodyno([OsStr::from_bytes(b"tr\xffee")]).output().unwrap());
    complaint(&iodyno([OsStr::from_bytes(b"--\xff")]).output().unwrap());
    complaint(
        &iodyno([OsStr::new("tree"), OsStr::new("--open"), OsStr::from_bytes(b"\xff")]).output().unwrap(),
    );
}

#[test]
fn without_a_terminal_it_names_a_command_that_needs_none() {
    let line = complaint(&run(&[]));
    assert!(line.starts_with("standard output: not a terminal") && line.contains("`iodyno tree`"), "{line}");
    assert_eq!(complaint(&run(&["--demo"])), line);
}

#[test]
fn demos_are_listed_and_the_first_is_the_workstation_before_its_card_was_moved() {
    let text = stdout(&run(&["demos"]));
    let listed: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, ["threadripper-before", "threadripper-after", "x570", "x570-formatted", "laptop"]);
    let document: Value = serde_json::from_slice(&run(&["demos", "--json"]).stdout).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
    let named: Vec<&str> =
        document["demos"].as_array().unwrap().iter().filter_map(|demo| demo["name"].as_str()).collect();
    assert_eq!(named, listed);
}

#[test]
fn a_closed_pipe_is_no_error() {
    for arguments in [["demos"].as_slice(), &["demos", "--json"], &["--help"]] {
        let mut child = iodyno(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = iodyno(["demos"]).stdout(full).output().unwrap();
    assert_eq!(complaint(&output), "standard output: No space left on device; write somewhere else");
}

/// Every machine that can be read here: this one, the demos, the captured ones.
fn origins() -> Vec<Vec<String>> {
    let demos = ["threadripper-before", "threadripper-after", "x570", "x570-formatted", "laptop"];
    let captures = ["a-shared-rc", "d-stock-qemu"]
        .map(|name| format!("{}/tests/fixtures/{name}.capture", env!("CARGO_MANIFEST_DIR")));
    let option = |option: &str, value: &str| vec![option.to_owned(), value.to_owned()];
    std::iter::once(Vec::new())
        .chain(demos.map(|name| option("--demo", name)))
        .chain(captures.map(|path| option("--open", &path)))
        .collect()
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
    document
}

fn with<'a>(command: &[&'a str], origin: &'a [String]) -> Vec<&'a str> {
    command.iter().copied().chain(origin.iter().map(String::as_str)).collect()
}

/// How many values of a document are null.
fn nulls(value: &Value) -> usize {
    match value {
        Value::Null => 1,
        Value::Array(all) => all.iter().map(nulls).sum(),
        Value::Object(all) => all.values().map(nulls).sum(),
        _ => 0,
    }
}

fn has_fields(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "{field} of {value}");
    }
}

fn reasons_are_given(document: &Value) {
    let problems = document["problems"].as_array().unwrap();
    for problem in problems {
        assert!(problem["path"].as_str().unwrap().starts_with('/'), "{problem}");
        assert!(!problem["reason"].as_str().unwrap().is_empty(), "{problem}");
    }
    assert!(nulls(document) == 0 || !problems.is_empty());
}

#[test]
fn the_tree_has_the_fields_that_scripts_rely_on() {
    fn check(node: &Value, parent: Option<&Value>) {
        has_fields(
            node,
            &[
                "address",
                "kind",
                "class",
                "vendor",
                "device",
                "name",
                "numa_node",
                "iommu_group",
                "driver",
                "link",
                "limit",
                "drives",
                "children",
                "parent",
            ],
        );
        let kind = node["kind"].as_str().unwrap();
        let kinds =
            ["root-complex", "root-port", "switch-upstream", "switch-downstream", "bridge", "endpoint"];
        assert!(kinds.contains(&kind), "{kind}");
        assert_eq!(kind == "root-complex", parent.is_none());
        if let Some(parent) = parent {
            assert_eq!(&node["parent"], parent);
            let (address, class) = (node["address"].as_str().unwrap(), node["class"].as_str().unwrap());
            assert!(address.parse::<PciAddress>().is_ok(), "{address}");
            assert!(class.len() == 8 && class.starts_with("0x"), "{class}");
        }
        if !node["link"].is_null() {
            has_fields(&node["link"], &["speed_gts", "width", "max_speed_gts", "max_width"]);
        }
        if !node["limit"].is_null() {
            assert!(node["limit"]["bytes_per_second"].as_f64().unwrap() > 0.0);
            assert!(
                ["measured", "published", "link", "table"]
                    .contains(&node["limit"]["basis"].as_str().unwrap())
            );
            assert!(!node["limit"]["because"].as_str().unwrap().is_empty());
        }
        for child in node["children"].as_array().unwrap() {
            check(child, Some(&node["address"]));
        }
    }
    for origin in origins() {
        let document = json(&with(&["tree", "--json"], &origin));
        for root in document["root_complexes"].as_array().unwrap() {
            check(root, None);
        }
        reasons_are_given(&document);
    }
}

#[test]
fn the_drives_have_the_fields_that_scripts_rely_on() {
    for origin in origins() {
        let document = json(&with(&["drives", "--json"], &origin));
        for drive in document["drives"].as_array().unwrap() {
            has_fields(
                drive,
                &[
                    "name",
                    "path",
                    "address",
                    "model",
                    "serial",
                    "firmware",
                    "size_bytes",
                    "lba_bytes",
                    "lba_formats",
                    "format_supported",
                    "default_queues",
                    "poll_queues",
                    "numa_node",
                    "temperature_celsius",
                    "in_use_by",
                    "settings",
                ],
            );
            has_fields(&drive["settings"], &["scheduler", "read_ahead_kb", "nr_requests", "max_sectors_kb"]);
            for format in drive["lba_formats"].as_array().into_iter().flatten() {
                let fields = ["index", "data_bytes", "metadata_bytes", "relative_performance", "in_use"];
                has_fields(format, &fields);
            }
        }
        reasons_are_given(&document);
    }
    let before = json(&["drives", "--demo", "--json"]);
    assert_eq!(before["drives"].as_array().unwrap().len(), 10);
    let formats = |name: &str| -> Vec<(u64, bool)> {
        let document = json(&["drives", "--demo", name, "--json"]);
        let formats = document["drives"][0]["lba_formats"].as_array().unwrap().clone();
        formats.iter().map(|f| (f["data_bytes"].as_u64().unwrap(), f["in_use"].as_bool().unwrap())).collect()
    };
    assert_eq!(formats("x570"), [(512, true), (4096, false)]);
    assert_eq!(formats("x570-formatted"), [(512, false), (4096, true)]);
}

#[test]
fn a_demo_may_be_named_before_the_command_behind_it_or_not_at_all() {
    let named = stdout(&run(&["tree", "--demo", "threadripper-before"]));
    assert!(named.contains("nvme9n1") && named.contains("0000:60 root complex"), "{named}");
    for same in [
        ["--demo", "tree"].as_slice(),
        &["tree", "--demo"],
        &["--demo=threadripper-before", "tree"],
        &["--demo", "threadripper-before", "tree"],
    ] {
        assert_eq!(stdout(&run(same)), named, "{same:?}");
    }
    assert_ne!(stdout(&run(&["--demo", "laptop", "tree"])), named);
}

#[test]
fn whoever_stops_reading_the_tree_stops_it_without_a_word() {
    let script = format!("{} tree --demo | head -n 1; exit ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_iodyno"));
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(stdout(&output).lines().count(), 1);
}

/// A document's text with the serials of its drives blanked.
fn without_pseudonyms(text: &str) -> String {
    // Serial numbers, and values of mount options.
    let is_private = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("\"serial\": ")
            || line.starts_with("\"text\": \"/")
            || line.starts_with("\"text\": \"loop")
    };
    text.lines().filter(|line| !is_private(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_capture_opens_as_the_same_machine() {
    let folder = tempfile::tempdir().unwrap();
    for origin in origins() {
        // Temperatures of a machine that runs may move between two looks; a third look settles it.
        let same = (0..3).any(|_| {
            let file = folder.path().join("machine.capture");
            let file = file.to_str().unwrap();
            let tree = stdout(&run(&with(&["tree", "--json"], &origin)));
            let drives = stdout(&run(&with(&["drives", "--json"], &origin)));
            let made = run(&with(&["capture", file], &origin));
            assert_eq!((made.status.code(), made.stdout.len()), (Some(0), 0), "{made:?}");
            assert!(!tree.is_empty() && !drives.is_empty());
            tree == stdout(&run(&["tree", "--json", "--open", file]))
                && without_pseudonyms(&drives)
                    == without_pseudonyms(&stdout(&run(&["drives", "--json", "--open", file])))
        });
        assert!(same, "{origin:?}");
    }
}

#[test]
fn serials_stay_only_when_asked_for() {
    let serials = |document: &Value| -> Vec<String> {
        let drives = document["drives"].as_array().unwrap().iter();
        drives.map(|drive| drive["serial"].as_str().unwrap().to_owned()).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x570.capture");
    let file = file.to_str().unwrap();
    let original = serials(&json(&["drives", "--demo", "x570", "--json"]));
    run(&["capture", "--demo", "x570", file]);
    let pseudonyms = serials(&json(&["drives", "--open", file, "--json"]));
    for (one, other) in original.iter().zip(&pseudonyms) {
        assert_eq!(one.len(), other.len());
        assert_ne!(one, other);
    }
    run(&["capture", "--demo", "x570", "--with-serials", file]);
    assert_eq!(serials(&json(&["drives", "--open", file, "--json"])), original);
}

#[test]
fn a_capture_replaces_captures_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    let capture = |file: &str| run(&["capture", "--demo", "laptop", file]);

    let new = path("new");
    assert!(capture(&new).status.success());
    let whole = std::fs::read(&new).unwrap();
    assert_eq!(whole, run(&["capture", "--demo", "laptop"]).stdout, "standard output has the same text");
    assert_eq!(whole, capture("-").stdout);
    assert!(capture(&new).status.success(), "a capture may be replaced");

    std::fs::write(path("letter"), "Dear Sir,\n").unwrap();
    assert!(
        complaint(&capture(&path("letter"))).ends_with("exists and is not a capture; choose another name")
    );
    assert_eq!(std::fs::read(path("letter")).unwrap(), b"Dear Sir,\n");

    assert!(complaint(&capture("/dev/null")).starts_with("/dev/null: is not a regular file"));
    assert!(complaint(&capture(&path("no/such/folder"))).contains("No such file or directory"));

    std::os::unix::fs::symlink("new", path("link")).unwrap();
    assert!(complaint(&capture(&path("link"))).contains("is a symbolic link, which is not followed"));
    assert!(std::fs::symlink_metadata(path("link")).unwrap().is_symlink(), "a link stays one");
    assert_eq!(names(), 3, "nothing unfinished is left");
}

#[test]
fn a_capture_can_arrive_on_standard_input() {
    let capture = run(&["capture", "--demo", "laptop"]).stdout;
    let mut child =
        iodyno(["tree", "--open", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&capture).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output), stdout(&run(&["tree", "--demo", "laptop"])));
}

#[test]
fn a_folder_of_a_machines_files_is_read_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, content: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let root = "sys/devices/pci0000:40";
    let port = format!("{root}/0000:40:01.1");
    let drive = format!("{port}/0000:41:00.0");
    for (device, class, speed) in
        [(&port, "0x060400", "16.0 GT/s PCIe"), (&drive, "0x010802", "8.0 GT/s PCIe")]
    {
        write(&format!("{device}/class"), class);
        write(&format!("{device}/vendor"), "0x144d");
        write(&format!("{device}/device"), "0xa80c");
        write(&format!("{device}/current_link_speed"), speed);
        write(&format!("{device}/current_link_width"), "4");
        write(&format!("{device}/max_link_speed"), "16.0 GT/s PCIe");
        write(&format!("{device}/max_link_width"), "255");
    }
    let bus = folder.path().join("sys/bus/pci/devices");
    std::fs::create_dir_all(&bus).unwrap();
    for device in [&port, &drive] {
        let name = device.rsplit('/').next().unwrap();
        let target = format!("../../../{}", device.strip_prefix("sys/").unwrap());
        std::os::unix::fs::symlink(target, bus.join(name)).unwrap();
    }
    std::fs::create_dir(folder.path().join("proc")).unwrap();

    let folder = folder.path().to_str().unwrap();
    let document = json(&["tree", "--json", "--sysroot", folder]);
    let port = &document["root_complexes"][0]["children"][0];
    let drive = &port["children"][0];
    assert_eq!(port["address"], "0000:40:01.1");
    assert_eq!(drive["address"], "0000:41:00.0");
    assert_eq!(drive["link"]["speed_gts"], 8.0);
    assert_eq!(drive["link"]["max_width"], Value::Null, "255 lanes are none");
    let reasons = document["problems"].as_array().unwrap();
    assert!(
        reasons
            .iter()
            .any(|problem| problem["path"].as_str().unwrap().ends_with("0000:41:00.0/max_link_width"))
    );
    let text = stdout(&run(&["tree", "--sysroot", folder]));
    assert!(text.contains("Gen4 x?"), "{text}");
}

#[test]
fn the_printed_options_repeat_the_experiment() {
    let asked = ["experiment", "run", "own", "--demo", "x570", "--json"];
    let with = |options: &[&str]| {
        let output = run(&[&asked[..], options].concat());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let options = [
        ("filename", "/dev/nvme1n1:/dev/nvme2n1"),
        ("arm", "shallow: iodepth=4"),
        ("arm", "it's deep: iodepth=8"),
        ("bs", "64k"),
        ("rw", "read"),
        ("numjobs", "2"),
        ("metric", "bytes_per_second"),
        ("runtime", "500ms"),
        ("rounds", "9"),
        ("margin", "0.03"),
        ("confidence", "0.99"),
        ("randseed", "7"),
    ];
    let words = |options: &[(String, String)]| -> Vec<String> {
        options.iter().flat_map(|(option, value)| [format!("--{option}"), value.clone()]).collect()
    };
    let own: Vec<(String, String)> =
        options.iter().map(|(option, value)| (option.to_string(), value.to_string())).collect();
    let first = with(&words(&own).iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(first["rounds"], 12, "the first look after nine rounds");
    assert_eq!(first["looks"][0]["round"], 12);
    let arm = &first["arms"][0]["workload"];
    assert_eq!(arm["runtime"]["nanos"], 500_000_000, "{arm}");
    let samples = first["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 2 * 13, "the warm-up round too");
    assert_eq!((&samples[0]["discarded"], &samples[2]["discarded"]), (&"warm-up round".into(), &Value::Null));
    let told: Vec<(String, String)> = serde_json::from_value(first["options"].clone()).unwrap();
    assert_eq!(told.len(), options.len() - 1, "all but the targets: {told:?}");
    let again: Vec<(String, String)> = own.iter().take(1).cloned().chain(told).collect();
    let second = with(&words(&again).iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(first, second);
}

#[test]
fn the_tree_folds_what_matters_to_no_drive() {
    let origin = ["--demo", "threadripper-before"].map(str::to_owned);
    let (some, all) =
        (stdout(&run(&with(&["tree"], &origin))), stdout(&run(&with(&["tree", "--all"], &origin))));
    assert!(
        some.contains("devices folded: no drive, card or mark is below them; --all shows them"),
        "{some}"
    );
    assert!(some.lines().count() + 10 < all.lines().count() && !all.contains("folded"), "{all}");
    for name in ["nvme0n1", "nvme9n1", "0000:60", "Quadro", "Aquantia"] {
        assert!(some.contains(name) && all.contains(name), "{name}");
    }
    // As on the machine screen, controllers without drives.
    assert!(!some.contains("SATA") && all.contains("SATA Controller"), "{some}");
}

#[test]
fn a_mistake_in_the_configuration_is_one_line_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("iodyno")).unwrap();
    let path = folder.path().join("iodyno/config.toml");
    let config = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
        command.env("XDG_CONFIG_HOME", folder.path()).arg("config").output().unwrap()
    };
    std::fs::write(&path, "theme = \"dark\"\n\ncolour = 3\n").unwrap();
    let wrong = config();
    let line = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!((wrong.status.code(), line.lines().count()), (Some(1), 1), "{line}");
    assert!(String::from_utf8(wrong.stdout).unwrap().contains("\ntheme = \"dark\"\n"), "the rest holds");
    assert!(
        line.starts_with(&format!("iodyno: {}:3: colour: no such key; use theme", path.display())),
        "{line}"
    );
    for (place, mode) in [(path.as_path(), 0o666), (path.parent().unwrap(), 0o757)] {
        let before = std::fs::metadata(place).unwrap().permissions();
        std::fs::set_permissions(place, Permissions::from_mode(mode)).unwrap();
        let wrong = config();
        let fix = "check its contents, then `chmod go-w` it, until then the defaults apply";
        let says = format!("iodyno: {}: every user can write to it; {fix}\n", place.display());
        assert_eq!((wrong.status.code(), String::from_utf8(wrong.stderr).unwrap()), (Some(1), says));
        std::fs::set_permissions(place, before).unwrap();
    }
    std::fs::write(&path, "units = \"GiB/s\"\n").unwrap();
    let printed = String::from_utf8(config().stdout).unwrap();
    assert!(printed.contains("units = \"GiB/s\"") && printed.contains("theme = \"auto\""), "{printed}");
    let mut drives = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    drives.env("XDG_CONFIG_HOME", folder.path()).args(["drives", "--demo", "laptop"]);
    let sizes = String::from_utf8(drives.output().unwrap().stdout).unwrap();
    assert!(sizes.contains(" GiB ") && !sizes.contains(" GB "), "{sizes}");
}

#[test]
fn a_theme_that_is_not_there_is_refused_by_every_command_with_the_same_list() {
    let all: [&[&str]; 5] = [&["tree"], &["check"], &["drives"], &["render", "machine"], &["config"]];
    for command in all {
        let with = |theme| run(&[command, &["--demo", "laptop", "--theme", theme]].concat());
        let said = complaint(&with("nope"));
        assert!(
            said.ends_with("no such theme; use auto, 16, dark, light, console, high-contrast, plain"),
            "{said}"
        );
        assert_ne!(with("auto").status.code(), Some(2), "{command:?}");
    }
}
