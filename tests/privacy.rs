//! Secrets planted in every file that iodyno reads: none is in a redacted capture or a sheet, and no password in any output.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and writes the files of a machine"
)]

#[path = "common/program.rs"]
mod program;

use std::{collections::BTreeSet, fs, os::unix::fs::symlink, path::Path};

use iodyno::source::{
    capture::{Capture, TextRoot, format},
    demo,
};
use program::{iodyno, text};

/// Each `@` and `%` becomes a secret of its own. Names of the machine (here, and each `%`) are in `drives` and `check`, which
/// are not redacted; passwords are in no output at all.
const NAMES: &[(&str, &str)] = &[
    ("/proc/sys/kernel/hostname", "@\n"),
    ("/probe/host", "name=@\ndistribution=Debian GNU/Linux 12\nkernel=6.12.0\n"),
    (
        "/proc/self/mountinfo",
        "25 1 259:1 / /home/@ rw,relatime - ext4 /dev/nvme0n1p1 rw,password=@\n\
         26 25 254:0 /@ /srv/@ rw - btrfs /dev/mapper/@-@ rw,subvol=/@\n\
         27 25 0:50 / /mnt/@ rw - nfs4 @.example.org:/export/@ rw,addr=10.1.2.3,clientaddr=10.9.9.9,@\n\
         28 25 0:51 / /mnt/b rw - fuse.@ @@host:/x rw,user_id=0\n\
         29 25 0:52 / /mnt/c rw,context=@ - zfs @/@ rw,xattr\n\
         30 25 0:53 / /mnt/d rw - cifs //@/@ rw,username=@,domain=@,passwd=@\n\
         31 25 0:54 / /mnt/e rw master:@ - overlay overlay rw,lowerdir=/var/lib/docker/@,upperdir=/@\n",
    ),
    (
        "/proc/swaps",
        "Filename Type Size Used Priority\n/srv/@/swap file 10 0 -2\n/dev/@/@ partition 5 0 -3\n",
    ),
    (
        "/probe/device-users",
        "open nvme0n1 7 fio\nopen nvme0n1 8 @\nmount nvme0n1p1 ext4 /srv/@ 812 @\nmount nvme0n1p2 fuse.@ /x 9 a @\nexport nvme0n1 LIO iblock_0/@\n\
         export-file /srv/@.img nvmet @\npool nvme0n1 @\nunread /proc/1/fd EACCES: permission denied; run as root\n",
    ),
    ("/probe/measured-limits", "alone Fast_1TB @ large 6600000000 6294 1 drive, 1m read, 2026-11-21\n"),
    ("/proc/self/cgroup", "0::/user.slice/@.service/@\n"),
    ("/sys/fs/cgroup/user.slice/@.service/io.max", "259:0 rbps=1000000\n"),
];

/// Passwords, tokens, comments and commands.
const PASSWORDS: &[(&str, &str)] = &[
    (
        "/proc/cmdline",
        "BOOT_IMAGE=/boot/vmlinuz-6.12.0 root=UUID=@ ro quiet db_password=@ http_proxy=http://bob:@@proxy:3128 \
         rd.luks.key=/@:/dev/disk/by-id/@ nfsroot=10.0.0.1:/@ zfs=@/ROOT rd.lvm.lv=@/@ cryptdevice=UUID=@:@ \
         resume=PARTUUID=@ systemd.hostname=@ nvme.poll_queues=@ elevator=@ cpufreq.default_governor=@ \
         nvme_core.default_ps_max_latency_us=@ iommu=pt,@ @ token:@ console=@ init=/@ \
         netconsole=4444@10.0.0.1/eth0,9353@10.0.0.2/@ -- --secret @\n",
    ),
    (
        "/etc/udev/rules.d/60-%.rules",
        "# @ made this\nACTION==\"add\", KERNEL==\"sd?\", ENV{ID_SERIAL}==\"@\", ATTR{queue/scheduler}=\"none\", \
         RUN+=\"/usr/bin/curl -u @:@ https://@/\"\nKERNEL==\"nvme*\", ATTR{queue/nomerges}=\"2\" # @\n\
         SUBSYSTEM==\"net\", ATTR{address}==\"52:54:00:@\", NAME=\"@\"\n",
    ),
    (
        "/proc/interrupts",
        "           CPU0\n 35:         16   PCI-MSI 51380224-edge      nvme0q0\n 36: 1   PCI-MSI 2-edge  enx@-TxRx-0\n \
         37: 1   PCI-MSI 3-edge  @, @\n",
    ),
    (
        "/probe/nvme-messages",
        "[    1.000000] nvme nvme0: I/O 1 QID 2 timeout, @ aborting\n@ kernel: nvme nvme1: resetting controller @\n@\n",
    ),
    (
        "/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD Ryzen 9 5950X\nSerial\t: @\n",
    ),
];

