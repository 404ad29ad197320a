//! Redacts files and lines that write settings at boot: what sets a setting stays, in a canonical form; comments, commands,
//! serial numbers and unknown conditions go.

use super::{
    Redactor,
    arguments::is_known,
    forms::{
        REDACTED, is_device_pattern, is_in, is_number, is_queue_file, is_setting_value, plain_name,
        setting_value, sys_path,
    },
    tables,
};
use crate::{
    machine::rules::{RuleKind, SettingRule},
    source::rules::{BootLine, CUTS, boot_lines, shell_writes},
    text::Label,
};

/// Words in names of rules files, services and profiles that say nothing of their owner.
const COMMON: &str = "\
    etc usr lib run opt bin sbin local libexec udev rules d modprobe tmpfiles systemd system conf service tuned profiles \
    profile sh nvme ssd disk disks hdd block storage sched scheduler schedulers iosched ioscheduler ioschedulers io \
    persistent tuning performance throughput latency balanced powersave virtual guest host network accelerator desktop \
    server cpu cpufreq cpupower governor power pm aspm readahead settings options kernel sysfs default multi user wants \
    target iodyno custom active queue poll tune \
    md raid creating firmware dm mpath multipath autosuspend cdrom_id drm evdev fido id infiniband input alsa tape v4l \
    sensor serial arrays btrfs zoned assembly clustered confirm device camera joystick memory mouse nvmf autoconnect switch \
    touchpad uaccess iopolicy netapp seat late special net names description probe_mtd sound card debian compat drivers setup \
    link dhcp hwclock notify e2scrub lvm vdo zvol zfs usb hwdb mdadm ceph rbd drbd ssd-scheduler udisks2";

/// Keys of udev rules (udev(7)), without what stands in braces.
const UDEV_KEYS: &str = "\
    ACTION SUBSYSTEM SUBSYSTEMS KERNEL KERNELS DRIVER DRIVERS ATTR ATTRS ENV TEST RUN PROGRAM IMPORT RESULT SYMLINK NAME \
    GROUP OWNER MODE TAG TAGS LABEL GOTO OPTIONS SYSCTL CONST DEVPATH SECLABEL";

const ACTIONS: &str = "add change remove move online offline bind unbind";
const SUBSYSTEMS: &str = "block nvme nvme-subsystem pci scsi cpu module bdi ata";

/// The path of such a file: its own words become pseudonyms.
pub(super) fn path(redactor: &mut Redactor, path: &str) -> String {
    tables::words_but(redactor, path, COMMON)
}

/// A rules file of udev, line by line.
pub(super) fn udev(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|piece| {
            let line = piece.trim_end();
            udev_line(line) + &piece[line.len()..]
        })
        .collect()
}

fn udev_line(line: &str) -> String {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return line.chars().take(1).collect();
    }
    let mut out = Vec::new();
    let mut rest = line;
    while let Some((term, tail)) = udev_term(rest) {
        out.push(term);
        rest = tail;
    }
    let continued = if line.ends_with('\\') { " \\" } else { "" };
    out.join(", ") + continued
}

/// The first term of a line, redacted, and the rest.
fn udev_term(line: &str) -> Option<(String, &str)> {
    let line = line.trim_start_matches([',', ' ', '\t']);
    let key_end = line.find(['=', '!', '+', '-', ':', '{']).filter(|at| *at > 0)?;
    let (base, mut rest) = line.split_at(key_end);
    let mut attribute = None;
    if let Some(inside) = rest.strip_prefix('{') {
        let (name, tail) = inside.split_once('}')?;
        (attribute, rest) = (Some(name), tail);
    }
    let rest = rest.trim_start();
    let operator =
        ["==", "!=", "+=", "-=", ":=", "="].into_iter().find(|operator| rest.starts_with(operator))?;
    let value = rest[operator.len()..].trim_start();
    let (value, tail) = value.trim_start_matches(['e', 'i']).strip_prefix('"')?.split_once('"')?;
    let base = Some(base.trim()).filter(|base| is_in(UDEV_KEYS, base)).unwrap_or(REDACTED);
    let kept = match (base, attribute) {
        ("ACTION", None) => each(value, |word| is_in(ACTIONS, word)),
        ("SUBSYSTEM" | "SUBSYSTEMS", None) => each(value, |word| is_in(SUBSYSTEMS, word)),
        ("KERNEL" | "KERNELS", None) => is_device_pattern(value),
        ("ENV", Some("DEVTYPE")) => each(value, |word| is_in("disk partition", word)),
        ("ATTR" | "ATTRS", Some(name)) => {
            let is_setting =
                name.strip_prefix("queue/").is_some_and(is_queue_file) || name == "power/control";
            is_setting && setting_value(value) == value
        }
        _ => false,
    };
    let attribute = attribute.map_or(String::new(), |name| format!("{{{}}}", udev_attribute(base, name)));
    let value = if kept { value } else { REDACTED };
    Some((format!("{base}{attribute}{operator}\"{value}\""), tail))
}

