//! Pseudonyms for serials, names and addresses: same length, stable within one file.
//!
//! [`Redactor`] learns the originals from all files of a machine, then replaces them in text and in binary records. A
//! pseudonym is a running number in the shape of the original, so that the result still parses: `S4EWNX0R123456` becomes
//! `X0XXXX0X000001`, `192.168.1.10` becomes `100.100.0.11`. Of free text (kernel arguments, rules, mount options, names of
//! interrupts) only what is known to be harmless passes; a value of no known form becomes `<redacted>`.

mod arguments;
mod boot_files;
mod capture;
mod forms;
mod kernel_tables;
mod machine;
mod originals;
mod patterns;
mod pseudonyms;
mod records;
mod results;
mod tables;

pub use capture::capture_text;
pub(crate) use machine::hide_unknown_values;
use std::borrow::Cow;

use originals::Originals;
use pseudonyms::{Pseudonyms, Shape};

use crate::source::{nvme::messages, open_files};

/// Replaces everything that identifies a person or a device.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    pseudonyms: Pseudonyms,
    /// Serials long enough to be searched for everywhere.
    serials: Originals,
    /// Names that follow one of [`NAMED`] in those of devices.
    arrays: Originals,
    /// Names of other devices that are not the kernel's.
    devices: Originals,
    /// Host and user names, searched for in `/proc`, `/etc` and mounts, not in `/sys`.
    names: Originals,
}

/// Shorter serials are replaced only where a serial is expected.
const LEAST_SERIAL: usize = 5;

/// Longer ones are no serials: they are replaced in their own file alone.
const LONGEST_SERIAL: usize = 256;

/// Serials of this length are replaced even inside longer words; shorter ones only where they stand alone.
const LEAST_UNMISTAKABLE: usize = 8;

/// Begin the names of devices with a name of the user's: an md array (mdadm's `CREATE names=yes`), a DRBD resource.
const NAMED: [&str; 2] = ["md_", "drbd_"];

/// Firmware's placeholders for a missing serial.
const PLACEHOLDERS: &[&str] = &[
    "none",
    "n/a",
    "unknown",
    "default string",
    "not specified",
    "not provided",
    "not available",
    "not applicable",
    "no asset tag",
    "no asset information",
    "to be filled by o.e.m.",
    "system serial number",
    "asset-1234567890",
    "chassis serial number",
];

/// The kind of content of a file, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum File {
    Serial,
    WorldwideId,
    HexId,
    HostName,
    /// `name=` among other lines.
    HostProbe,
    Mounts,
    DeviceUsers,
    Path,
    CommandLine,
    /// A name of a device mapper volume.
    Volume,
    /// Its id: the maker, an id, and often its name.
    VolumeId,
    /// A rules file of udev.
    UdevRules,
    /// Timeouts and resets in the kernel log.
    NvmeMessages,
    /// `/probe/boot-rules`.
    BootRules,
    Interrupts,
    CpuInfo,
    Distribution,
    ControlGroups,
    /// Keys and numbers.
    Counters,
    /// `/proc/version`, which contains user and host of the kernel's build.
    KernelVersion,
    /// Words of the kernel: a queue's settings, the state of an array.
    Attribute,
    /// Sentences of the kernel about a vulnerability of the CPUs.
    Vulnerability,
    /// Names of hardware and its makers: what a capture is for.
    Hardware,
    /// Free text.
    Worldly,
    /// Results of tests, some with a serial number.
    MeasuredLimits,
    /// A version, which may look like an IP address.
    Version,
    IdentifyController,
    IdentifyNamespace,
    Smbios,
    ConfigSpace,
    VitalProductData,
    /// An NVMe record of numbers.
    Record,
    /// A table of device mapper.
    DmTable,
    /// Supported flags of `io_uring`.
    Flags,
    Other,
}