/// What a live machine answers of the files that a folder has in full.
const BOOT_RULES: (&str, &str) = (
    "/probe/boot-rules",
    "/etc/modprobe.d/%.conf:1:options nvme poll_queues=2 token=@ # @\n\
     /etc/tmpfiles.d/%.conf:2:w /sys/block/nvme0n1/queue/nomerges - @ @ - 2 # @\n\
     /etc/systemd/system/%.service:7:ExecStart=/bin/sh -c 'curl -u @:@ x; echo 2 > /sys/block/nvme0n1/queue/nomerges'\n\
     /opt/%/tune.sh:3:PASSWORD=@; echo none > /sys/block/nvme0n1/queue/scheduler # @\n\
     /etc/systemd/system/x.service:8:ExecStart=/usr/bin/cpupower frequency-set -g performance --token @\n\
     /etc/modprobe.d/x.conf:2:options nvme poll_queues=@\n\
     /etc/tmpfiles.d/x.conf:3:w /sys/block/nvme0n1/queue/scheduler - @ - - x@ @\n\
     /etc/systemd/system/x.service:9:ExecStart=/bin/sh -c 'echo x@ > /sys/block/nvme0n1/queue/nomerges'\n\
     /etc/tuned/%/tuned.conf:3:[disk]\n/etc/tuned/%/tuned.conf:4:elevator=x@\n",
);

const BOOT_FILES: &[(&str, &str)] = &[
    ("/etc/modprobe.d/%.conf", "# @\noptions nvme poll_queues=2 token=@\noptions nvme poll_queues=@\n"),
    (
        "/etc/tmpfiles.d/%.conf",
        "# @\nw /sys/block/nvme0n1/queue/nomerges - - - - 2\nw /sys/block/nvme0n1/queue/scheduler - @ - - x@ @\n",
    ),
    (
        "/etc/systemd/system/x.service",
        "[Service]\nEnvironment=PASSWORD=@\nExecStart=/bin/sh /opt/x.sh @\nExecStart=/bin/sh -c 'echo 2 > \
         /sys/block/nvme0n1/queue/nomerges; curl -u @:@ y'\n",
    ),
    ("/etc/systemd/system/multi-user.target.wants/x.service", "@\n"),
    ("/opt/x.sh", "#!/bin/sh\nTOKEN=@\necho none > /sys/block/nvme0n1/queue/scheduler # @\n"),
    ("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12\"\nHOME_URL=\"https://@/\"\n"),
];

struct Planted {
    capture: Capture,
    /// Secrets of names, and of passwords.
    names: BTreeSet<String>,
    passwords: BTreeSet<String>,
}

/// Replaces each `@` and `%` by a secret, and keeps it in `secrets` or `names`.
fn plant(
    template: &str,
    number: &mut usize,
    secrets: &mut BTreeSet<String>,
    names: &mut BTreeSet<String>,
) -> String {
    let mut out = String::new();
    for part in template.split_inclusive(['@', '%']) {
        let Some(before) = part.strip_suffix(['@', '%']) else {
            out.push_str(part);
            continue;
        };
        // An address keeps its sign.
        if before.is_empty() && out.ends_with("zk") || before.ends_with("4444") || before.ends_with("9353") {
            out.extend([before, "@"]);
            continue;
        }
        *number += 1;
        // Digits alone, letters and digits, with a dash: as ids, names and tokens are.
        let secret = match *number % 3 {
            0 => format!("73{:07}", *number * 7919 + 1_000_003),
            1 => format!("q{number}zk"),
            _ => format!("Xq{number}-w{}zk", *number * 31),
        };
        out.extend([before, &secret]);
        if part.ends_with('%') {
            names.insert(secret)
        } else {
            secrets.insert(secret)
        };
    }
    out
}