fn each(value: &str, is_known: impl Fn(&str) -> bool) -> bool {
    value.split('|').all(is_known)
}

fn udev_attribute<'a>(base: &str, name: &'a str) -> &'a str {
    let is_known = match base {
        "ENV" => {
            let is_standard = |name: &str| {
                ["ID_", "DEV", "SYSTEMD_", "UDISKS_"].iter().any(|first| name.starts_with(first))
            };
            is_standard(name)
                && name.len() <= 32
                && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        }
        "ATTR" | "ATTRS" => {
            name.strip_prefix("queue/").is_some_and(is_queue_file)
                || is_in(
                    "power/control size removable ro model vendor serial wwid device/model device/vendor",
                    name,
                )
        }
        "RUN" | "IMPORT" => is_in("program builtin file db cmdline parent", name),
        _ => false,
    };
    if is_known { name } else { REDACTED }
}

/// The answer to `/probe/boot-rules`.
pub(super) fn boot_rules(redactor: &mut Redactor, text: &str) -> String {
    let lines = boot_lines(text);
    let line = |BootLine { path: file, number, text }: &BootLine| {
        let number = number.to_string();
        let text = if CUTS.contains(&text.as_str()) { text.clone() } else { boot_line(redactor, file, text) };
        [&path(redactor, file), ":", &number, ":", &text, "\n"].concat()
    };
    lines.iter().map(line).collect()
}

fn boot_line(redactor: &mut Redactor, file: &str, text: &str) -> String {
    let folder = file.rsplit('/').nth(1).unwrap_or_default();
    match folder {
        "modprobe.d" => module_options(text),
        "tmpfiles.d" => tmpfile(text),
        _ if file.ends_with("/tuned.conf") => tuned(redactor, text),
        _ => command(text),
    }
}

/// `options nvme poll_queues=4`; comments go.
fn module_options(text: &str) -> String {
    let words = text.split_ascii_whitespace().take_while(|word| !word.starts_with('#'));
    let mut words = words.skip_while(|word| *word == "options");
    let module = words.next().filter(|module| is_in("nvme nvme_core nvme-core", module)).unwrap_or(REDACTED);
    let option = |word: &str| match word.split_once('=') {
        Some((name, value)) if is_known(&format!("{module}.{name}"), value) => word.to_owned(),
        Some((name, _)) => format!("{}={REDACTED}", plain_name(name)),
        None => REDACTED.to_owned(),
    };
    let options: Vec<String> = words.map(option).collect();
    let first = if text.trim_start().starts_with("options") { "options " } else { "" };
    format!("{first}{module} {}", options.join(" ")).trim_end().to_owned()
}

/// Type, path, mode, user, group, age, argument (tmpfiles.d(5)).
fn tmpfile(text: &str) -> String {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let known = |word: &str, is_known: bool| if is_known { word.to_owned() } else { REDACTED.to_owned() };
    let fields = words.iter().take(6).enumerate().map(|(index, word)| match index {
        0 => known(
            word,
            word.len() <= 4 && word.starts_with('w') && word[1..].bytes().all(|b| b"+!-=~^$".contains(&b)),
        ),
        1 => sys_path(word),
        2 => known(word, *word == "-" || is_number(word)),
        _ => known(word, is_in("- root", word)),
    });
    let argument = words.get(6..).filter(|rest| !rest.is_empty()).map(|rest| setting_value(&rest.join(" ")));
    fields.chain(argument).collect::<Vec<_>>().join(" ")
}