impl File {
    fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        if path.starts_with("/ioctl/") {
            // Answers of devices are binary, whatever else has such a name.
            return match name {
                "identify-ctrl" => Self::IdentifyController,
                "identify-ns" => Self::IdentifyNamespace,
                "table" => Self::DmTable,
                _ => Self::Record,
            };
        }
        match name {
            "mountinfo" | "mounts" | "swaps" | "fstab" => return Self::Mounts,
            "hostname" | "domainname" => return Self::HostName,
            "cmdline" => return Self::CommandLine,
            "interrupts" => return Self::Interrupts,
            "cpuinfo" => return Self::CpuInfo,
            "os-release" => return Self::Distribution,
            "cgroup" => return Self::ControlGroups,
            "name" if path.ends_with("/dm/name") => return Self::Volume,
            "uuid" if path.ends_with("/dm/uuid") => return Self::VolumeId,
            _ if is_rules_file(name) => return Self::UdevRules,
            "meminfo" | "vmstat" | "stat" | "arcstats" => return Self::Counters,
            _ if path.starts_with("/proc/pressure/") => return Self::Counters,
            "version" if path.starts_with("/proc/") => return Self::KernelVersion,
            "backing_file" => return Self::Path,
            "wwid" => return Self::WorldwideId,
            "eui" | "cid" | "nguid" | "machine-id" | "boot_id" => return Self::HexId,
            "serial" | "serial_number" | "unique_id" => return Self::Serial,
            "config" if path.starts_with("/sys/") => return Self::ConfigSpace,
            "firmware_rev" | "fwrev" | "rev" | "osrelease" | "modalias" | "version" => return Self::Version,
            _ => {}
        }
        if path == open_files::PROBE {
            Self::DeviceUsers
        } else if path == messages::PROBE {
            Self::NvmeMessages
        } else if path == "/probe/host" {
            Self::HostProbe
        } else if path == "/probe/measured-limits" {
            Self::MeasuredLimits
        } else if path == "/probe/boot-rules" {
            Self::BootRules
        } else if name.ends_with("_serial") || name.ends_with("_asset_tag") {
            Self::Serial
        } else if name.ends_with("_version") || name.ends_with("_release") {
            Self::Version
        } else if name.starts_with("vpd") {
            Self::VitalProductData
        } else if path.starts_with("/sys/firmware/dmi/") {
            Self::Smbios
        } else if is_hardware(path, name) {
            Self::Hardware
        } else if path.contains("/cpu/vulnerabilities/") {
            Self::Vulnerability
        } else if path == "/probe/io_uring" {
            Self::Flags
        } else if path == "/probe/euid" || path.starts_with("/sys/") || path.starts_with("/proc/") {
            Self::Attribute
        } else if path.starts_with("/probe/") {
            Self::Other
        } else {
            Self::Worldly
        }
    }

    const fn is_record(self) -> bool {
        matches!(
            self,
            Self::IdentifyController
                | Self::IdentifyNamespace
                | Self::Smbios
                | Self::ConfigSpace
                | Self::VitalProductData
                | Self::Record
        )
    }
}

impl Redactor {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns the serials and names of a file, which may occur in others. Call it for all files before
    /// [`Self::content`].
    pub fn learn(&mut self, path: &str, content: &[u8]) {
        let text = &*as_text(content);
        match File::of(path) {
            File::Serial => self.learn_serial(text),
            File::HostName => self.learn_name(text.trim()),
            File::HostProbe => {
                for name in text.lines().filter_map(|line| line.strip_prefix("name=")) {
                    self.learn_name(name);
                }
            }
            File::Mounts | File::DeviceUsers | File::Path | File::CommandLine => {
                for user in tables::users(text) {
                    self.learn_name(&user);
                }
            }
            File::IdentifyController | File::Smbios | File::VitalProductData => {
                for serial in records::serials(path, content) {
                    self.learn_serial(&serial);
                }
            }
            _ => {}
        }
    }

    fn learn_serial(&mut self, raw: &str) {
        let serial = raw.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if is_placeholder(serial) {
            return;
        }
        self.pseudonyms.of(serial, Shape::Text);
        let only_digits = serial.bytes().all(|byte| byte.is_ascii_digit());
        let least = if only_digits { 2 * LEAST_SERIAL } else { LEAST_SERIAL };
        if (least..=LONGEST_SERIAL).contains(&serial.len()) {
            self.serials.insert(serial);
        }
    }