/// A demo with secrets in its files and in these.
fn planted(further: &[(&str, &str)]) -> Planted {
    let root = TextRoot::parse(&demo::find("x570").unwrap().capture()).unwrap();
    let mut capture = root.into_capture();
    let serials: Vec<String> =
        capture.answers.keys().filter(|path| path.ends_with("/serial")).cloned().collect();
    let (mut number, mut names, mut passwords) = (0, BTreeSet::new(), BTreeSet::new());
    let mut of_files = BTreeSet::new();
    let mut put = |(path, content): &(&str, &str), secrets: &mut BTreeSet<String>| {
        let mut plant = |text| plant(text, &mut number, secrets, &mut of_files);
        let (path, content) = (plant(path), plant(content));
        for above in Path::new(&path).ancestors().skip(1).filter(|above| above.starts_with("/etc")) {
            let answers = capture.answers.entry(above.to_str().unwrap().to_owned()).or_default();
            if !matches!(answers.list, Some(Ok(_))) {
                answers.list = Some(Ok(Vec::new()));
            }
        }
        if let Some((folder, name)) = path.rsplit_once('/')
            && let Some(Ok(list)) = capture.answers.entry(folder.to_owned()).or_default().list.as_mut()
        {
            list.push(name.to_owned());
            list.sort_unstable();
            list.dedup();
        }
        capture.answers.entry(path).or_default().read = Some(Ok(content.into_bytes()));
    };
    for file in NAMES {
        put(file, &mut names);
    }
    for file in PASSWORDS.iter().chain(further) {
        put(file, &mut passwords);
    }
    for path in serials {
        put(&(&path, "@\n"), &mut names);
    }
    names.append(&mut of_files);
    Planted { capture, names, passwords }
}

impl Planted {
    fn file(&self, folder: &Path) -> String {
        let path = folder.join("secret.capture");
        fs::write(&path, format::write(&self.capture)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The answers as files of a folder.
    fn sysroot(&self, folder: &Path) -> String {
        let base = folder.join("machine");
        for (path, answers) in &self.capture.answers {
            let ending = if path.starts_with("/ioctl/") { ".bin" } else { "" };
            let place = base.join(format!("{}{ending}", path.trim_start_matches('/')));
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            if let Some(Ok(target)) = &answers.link {
                let _exists = symlink(target, &place);
            } else if let Some(Ok(content)) = &answers.read {
                fs::write(&place, content).unwrap();
            } else if matches!(answers.list, Some(Ok(_))) {
                fs::create_dir_all(&place).unwrap();
            }
        }
        base.to_str().unwrap().to_owned()
    }

    /// Runs these commands on the machine; no output has a secret.
    fn check(&self, option: [&str; 2]) {
        let state = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| {
            let output = iodyno(state.path(), &[words, &option].concat());
            assert!(output.status.code().is_some_and(|code| code < 2), "{words:?}: {}", text(&output));
            text(&output)
        };
        let leaked = |words: &[&str], secrets: &[&BTreeSet<String>]| {
            let said = run(words);
            assert!(said.len() > 200, "{words:?}: {said}");
            let found = secrets.iter().copied().flatten().filter_map(|secret| {
                let line = said.lines().find(|line| line.contains(secret))?;
                Some(format!("{secret} in {line}"))
            });
            let found: Vec<String> = found.collect();
            assert!(found.is_empty(), "{words:?} {option:?} has {found:#?}");
        };
        let all = [&self.names, &self.passwords];
        leaked(&["capture"], &all);
        for format in ["markdown", "bbcode", "text", "json", "svg"] {
            leaked(&["sheet", "--format", format], &all);
        }
        for words in [
            &["tree"][..],
            &["tree", "--json"],
            &["check"],
            &["check", "--json"],
            &["drives"],
            &["drives", "--json"],
            &["metrics"],
            &["tune", "list"],
            &["tune", "list", "--json"],
            &["render", "tune", "--size", "200x60"],
            &["render", "findings", "--size", "200x60"],
        ] {
            leaked(words, &[&self.passwords]);
        }
    }
}

#[test]
fn no_secret_of_a_capture_is_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let planted = planted(&[BOOT_RULES]);
    let count = planted.names.len() + planted.passwords.len();
    assert!(count >= 70, "{count} secrets");
    println!("{count} secrets");
    planted.check(["--open", &planted.file(folder.path())]);
}

#[test]
fn no_secret_of_a_folder_is_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let planted = planted(BOOT_FILES);
    let base = planted.sysroot(folder.path());
    let with_serials = iodyno(folder.path(), &["capture", "--with-serials", "--sysroot", &base]);
    let whole = text(&with_serials);
    let there = planted.passwords.iter().filter(|secret| whole.contains(*secret)).count();
    assert!(there > 40, "the files are read: {there} of {}", planted.passwords.len());
    planted.check(["--sysroot", &base]);
}