/// A section or an option of a profile of tuned.
fn tuned(redactor: &mut Redactor, text: &str) -> String {
    const SECTIONS: &str =
        "main disk cpu sysfs vm sysctl net scsi_host usb video audio scheduler script variables bootloader";
    if let Some(heading) = text.trim().strip_prefix('[') {
        let name = heading.split(']').next().unwrap_or_default();
        let name =
            if is_in(SECTIONS, name) { name.to_owned() } else { tables::words_but(redactor, name, SECTIONS) };
        return format!("[{name}]");
    }
    let Some((key, value)) = text.split_once('=') else { return String::new() };
    let (key, value) = (key.trim(), value.trim());
    let known = |is_known: bool| if is_known { value.to_owned() } else { REDACTED.to_owned() };
    let value = match key {
        "type" => known(is_in(SECTIONS, value)),
        "devices" => known(is_device_pattern(value)),
        "readahead" => known(is_number(value.trim_end_matches('s').trim_end())),
        _ => setting_value(value),
    };
    let key = if key.starts_with("/sys/") { sys_path(key) } else { plain_name(key).to_owned() };
    format!("{key}={value}")
}

/// The writes of a service's command or a script's line, and nothing else of it.
fn command(text: &str) -> String {
    let (first, command) = match text.split_once('=') {
        Some((name, command)) if name.starts_with("ExecStart") => (format!("{}=", plain_name(name)), command),
        _ => (String::new(), text),
    };
    let writes = shell_writes(command).into_iter().map(|(path, value)| {
        let value = setting_value(&value);
        match path.as_str() {
            "cpupower frequency-set -g" | "cpupower set --epp" => format!("{path} {value}"),
            path => format!("echo {value} > {}", sys_path(path)),
        }
    });
    first + &writes.collect::<Vec<_>>().join("; ")
}

/// A rule of a machine.
pub(super) fn rule(redactor: &mut Redactor, rule: &mut SettingRule) {
    rule.path = path(redactor, &rule.path).into();
    let is_pattern = |names: &Label| is_device_pattern(names.as_str());
    rule.names = rule.names.take().map(|names| if is_pattern(&names) { names } else { Label::new(REDACTED) });
    words_of_rule(redactor, rule, |_| false);
}