    /// Learns the name of a device that the user gave it: of an md array that of `md_NAME`.
    fn learn_device(&mut self, device: &str) {
        let named = NAMED.iter().find_map(|first| device.strip_prefix(first));
        let (known, name) = match named {
            Some(name) => (&mut self.arrays, name),
            None if forms::is_kernel_device(device) => return,
            None => (&mut self.devices, device),
        };
        if name.chars().any(char::is_alphanumeric) {
            known.insert(name);
        }
    }

    fn learn_name(&mut self, name: &str) {
        const SAYS_NOTHING: &[&str] = &["", "localhost", "(none)", "root"];
        if SAYS_NOTHING.contains(&name) || !self.names.insert(name) {
            return;
        }
        // The first label of a full name also occurs alone.
        if let Some((host, _)) = name.split_once('.') {
            self.learn_name(host);
        }
    }

    /// A file's content with pseudonyms: same length, same structure.
    pub fn content(&mut self, path: &str, content: &[u8]) -> Vec<u8> {
        let file = File::of(path);
        // A record has zeros; a text in its place is not the drive's.
        if file.is_record() && (content.contains(&0) || std::str::from_utf8(content).is_err()) {
            return self.binary(file, path, content);
        }
        let text = &*as_text(content);
        let replaced = match file {
            File::Serial | File::HostName => self.whole(text, Shape::Text),
            File::WorldwideId => self.worldwide_id(text),
            File::HexId => self.whole(text, Shape::Hex),
            File::HostProbe => self.host_probe(text),
            File::Mounts => tables::mounts(self, text),
            File::DeviceUsers => tables::device_users(self, text),
            File::Path => tables::words(self, text),
            File::CommandLine => arguments::command_line(self, text),
            File::Volume => tables::volume(self, text),
            File::VolumeId => tables::volume_id(self, text),
            File::UdevRules => boot_files::udev(text),
            File::NvmeMessages => {
                let known: String =
                    text.lines().filter_map(messages::message).map(|it| messages::line(&it)).collect();
                self.sweep(&known)
            }
            File::BootRules => boot_files::boot_rules(self, text),
            File::Interrupts => kernel_tables::interrupts(self, text),
            File::CpuInfo => kernel_tables::cpu_info(self, text),
            File::Distribution => kernel_tables::distribution(self, text),
            File::ControlGroups => kernel_tables::control_groups(self, text),
            File::Counters => kernel_tables::counters(self, text),
            File::KernelVersion => tables::kernel_version(self, text),
            File::Attribute => kernel_tables::attribute(self, text),
            File::Vulnerability => kernel_tables::vulnerability(self, text),
            File::Worldly => self.worldly(text),
            File::Version => self.sweep(text),
            File::MeasuredLimits => {
                let lines = text.split_inclusive('\n').map(|line| tables::measured_limit(self, line));
                lines.collect()
            }
            File::Other | File::Hardware => {
                let text = self.sweep(text);
                patterns::addresses(&mut self.pseudonyms, &text)
            }
            File::DmTable => kernel_tables::dm_table(self, text),
            File::Flags => kernel_tables::ring_flags(self, text),
            File::IdentifyController
            | File::IdentifyNamespace
            | File::Smbios
            | File::ConfigSpace
            | File::VitalProductData
            | File::Record => tables::words_but(self, text, ""),
        };
        replaced.into_bytes()
    }