/// Files of a folder whose names or words are the owner's: each has `zqsec`.
const OWN_WORDS: &[(&str, &str)] = &[
    ("sys/block/sda/size", "2048\n"),
    ("sys/block/sda/dev", "8:0\n"),
    ("sys/block/sda/queue/scheduler", "zqsecsched [none] mq-deadline\n"),
    ("sys/block/sda/queue/write_cache", "zqseccache\n"),
    ("sys/block/sda/queue/zoned", "zqseczone\n"),
    ("sys/block/sda/holders/md_zqsechome/dev", "9:127\n"),
    ("sys/block/md_zqsechome/size", "1024\n"),
    ("sys/block/md_zqsechome/dev", "9:127\n"),
    ("sys/block/md_zqsechome/slaves/sda/dev", "8:0\n"),
    ("sys/block/md_zqsechome/md_zqsechome1/partition", "1\n"),
    ("sys/block/md_zqsechome/md_zqsechome1/size", "512\n"),
    ("sys/block/md_zqsechome/md_zqsechome1/start", "8\n"),
    ("sys/block/md_zqsechome/md_zqsechome1/dev", "259:9\n"),
    ("sys/block/md_zqsechome/md/level", "zqseclevel\n"),
    ("sys/block/md_zqsechome/md/array_state", "zqsecstate\n"),
    ("sys/block/md_zqsechome/md/sync_action", "zqsecaction\n"),
    ("sys/block/md_zqsechome/md/bitmap/location", "zqsecfile\n"),
    ("sys/block/md_zqsechome/md/dev-sda/state", "in_sync,zqsecmember\n"),
    ("sys/block/md_zqsechome/md/dev-sda/slot", "0\n"),
    ("sys/block/md_zq/size", "1024\n"),
    ("sys/block/md_zq/dev", "9:126\n"),
    ("sys/block/zram0/size", "1024\n"),
    ("sys/block/zram0/dev", "252:0\n"),
    ("sys/block/zram0/comp_algorithm", "lzo [zqsecalgorithm]\n"),
    ("proc/self/mountinfo", "25 1 259:9 / / rw - zqsecfs /dev/md_zqsechome1 rw\n"),
    ("usr/lib/udev/rules.d/60-zqsec124x.rules", "KERNEL==\"sd?\", ATTR{queue/nomerges}=\"2\"\n"),
    ("usr/lib/udev/rules.d/60-zqsecvendor.json", "{}\n"),
    ("etc/udev/rules.d/backup-zqsecbank.txt", "\n"),
    ("etc/udev/rules.d/99-zqsecbank.rules.disabled", "\n"),
    ("etc/udev/rules.d/60-block.rules zqsecspace", "\n"),
    ("run/udev/rules.d/60-zqsecrun.tmp", "\n"),
    ("usr/lib/udev/rules.d/60-persistent-storage.rules", "KERNEL==\"sd?\", ATTR{queue/nomerges}=\"2\"\n"),
];