/// What a rule writes: its value passes if it is one that a setting takes, or of words that the kernel offers.
pub(super) fn words_of_rule(
    redactor: &mut Redactor,
    rule: &mut SettingRule,
    is_offered: impl Fn(&str) -> bool,
) {
    let text = rule.text.as_str();
    let text = match rule.kind {
        RuleKind::Argument => super::arguments::command_line(redactor, text),
        RuleKind::ModuleOption => module_options(text),
        RuleKind::Udev => udev_line(text),
        RuleKind::Tmpfile => tmpfile(text),
        RuleKind::Unit | RuleKind::Script => command(text),
        RuleKind::Tuned => tuned(redactor, text),
    };
    let value = rule.value.as_str();
    let is_argument = matches!(rule.kind, RuleKind::Argument | RuleKind::ModuleOption);
    // Of arguments also long numbers go.
    let is_value = is_setting_value(value) && !(is_argument && text.contains(REDACTED));
    if !is_value && !value.split('|').map(str::trim).all(is_offered) {
        rule.value = Label::new(REDACTED);
    }
    rule.text = Label::new(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::rules::{parse, udev};

    #[test]
    fn rules_of_udev_keep_what_sets_a_setting() {
        let kept = "ACTION==\"add|change\", KERNEL==\"nvme[0-9]*n[0-9]*\", ATTR{queue/scheduler}=\"none\"";
        assert_eq!(udev_line(kept), kept);
        for (line, expected) in [
            ("# hunter2", "#"),
            (
                "KERNEL==\"sd?\", ENV{ID_SERIAL}==\"hunter2\", ATTR{queue/nomerges}=\"2\"",
                "KERNEL==\"sd?\", ENV{ID_SERIAL}==\"<redacted>\", ATTR{queue/nomerges}=\"2\"",
            ),
            ("ACTION==\"add\", RUN+=\"/bin/sh -c hunter2\" hunter2", "ACTION==\"add\", RUN+=\"<redacted>\""),
            (
                "hunter2==\"x\", ENV{hunter2}=\"y\" \\",
                "<redacted>==\"<redacted>\", ENV{<redacted>}=\"<redacted>\" \\",
            ),
            ("ATTR{queue/scheduler}=\"hunter2\"", "ATTR{queue/scheduler}=\"<redacted>\""),
        ] {
            assert_eq!(udev_line(line), expected);
            let names =
                |text: &str| udev::parse("/x", text).into_iter().map(|rule| rule.names).collect::<Vec<_>>();
            assert_eq!(names(line), names(expected), "{line}");
        }
    }

    #[test]
    fn a_value_of_a_rule_is_one_that_settings_take_or_the_kernel_offers() {
        let shown = |line: &str, is_offered: fn(&str) -> bool| {
            let mut rule = parse(line).remove(0);
            words_of_rule(&mut Redactor::new(), &mut rule, is_offered);
            (rule.value.to_string(), rule.text.to_string())
        };
        let write = |value: &str| {
            format!("/etc/tmpfiles.d/a.conf:1:w /sys/block/sda/queue/scheduler - bob - - {value}")
        };
        let text = |value: &str| format!("w /sys/block/sda/queue/scheduler - <redacted> - - {value}");
        let redacted = || REDACTED.to_owned();
        assert_eq!(shown(&write("none"), |_| false), ("none".to_owned(), text("none")));
        assert_eq!(shown(&write("hunter2"), |_| false), (redacted(), text(REDACTED)));
        assert_eq!(shown(&write("adios"), |word| word == "adios"), ("adios".to_owned(), text(REDACTED)));
        let option = |value: &str| format!("/etc/modprobe.d/a.conf:1:options nvme poll_queues={value}");
        assert_eq!(shown(&option("4"), |_| false).0, "4");
        assert_eq!(shown(&option("731427629"), |_| false).0, REDACTED, "a long number may be an id");
    }

    #[test]
    fn lines_of_boot_files_set_the_same_and_say_no_more() {
        let lines = "\
/etc/modprobe.d/acme.conf:1:options nvme poll_queues=4 # hunter2
/etc/tmpfiles.d/acme.conf:2:w /sys/block/nvme0n1/queue/scheduler - bob - - none
/etc/systemd/system/acme.service:7:ExecStart=/bin/sh -c 'curl -u bob:hunter2 x; echo 2 > /sys/block/sda/queue/nomerges'
/opt/acme/tune.sh:3:for d in /sys/block/nvme*; do echo none > $d/queue/scheduler; TOKEN=hunter2; done
/etc/systemd/system/acme.service:9:ExecStart=/usr/bin/cpupower frequency-set -g performance --token hunter2
/etc/tuned/acme/tuned.conf:4:[disk]
/etc/tuned/acme/tuned.conf:5:elevator=none
/etc/tuned/acme/tuned.conf:6:devices=nvme*
/etc/tuned/acme/tuned.conf:7:[acme]
/etc/tuned/acme/tuned.conf:8:replace=hunter2
";
        let mut redactor = Redactor::new();
        let redacted = boot_rules(&mut redactor, lines);
        for gone in ["hunter2", "acme", "bob", "curl", "TOKEN"] {
            assert!(!redacted.contains(gone), "{gone} in {redacted}");
        }
        let told = |text: &str| {
            let rules = parse(text).into_iter();
            rules.map(|rule| (rule.kind, rule.line, rule.setting, rule.value)).collect::<Vec<_>>()
        };
        assert_eq!(told(&redacted), told(lines), "{redacted}");
        assert_eq!(boot_rules(&mut redactor, &redacted), redacted, "done twice is done once");
    }
}