    /// Why a value is missing: what it quotes of a file passes only if it is a word of the kernel or a number.
    pub(crate) fn reason(&mut self, reason: &str) -> String {
        // Quotes have escapes as Rust's strings: a quotation mark in one is behind a backslash.
        let mut out = String::with_capacity(reason.len());
        let mut rest = reason;
        while let Some((before, quote)) = rest.split_once('"') {
            let is_end =
                |at: usize| quote[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0;
            let end = quote.match_indices('"').map(|(at, _)| at).find(|at| is_end(*at));
            let (quoted, behind) = end.map_or((quote, ""), |end| (&quote[..end], &quote[end + 1..]));
            let is_plain = kernel_tables::attribute(self, quoted) == quoted;
            let shown = if is_plain { quoted } else { forms::REDACTED };
            out.extend([&*self.worldly(before), "\"", shown, "\""]);
            rest = behind;
        }
        out + &self.worldly(rest)
    }

    /// Free text: replaces serials, ids, addresses and names everywhere.
    pub(crate) fn worldly(&mut self, text: &str) -> String {
        let text = self.sweep(text);
        let text = patterns::addresses(&mut self.pseudonyms, &text);
        self.named(&text)
    }

    /// Replaces known serials, and ids recognized by their form.
    pub(crate) fn sweep(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for serial in self.serials.within(&text) {
            let pseudonyms = &mut self.pseudonyms;
            text = if serial.len() >= LEAST_UNMISTAKABLE && text.contains(serial) {
                text.replace(serial, &pseudonyms.of(serial, Shape::Text))
            } else {
                patterns::replace_word(&text, serial, || pseudonyms.of(serial, Shape::Text))
            };
        }
        for name in self.arrays.within(&text) {
            // `md_NAME1` is a partition. Alone the name may be a word of a sentence, unless it is long.
            let pseudonym = self.pseudonyms.of(name, Shape::Text);
            for first in NAMED {
                text = text.replace(&format!("{first}{name}"), &format!("{first}{pseudonym}"));
            }
            if name.len() >= LEAST_UNMISTAKABLE {
                text = text.replace(name, &pseudonym);
            }
        }
        for name in self.devices.within(&text) {
            let pseudonyms = &mut self.pseudonyms;
            text = if name.len() >= LEAST_UNMISTAKABLE && text.contains(name) {
                text.replace(name, &pseudonyms.of(name, Shape::Text))
            } else {
                patterns::replace_word(&text, name, || pseudonyms.of(name, Shape::Text))
            };
        }
        patterns::ids(&mut self.pseudonyms, &text)
    }

    fn named(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for name in self.names.within(&text) {
            text = patterns::replace_word(&text, name, || self.pseudonyms.of(name, Shape::Text));
        }
        text
    }

    /// Content that is one secret, padded with white space or zeros.
    fn whole(&mut self, text: &str, shape: Shape) -> String {
        let is_padding = |c: char| c.is_whitespace() || c == '\0';
        let trimmed = text.trim_matches(is_padding);
        if is_placeholder(trimmed) || trimmed == "localhost" || trimmed == "(none)" {
            return text.to_owned();
        }
        let start = text.len() - text.trim_start_matches(is_padding).len();
        let end = start + trimmed.len();
        format!("{}{}{}", &text[..start], self.pseudonyms.of(trimmed, shape), &text[end..])
    }

    fn host_probe(&mut self, text: &str) -> String {
        let lines = text.split_inclusive('\n').map(|line| match line.split_once('=') {
            Some(("name", name)) => format!("name={}", self.whole(name, Shape::Text)),
            Some(("distribution", name)) => {
                format!("distribution={}", kernel_tables::distribution_name(self, name))
            }
            Some(("kernel", release)) => {
                let (release, more) = release.split_once(' ').unwrap_or((release, ""));
                let gap = if more.is_empty() { "" } else { " " };
                format!("kernel={}{gap}{}", self.sweep(release), tables::words_but(self, more, ""))
            }
            _ => tables::words_but(self, line, ""),
        });
        lines.collect()
    }

    /// `eui.0025385b71b01e26`, `uuid.6b1d...`, `naa.5002...`, `nvme.144d-<serial in hex>-<model in hex>-00000001`,
    /// `t10.ATA     Model      Serial`.
    fn worldwide_id(&mut self, text: &str) -> String {
        let is_hex = |part: &str| part.bytes().all(|digit| digit.is_ascii_hexdigit());
        let trimmed = text.trim_end();
        let end = &text[trimmed.len()..];
        let replaced = match trimmed.split_once('.') {
            Some(("nvme", rest)) => match rest.split('-').collect::<Vec<_>>()[..] {
                [vendor, serial, model, namespace]
                    if [vendor, model, namespace].iter().all(|part| is_hex(part)) =>
                {
                    format!("nvme.{vendor}-{}-{model}-{namespace}", self.serial_in_hex(serial))
                }
                _ => format!("nvme.{}", self.whole(rest, Shape::Text)),
            },
            Some(("t10", rest)) => {
                let (model, serial) = rest.rsplit_once(' ').unwrap_or(("", rest));
                let gap = if model.is_empty() { "" } else { " " };
                let model = self.sweep(model);
                format!("t10.{model}{gap}{}", self.whole(serial, Shape::Text))
            }
            Some((kind @ ("eui" | "uuid" | "naa"), id)) => format!("{kind}.{}", self.whole(id, Shape::Hex)),
            _ => self.whole(trimmed, Shape::Text),
        };
        replaced + end
    }

    /// A serial written as the hexadecimal digits of its bytes.
    fn serial_in_hex(&mut self, digits: &str) -> String {
        let pairs = digits.as_bytes().chunks(2).map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        });
        let bytes: Option<Vec<u8>> = pairs.collect();
        match bytes.map(String::from_utf8) {
            Some(Ok(serial)) => records::hex(self.whole(&serial, Shape::Text).as_bytes()),
            _ => self.whole(digits, Shape::Hex),
        }
    }

    fn binary(&mut self, file: File, path: &str, content: &[u8]) -> Vec<u8> {
        let mut bytes = content.to_vec();
        match file {
            File::IdentifyController => records::identify_controller(self, &mut bytes),
            File::IdentifyNamespace => records::identify_namespace(self, &mut bytes),
            File::Smbios => records::smbios(self, path, &mut bytes),
            File::ConfigSpace => records::config_space(self, &mut bytes),
            File::VitalProductData => records::vital_product_data(self, path, &mut bytes),
            _ => {}
        }
        self.sweep_bytes(&mut bytes);
        bytes
    }

    /// Replaces known serials anywhere in a record.
    fn sweep_bytes(&mut self, bytes: &mut [u8]) {
        for serial in self.serials.all() {
            let needle = serial.as_bytes();
            let mut at = 0;
            while let Some(found) = bytes[at..].windows(needle.len()).position(|window| window == needle) {
                let pseudonym = self.pseudonyms.of(serial, Shape::Text);
                bytes[at + found..at + found + needle.len()].copy_from_slice(pseudonym.as_bytes());
                at += found + needle.len();
            }
        }
    }
}

