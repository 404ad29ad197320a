//! Forms of values known to be harmless: numbers, kernel names of block devices, words of settings. All else is redacted.

/// Stands for a value that is not known to be harmless.
pub(super) const REDACTED: &str = "<redacted>";

/// Files of `queue/` that udev rules, tmpfiles and profiles set or test.
const QUEUE_FILES: &str = "\
    scheduler read_ahead_kb nr_requests max_sectors_kb nomerges rq_affinity wbt_lat_usec iostats add_random rotational \
    io_poll io_poll_delay io_timeout write_cache async_depth iostats_passthrough discard_max_bytes zoned fua dax";

/// Words that settings take.
const SETTING_WORDS: &str = "\
    none noop deadline mq-deadline cfq bfq kyber performance powersave powersupersave ondemand conservative schedutil \
    userspace default balance_performance balance_power power on off auto Y N y n true false yes no write back through \
    always madvise never";

/// Parts of paths below /sys that lead to a setting.
const SYS_WORDS: &str = "\
    sys block class devices system cpu cpufreq queue scaling_governor energy_performance_preference module nvme \
    nvme_core nvme-core pcie_aspm parameters poll_queues write_queues default_ps_max_latency_us policy default_governor \
    bus pci power control link l1_aspm device iosched virtual";

/// First parts of kernel names with a number behind them.
const NUMBERED: [&str; 20] = [
    "loop", "md", "dm-", "zram", "ram", "sr", "nbd", "mmcblk", "bcache", "zd", "rbd", "drbd", "pmem",
    "ublkb", "nullb", "fd", "policy", "mtdblock", "rnbd", "pktcdvd",
];

/// First parts of kernel names with letters behind them.
const LETTERED: [&str; 6] = ["sd", "xvd", "vd", "hd", "dasd", "rssd"];

/// Whether `word` is one of the words of `list`. A table of mounts asks millions of times, mostly in vain: bytes are searched, words
/// are not compared one by one.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    let (list, bytes) = (list.as_bytes(), word.as_bytes());
    let is_alone = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| list.get(before));
        [before, list.get(at + bytes.len())].into_iter().flatten().all(u8::is_ascii_whitespace)
    };
    !bytes.is_empty()
        && !bytes.iter().any(u8::is_ascii_whitespace)
        && memchr::memmem::find_iter(list, bytes).any(is_alone)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A decimal or hexadecimal number, a range, a size: `12`, `-1`, `0x1f`, `0-7`, `0-7/2`, `64M`, `30%`.
pub(super) fn is_number(text: &str) -> bool {
    const MOST: usize = 20;
    let text = text.strip_prefix(['-', '+', '<', '>']).unwrap_or(text);
    if text.len() > MOST {
        return false;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let text = text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T', '%']).unwrap_or(text);
    text.split(['-', '/']).all(is_digits)
}

/// The kernel's name of a block device or partition: `nvme0n1p2`, `sda1`, `dm-3`. And iodyno's name of a controller whose name an
/// opened text does not have: `nvme@07:00.0`.
pub(super) fn is_kernel_device(name: &str) -> bool {
    if let Some(address) = name.strip_prefix("nvme@") {
        let is_address = |text: &str| text.parse::<crate::model::PciAddress>().is_ok();
        return address == "unnamed" || is_address(address) || is_address(&format!("0000:{address}"));
    }
    let is_partition =
        |rest: &str| rest.strip_prefix('p').is_none_or(is_digits) && !rest.contains(char::is_whitespace);
    let numbered = |rest: &str| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        digits > 0
            && (rest[digits..].is_empty() || rest[digits..].starts_with('p') && is_partition(&rest[digits..]))
    };
    if let Some(rest) = name.strip_prefix("nvme") {
        // nvme0n1p2, and nvme0c1n1 of a path.
        return rest.split(['c', 'n', 'p']).all(is_digits) && rest.contains('n');
    }
    let lettered = |rest: &str| {
        let letters = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
        (1..=3).contains(&letters) && (rest[letters..].is_empty() || is_digits(&rest[letters..]))
    };
    LETTERED.iter().filter_map(|first| name.strip_prefix(first)).any(lettered)
        || NUMBERED.iter().filter_map(|first| name.strip_prefix(first)).any(numbered)
}

/// A pattern of kernel names, as udev and shells have them: `nvme[0-9]*n[0-9]*|sd?`, `*`.
pub(super) fn is_device_pattern(text: &str) -> bool {
    !text.is_empty() && text.split(['|', ',', ' ']).filter(|one| !one.is_empty()).all(is_one_pattern)
}