#[test]
fn names_of_arrays_and_unknown_words_of_the_kernel_s_files_do_not_travel() {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in OWN_WORDS {
        let place = folder.path().join("machine").join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, content).unwrap();
    }
    let base = folder.path().join("machine");
    let base = base.to_str().unwrap();
    let said = |words: &[&str]| {
        let output = iodyno(folder.path(), &[words, &["--sysroot", base]].concat());
        assert!(output.status.code().is_some_and(|code| code < 2), "{words:?}: {}", text(&output));
        text(&output)
    };
    assert!(said(&["tree"]).contains("md_zqsechome"), "the array is read");
    let mut outputs = vec![("capture", said(&["capture"]))];
    for format in ["markdown", "bbcode", "text", "json", "svg"] {
        outputs.push((format, said(&["sheet", "--format", format])));
    }
    for (what, output) in &outputs {
        let line = output.lines().find(|line| line.contains("zqsec") || line.contains("md_zq"));
        assert_eq!(line, None, "in {what}");
    }
    let capture = &outputs[0].1;
    assert!(capture.contains("60-persistent-storage.rules") && capture.contains("[none] mq-deadline"));
    assert!(outputs[4].1.contains("\"md_x"), "the array keeps its form: {}", outputs[4].1);
}

/// Files that may hold any text: names of hardware, versions, and what was looked up in tables of names. See docs/security.md.
fn names_hardware(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap();
    let names =
        ["model", "firmware_rev", "osrelease", "bios_version", "bios_date", "board_name", "board_vendor"];
    let more = ["product_name", "sys_vendor", "bios_vendor", "product_version"];
    names.contains(&name)
        || more.contains(&name)
        || ["/probe/pci-ids/", "/probe/memory-modules", "/probe/slots", "/probe/pci-slots"]
            .iter()
            .any(|first| path.starts_with(first))
}

/// Counters that only a running machine has.
const COUNTERS: &[(&str, &str)] = &[
    ("/proc/stat", "cpu 1 2 3 4 5 6 7 8 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nctxt 5\nprocesses 7\n"),
    ("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 300 kB\n"),
    ("/proc/vmstat", "pgscan_direct 12\npgmajfault 1\n"),
    ("/proc/diskstats", " 259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11\n"),
    ("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
    ("/proc/loadavg", "0.10 0.20 0.30 1/200 300\n"),
    ("/proc/spl/kstat/zfs/arcstats", "9 1 0x01 147 39984 1 2\nname type data\nsize 4 100\nc_max 4 200\n"),
    (
        "/etc/os-release",
        "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nBUILD_ID=rolling\n",
    ),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "amd-pstate-epp\n"),
    ("/sys/devices/system/cpu/vulnerabilities/retbleed", "Mitigation: Safe RET\n"),
];

#[test]
fn a_secret_in_any_file_that_is_read_does_not_travel() {
    const SHEETS: [&str; 3] = ["sheet --format markdown", "sheet --format text", "sheet --format json"];
    let fixture = include_str!("fixtures/stack.capture").to_owned();
    // The fixture has no PCI devices; with more files than its own it is no machine of which a sheet can be made.
    for (capture, sheets) in [(demo::find("x570").unwrap().capture(), &SHEETS[..]), (fixture, &[])] {
        let mut capture = TextRoot::parse(&capture).unwrap().into_capture();
        for (path, content) in COUNTERS {
            capture.answers.entry((*path).to_owned()).or_default().read =
                Some(Ok(content.as_bytes().to_vec()));
        }
        for shape in [Shape::Instead, Shape::Behind, Shape::NoText] {
            no_secret_of(&capture, shape, sheets);
        }
    }
}

/// Where a secret is put.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// In the place of the content.
    Instead,
    /// Behind the first line.
    Behind,
    /// Likewise, with a byte that is no UTF-8.
    NoText,
}