/// The content as text of the same length, with `?` in the place of each byte that is none.
fn as_text(content: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(content) {
        return text.into();
    }
    let chunks = content.utf8_chunks();
    chunks.flat_map(|chunk| [chunk.valid().to_owned(), "?".repeat(chunk.invalid().len())]).collect()
}

/// Whether udev reads a file of that name.
fn is_rules_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending == "rules")
}

/// Whether a file of sysfs names hardware; all others have words of the kernel and numbers alone.
fn is_hardware(path: &str, name: &str) -> bool {
    const OF_BOARDS: [&str; 6] =
        ["board_name", "board_vendor", "product_name", "product_family", "sys_vendor", "bios_vendor"];
    path.starts_with("/sys/")
        && (name == "model"
            || path.contains("/dmi/id/") && OF_BOARDS.contains(&name)
            || name == "vendor" && !path.contains("/pci"))
}

fn is_placeholder(serial: &str) -> bool {
    let lower = serial.to_ascii_lowercase();
    let says_nothing = serial.chars().all(|c| matches!(c, '0' | ' ' | '-' | '.' | '_' | ':')) || {
        let mut chars = lower.chars();
        let first = chars.next();
        matches!(first, Some('f' | 'x')) && chars.all(|c| Some(c) == first)
    };
    says_nothing || PLACEHOLDERS.contains(&lower.as_str())
}

#[cfg(test)]
mod tests;