fn is_one_pattern(pattern: &str) -> bool {
    let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
    let firsts = LETTERED.iter().chain(&NUMBERED).chain(&["nvme", "cpu", ""]);
    firsts.filter_map(|first| Some((first, pattern.strip_prefix(first)?))).any(|(first, rest)| {
        let mut in_brackets = false;
        let mut letters = 0;
        let is_harmless = rest.chars().all(|c| match c {
            '[' => !std::mem::replace(&mut in_brackets, true),
            ']' => std::mem::replace(&mut in_brackets, false),
            '0'..='9' | '*' | '?' => true,
            '!' | '^' | '-' | 'a'..='z' if in_brackets => true,
            'n' | 'p' | 'c' if *first == "nvme" => true,
            'p' if NUMBERED.contains(first) => true,
            'a'..='z' if LETTERED.contains(first) => {
                letters += 1;
                letters <= 3
            }
            _ => false,
        });
        is_harmless && !in_brackets && (!first.is_empty() || !rest.is_empty())
    })
}

/// A value that a setting takes, or several with `|` between them.
pub(super) fn is_setting_value(value: &str) -> bool {
    let value = value.trim();
    !value.is_empty() && value.split('|').map(str::trim).all(is_setting_word)
}

/// A number or a word that a setting takes.
pub(super) fn is_setting_word(word: &str) -> bool {
    is_number(word) || is_in(SETTING_WORDS, word)
}

/// The value, if it is one that a setting takes.
pub(super) fn setting_value(value: &str) -> String {
    if is_setting_value(value) { value.trim().to_owned() } else { REDACTED.to_owned() }
}

pub(super) fn is_queue_file(name: &str) -> bool {
    is_in(QUEUE_FILES, name)
}

/// A path below /sys with its known parts; others are redacted.
pub(super) fn sys_path(path: &str) -> String {
    let is_known = |part: &str| {
        part.is_empty()
            || is_in(SYS_WORDS, part)
            || is_queue_file(part)
            || is_kernel_device(part)
            || is_device_pattern(part)
            || part.parse::<crate::model::PciAddress>().is_ok()
    };
    let parts = path.split('/').map(|part| if is_known(part) { part } else { REDACTED });
    parts.collect::<Vec<_>>().join("/")
}

/// The name of an argument or option: a short plain word, or redacted.
pub(super) fn plain_name(name: &str) -> &str {
    const MOST: usize = 40;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !name.is_empty() && name.len() <= MOST && name.chars().all(is_plain) { name } else { REDACTED }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_is_found_where_it_stands_alone(list in "[ab \n]{0,20}", word in "[ab ]{0,3}") {
            let listed = list.split_ascii_whitespace().any(|one| one == word);
            prop_assert_eq!(is_in(&list, &word), listed, "{:?} in {:?}", word, list);
        }
    }

    #[test]
    fn numbers_devices_and_patterns_are_known_by_their_form() {
        for number in ["0", "-1", "0x1f", "0-7", "2-5/2", "64M", "30%", ">1024"] {
            assert!(is_number(number), "{number}");
        }
        for device in
            ["nvme0n1", "nvme10n1p2", "nvme0c1n1", "sda", "sdaa12", "vdb1", "dm-3", "md127p1", "mmcblk0p1"]
        {
            assert!(is_kernel_device(device), "{device}");
        }
        for device in ["nvme@07:00.0", "nvme@10000:41:00.0", "nvme@unnamed"] {
            assert!(is_kernel_device(device), "{device}");
        }
        for pattern in
            ["nvme*", "nvme[0-9]*n[0-9]*|sd?", "sd[a-z]", "*", "sda,sdb", "sd*[!0-9]", "cpu*", "policy*"]
        {
            assert!(is_device_pattern(pattern), "{pattern}");
        }
        for none in [
            "",
            "hunter2",
            "0xhunter",
            "nvme",
            "nvmehunter2",
            "sdhunter2",
            "md_hunter2",
            "dm-hunter",
            "1.2.3.4",
            "nvme@hunter2",
        ] {
            assert!(!is_number(none) && !is_kernel_device(none), "{none}");
        }
        for none in ["", "hunter2", "nvmehunter2*", "sd[hunter", "md_hunter2", "S4EWNX0R123456"] {
            assert!(!is_device_pattern(none), "{none}");
        }
    }

    #[test]
    fn a_path_of_sysfs_keeps_what_leads_to_a_setting() {
        for path in [
            "/sys/block/nvme*/queue/scheduler",
            "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            "/sys/module/nvme/parameters/poll_queues",
            "/sys/bus/pci/devices/*/power/control",
            "/sys/bus/pci/devices/0000:41:00.0/link/l1_aspm",
        ] {
            assert_eq!(sys_path(path), path);
        }
        assert_eq!(sys_path("/sys/block/hunter2/x"), "/sys/block/<redacted>/<redacted>");
    }
}