fn no_secret_of(capture: &Capture, shape: Shape, sheets: &[&str]) {
    // Without these there is no machine.
    const IDENTITY: [&str; 6] = ["size", "dev", "class", "vendor", "device", "online"];
    // With a word behind their number there is none either.
    const NUMBERS: [&str; 3] = ["class", "vendor", "device"];
    let mut capture = capture.clone();
    let mut planted = Vec::new();
    for (number, (path, answers)) in capture.answers.iter_mut().enumerate() {
        let Some(Ok(content)) = &mut answers.read else { continue };
        let name = path.rsplit('/').next().unwrap();
        let is_identity = NUMBERS.contains(&name) || shape == Shape::Instead && IDENTITY.contains(&name);
        if names_hardware(path) || is_identity {
            continue;
        }
        let secret = format!("zq{number}Secret{}", number * 31);
        match shape {
            Shape::Instead => *content = format!("{secret}\n").into_bytes(),
            _ if std::str::from_utf8(content).is_err() || content.contains(&0) => continue,
            _ => {
                let text = String::from_utf8(content.clone()).unwrap();
                let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
                *content = format!("{first} {secret}\n{rest}").into_bytes();
                content.extend((shape == Shape::NoText).then_some(0xff));
            }
        }
        planted.push((path.clone(), secret));
    }
    assert!(planted.len() > 40, "{} secrets", planted.len());
    println!("{shape:?}: {} files", planted.len());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.capture");
    fs::write(&file, format::write(&capture)).unwrap();
    for words in ["capture"].iter().chain(sheets) {
        let origin = ["--open", file.to_str().unwrap()];
        let arguments: Vec<&str> = words.split(' ').chain(origin).collect();
        let output = iodyno(folder.path(), &arguments);
        assert!(output.status.code().is_some_and(|code| code < 2), "{words:?}: {}", text(&output));
        let said = text(&output);
        let found: Vec<_> = planted.iter().filter(|(_, secret)| said.contains(secret)).collect();
        assert!(found.is_empty(), "{words:?} with secrets {shape:?}: {found:#?}");
    }
}

#[test]
fn names_of_devices_that_are_not_the_kernel_s_do_not_travel() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("machine");
    let names = ["sda", "drbd_zqsechome", "zqsecvol", "etherd!zqsec0.1"];
    for (number, name) in names.iter().enumerate() {
        let drive = base.join("sys/block").join(name);
        fs::create_dir_all(drive.join("queue")).unwrap();
        fs::write(drive.join("size"), "2048\n").unwrap();
        fs::write(drive.join("dev"), format!("8:{number}\n")).unwrap();
        for file in ["read_ahead_kb", "nr_requests", "scheduler"] {
            fs::write(drive.join("queue").join(file), format!("zqsec{file} x\n")).unwrap();
        }
    }
    fs::create_dir_all(base.join("sys/block/drbd_zqsechome/md")).unwrap();
    fs::write(base.join("sys/block/drbd_zqsechome/md/chunk_size"), "zqsecchunk\n").unwrap();
    fs::create_dir_all(base.join("proc")).unwrap();
    for words in [&["capture"][..], &["sheet"], &["sheet", "--format", "json"]] {
        let output = iodyno(folder.path(), &[words, &["--sysroot", base.to_str().unwrap()]].concat());
        assert!(output.status.code().is_some_and(|code| code < 2), "{words:?}: {}", text(&output));
        let said = text(&output);
        let line = said.lines().find(|line| line.contains("zqsec"));
        assert_eq!(line, None, "{words:?}");
        assert!(said.contains("sda"), "{words:?}: {said}");
    }
}

/// What iodyno says in place of a name is no name.
#[test]
fn a_file_system_that_a_text_does_not_name_is_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lsblk.txt");
    let rows = "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nnvme0n1 259:0 0 1.8T 0 disk\n\
                └─nvme0n1p1 259:1 0 1.8T 0 part /\n";
    fs::write(&file, rows).unwrap();
    let output = iodyno(folder.path(), &["sheet", "--open", file.to_str().unwrap()]);
    assert!(text(&output).contains("unknown file system"), "{}", text(&output));
}
