//! Redacts tables of the kernel whose rows name more than drives: interrupts, CPUs, control groups, settings of systems; and
//! the words of its attributes.

use super::{
    Redactor,
    forms::{REDACTED, is_in, is_kernel_device, is_number, is_setting_word},
    patterns, tables,
};
use crate::model::errno_number;

/// Words behind the counts of an interrupt: chips, triggers, drivers with or without a number or queue.
const INTERRUPT_WORDS: &str = "\
    IO-APIC IR-IO-APIC PCI-MSI PCI-MSIX IR-PCI-MSI IR-PCI-MSIX DMAR-MSI HPET-MSI XT-PIC GICv2 GICv3 ITS-MSI ITS-MSIX \
    xen-dyn xen-pirq xen-percpu dummy edge level fasteoi Edge Level Edge-triggered none timer rtc0 rtc acpi i8042 nvme \
    virtio config input output virtqueues request requests ahci ahci_sea xhci_hcd ehci_hcd uhci_hcd aerdrv pciehp bwctrl \
    PCIe dpc pcie-dpc AMD-Vi dmar thermal ata_piix megasas mpt3sas snd_hda_intel mei_me psp ccp ttyS vmd pme PME req rx \
    tx TxRx";

/// Words behind the counts of the kernel's own interrupts: NMI, LOC, IPI0...
const KERNEL_INTERRUPT_WORDS: &str = "\
    Non-maskable Local timer Spurious Performance monitoring IRQ work APIC ICR read retries Rescheduling Function call TLB \
    shootdowns Thermal event Threshold Deferred Error Machine check exceptions polls Hypervisor callback Hyper-V \
    reenlightenment stimer0 Posted-interrupt Posted Nested posted-interrupt notification wakeup MSI Platform CPU stop (for crash \
    dump) NMIs Timer broadcast backtrace KGDB roundup interrupts interrupt";

/// Keys of `/proc/cpuinfo` that describe the processor.
const CPU_KEYS: &str = "\
    processor vendor_id cpu_family model model_name stepping microcode cpu_MHz cache_size physical_id siblings core_id \
    cpu_cores apicid initial_apicid fpu fpu_exception cpuid_level wp flags vmx_flags bugs bogomips BogoMIPS TLB_size \
    clflush_size cache_alignment address_sizes power_management Features CPU_implementer CPU_architecture CPU_variant \
    CPU_part CPU_revision isa mmu uarch hart";

/// Makers of processors (CPUID leaf 0).
const CPU_VENDORS: &str =
    "GenuineIntel AuthenticAMD HygonGenuine CentaurHauls GenuineTMx86 Shanghai Zhaoxin IBM/S390";

/// Keys of os-release(5) that name the distribution.
const DISTRIBUTION_KEYS: &str =
    "NAME PRETTY_NAME VERSION VERSION_ID VERSION_CODENAME ID ID_LIKE VARIANT VARIANT_ID BUILD_ID";

/// Words in the names of distributions and their releases.
const DISTRIBUTION_WORDS: &str = "\
    linux gnu os debian ubuntu fedora arch archlinux archarm manjaro endeavouros artix garuda cachyos mint linuxmint pop pop_os \
    elementary zorin kali raspbian raspberry pi proxmox ve truenas scale unraid nixos nix gentoo slackware void alpine opensuse \
    suse sles sled leap tumbleweed slowroll microos enterprise red hat rhel centos stream rocky almalinux alma oracle ol amazon \
    amzn scientific mageia openmandriva solus clear clear-linux-os steamos bazzite nobara ultramarine silverblue kinoite coreos \
    flatcar photon buildroot openwrt devuan mx pclinuxos parrot tails deepin uos kylin openeuler euler anolis qubes chimera \
    guix bottlerocket cos container-optimized server desktop workstation edition cloud minimal live lts rolling release core \
    base iot atomic kde plasma xfce gnome cinnamon mate host testing unstable stable sid \
    buster bullseye bookworm trixie forky bionic beaver focal fossa groovy gorilla hirsute hippo impish indri jammy jellyfish \
    kinetic kudu lunar lobster mantic minotaur noble numbat oracular oriole plucky puffin questing quokka resolute raccoon \
    una vanessa vera victoria virginia wilma xia zara green obsidian blue onyx plow teal serpent sage margay lime lynx \
    vicuna warbler xantusia yarara uakari holo noble_numbat container image thirty forty two one three four five six seven \
    eight nine";

/// Words in the paths of control groups.
const CGROUP_WORDS: &str = "\
    user system init machine session app background slice scope service docker podman libpod lxc crio containerd kubepods \
    besteffort burstable payload monitor unified fs cgroup sys blkio io max latency throttle read bps iops device dbus \
    ssh sshd tmux spawn";

/// Words of queues, arrays, caches and CPUs besides those of settings: schedulers, levels, states, algorithms, drivers.
const ATTRIBUTE_WORDS: &str = "\
    host-aware host-managed linear multipath faulty container raid0 raid1 raid4 raid5 raid6 raid10 clear inactive suspended \
    readonly read-auto clean active write-pending active-idle broken idle resync recover check repair reshape frozen \
    in_sync write_mostly spare blocked write_error want_replacement replacement external_bbl failfast journal file \
    clustered external metadata unknown max delayed system local ppl dirty nonpersistent imsm ddf writethrough writeback \
    writearound cache detaching lru fifo random lzo lzo-rle lz4 lz4hc zstd deflate 842 bps-default acpi-cpufreq \
    intel_pstate intel_cpufreq amd-pstate amd-pstate-epp cppc_cpufreq performance_power auto-off unthrottle \
    nvme drivetemp k10temp coretemp Composite Sensor \
    Unknown GT s PCIe pcie tcp rdma fc D0 D1 D2 D3hot D3cold live connecting deleting deleting_(no_IO) dead new resetting \
    read poll identity DMA DMA-FQ DMA-SVA Processor Mains Battery USB disk cdrom part enabled disabled inactive numa \
    round-robin queue-depth POLL haltpoll C1 C1E C1_ACPI C2 C2_ACPI C3 C3_ACPI C4 C6 C6S C6P C7 C7s C8 C9 C10 WFI eui uuid \
    rbps wbps riops wiops Read Write Sync Async Total Discard Device nonrot cache_unavailable RxErr BadTLP BadDLLP Rollover Timeout \
    NonFatalErr CorrIntErr HeaderOF TOTAL_ERR_COR TOTAL_ERR_FATAL TOTAL_ERR_NONFATAL Undefined DLP SDES TLP FCP CmpltTO \
    CmpltAbrt UnxCmplt RxOF MalfTLP ECRC UnsupReq ACSViol UncorrIntErr BlockedTLP AtomicOpBlocked TLPBlockedErr \
    PoisonTLPBlocked DMWrReqBlocked IDECheck MisIDETLP PCRC_CHECK TLPXlatBlocked";

/// Words of the kernel about vulnerabilities of CPUs.
const VULNERABILITY_WORDS: &str = "\
    Not affected Vulnerable Mitigation Processor vulnerable SMT Host state unknown disabled enabled \
    mitigated Safe RET safe Speculative Store Bypass via prctl and seccomp usercopy swapgs barriers __user pointer \
    sanitization Retpolines Retpoline Enhanced Automatic IBRS IBRS_FW IBPB conditional always-on STIBP forced \
    RSB filling PBRSB-eIBRS SW sequence BHI BHI_DIS_S PTI PTE Inversion Clear CPU buffers clear buffer \
    attempted no microcode user kernel boundary VMX cache flushes flush Microcode TSX Split huge pages before \
    exit to userspace untrained return thunk eIBRS LFENCE Register File Aligned branch thunks Predispatch on None CSV2";

/// Keys of counters that iodyno reads, and of their tables.
const COUNTER_KEYS: &str = "\
    cpu intr ctxt btime processes procs_running procs_blocked softirq page swap some full avg10 avg60 avg300 total kB \
    MemTotal MemFree MemAvailable Buffers Cached SwapCached Active Inactive Active(anon) Inactive(anon) Active(file) \
    Inactive(file) Unevictable Mlocked SwapTotal SwapFree Zswap Zswapped Dirty Writeback AnonPages Mapped Shmem KReclaimable \
    Slab SReclaimable SUnreclaim KernelStack PageTables SecPageTables NFS_Unstable Bounce WritebackTmp CommitLimit \
    Committed_AS VmallocTotal VmallocUsed VmallocChunk Percpu HardwareCorrupted AnonHugePages ShmemHugePages ShmemPmdMapped \
    FileHugePages FilePmdMapped CmaTotal CmaFree Unaccepted Balloon HugePages_Total HugePages_Free HugePages_Rsvd \
    c_max size name type data HugePages_Surp Hugepagesize Hugetlb DirectMap4k DirectMap2M DirectMap1G";

/// Words in tables of device mapper: targets, ciphers, options.
const DM_WORDS: &str = "\
    linear striped crypt snapshot snapshot-origin snapshot-merge thin thin-pool cache writecache integrity verity raid mirror \
    multipath delay zero error era clone dust flakey zoned vdo log-writes switch unstriped ebs allow_discards same_cpu_crypt \
    submit_from_crypt_cpus no_read_workqueue no_write_workqueue high_priority sector_size iv_large_sectors iv_large_block \
    aes xts plain plain64 plain64be essiv cbc lrw null benbi sha1 sha256 sha512 serpent twofish camellia adiantum xchacha12 \
    xchacha20 poly1305 ecb hmac capi raid0 raid1 raid4 raid5_ls raid5_la raid5_rs raid5_ra raid6_zr raid6_nr raid6_nc raid10 \
    writeback writethrough passthrough smq mq cleaner core disk handle_errors skip_block_zeroing ignore_discard \
    no_discard_passdown read_only error_if_no_space metadata2 p s region_size rebuild sync nosync P N";

/// First parts of the keys of `/proc/vmstat`.
const VMSTAT_KEYS: [&str; 20] = [
    "nr_",
    "pg",
    "psw",
    "numa_",
    "thp_",
    "workingset_",
    "compact_",
    "htlb_",
    "unevictable_",
    "balloon_",
    "swap_",
    "zswp",
    "kswapd_",
    "oom_",
    "drop_",
    "slabs_",
    "allocstall_",
    "direct_map_",
    "zone_",
    "vma_",
];

/// `/proc/interrupts`: names of drivers that are not known become pseudonyms, which network interfaces have.
pub(super) fn interrupts(redactor: &mut Redactor, text: &str) -> String {
    text.split_inclusive('\n').map(|line| interrupt(redactor, line)).collect()
}

fn interrupt(redactor: &mut Redactor, line: &str) -> String {
    let Some((label, rest)) = line.split_once(':') else {
        // The heading.
        let is_cpu = |word: &str| word.strip_prefix("CPU").is_some_and(is_number);
        return pieces(redactor, line, char::is_whitespace, is_cpu);
    };
    if !is_number(label.trim()) {
        // NMI, LOC, IPI0, Err: the kernel's own rows.
        let name = label.trim();
        let is_upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        if name != "Err" && (name.is_empty() || name.len() > 4 || !name.bytes().all(is_upper)) {
            return tables::words(redactor, line);
        }
        let is_known = |word: &str| is_number(word) || is_in(KERNEL_INTERRUPT_WORDS, word);
        return format!("{label}:{}", pieces(redactor, rest, char::is_whitespace, is_known));
    }
    let mut in_counts = true;
    let words = rest.split_inclusive([' ', '\t', ',', '\n']).map(|piece| {
        let word = piece.trim_end_matches([' ', '\t', ',', '\n']);
        in_counts &= word.bytes().all(|byte| byte.is_ascii_digit());
        let is_known = in_counts || is_interrupt_word(word) && !has_address(word);
        let replaced = if is_known { word.to_owned() } else { tables::words_but(redactor, word, "") };
        replaced + &piece[word.len()..]
    });
    format!("{label}:{}", words.collect::<String>())
}

/// Whether numbers between dots are an address, and no version or part of a name.
fn has_address(text: &str) -> bool {
    patterns::dotted_address(text).is_some()
}

fn is_interrupt_word(word: &str) -> bool {
    /// Longer numbers belong to chips, as `51380224-edge`, or are names.
    const MOST: usize = 6;
    let without_number = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let is_short = |part: &str| part.len() <= MOST && is_number(part);
    let is_known = |part: &str| is_short(part) || is_in(INTERRUPT_WORDS, &without_number(part));
    let is_line = |word: &str| {
        word.split_once('-').is_some_and(|(line, kind)| is_number(line) && is_in(INTERRUPT_WORDS, kind))
    };
    // virtio2-req.0
    let is_queue = |word: &str| word.split(['-', '.']).filter(|part| !part.is_empty()).all(is_known);
    let is_nvme = |word: &str| {
        word.strip_prefix("nvme")
            .and_then(|rest| rest.split_once('q'))
            .is_some_and(|(one, two)| is_number(one) && is_number(two))
    };
    let chip = ["IR-PCI-MSIX-", "IR-PCI-MSI-", "PCI-MSIX-", "PCI-MSI-", "ITS-MSIX-", "ITS-MSI-"];
    let of_function = chip.iter().filter_map(|chip| word.strip_prefix(chip));
    word.is_empty()
        || is_in(INTERRUPT_WORDS, word)
        || is_line(word)
        || of_function.into_iter().any(|rest| rest.parse::<crate::model::PciAddress>().is_ok())
        || is_nvme(word)
        || is_queue(word)
}

/// `key : value` lines of `/proc/cpuinfo`: model and maker, and numbers. Other values, such as a board's serial number or the
/// list of flags, which iodyno does not read, go.
pub(super) fn cpu_info(redactor: &mut Redactor, text: &str) -> String {
    let is_plain = |value: &str| {
        !has_address(value)
            && value.split_whitespace().all(|word| word.split('.').all(is_number) || is_setting_word(word))
    };
    keyed(text, ':', |key, value| match key.replace(' ', "_").as_str() {
        "model_name" => redactor.worldly(value),
        "vendor_id" if is_in(CPU_VENDORS, value.trim()) => value.to_owned(),
        key if is_in(CPU_KEYS, key) && is_plain(value) => value.to_owned(),
        key if is_in(CPU_KEYS, key) => format!(" {REDACTED}"),
        _ => tables::words_but(redactor, value, ""),
    })
}

/// `KEY=value` lines of os-release(5).
pub(super) fn distribution(redactor: &mut Redactor, text: &str) -> String {
    keyed(text, '=', |key, value| {
        if is_in(DISTRIBUTION_KEYS, key) {
            distribution_name(redactor, value)
        } else {
            tables::words_but(redactor, value, "")
        }
    })
}

/// The name of a distribution or of its release: known words and versions; other words become pseudonyms.
pub(super) fn distribution_name(redactor: &mut Redactor, name: &str) -> String {
    /// A date, `20251120`.
    const MOST: usize = 8;
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '(' | ')' | '/' | '!' | ',');
    let is_version = |word: &str| {
        word.bytes().filter(u8::is_ascii_digit).count() <= MOST
            && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_known = |word: &str| is_version(word) || is_in(DISTRIBUTION_WORDS, &word.to_lowercase());
    // `opensuse-leap`
    pieces(redactor, name, is_gap, |word| is_known(word) || word.split('-').all(is_known))
}

/// `value_of` gets key and value; of a line without a key the key is empty.
fn keyed(text: &str, separator: char, mut value_of: impl FnMut(&str, &str) -> String) -> String {
    let line = |line: &str| {
        let text = line.trim_end_matches('\n');
        let end = &line[text.len()..];
        match text.split_once(separator) {
            Some((key, value)) if is_key(&key.trim().replace(' ', "_")) => {
                format!("{key}{separator}{}{end}", value_of(key.trim(), value))
            }
            _ => value_of("", text) + end,
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

/// A path of control groups, or the lines of `/proc/PID/cgroup`.
pub(super) fn control_groups(redactor: &mut Redactor, text: &str) -> String {
    tables::words_but(redactor, text, CGROUP_WORDS)
}

/// A file of sysfs: words that are not the kernel's become pseudonyms.
pub(super) fn attribute(redactor: &mut Redactor, text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | ',' | '(' | ')' | '/' | ':' | '=');
    pieces(redactor, text, is_gap, |word| {
        let is_version = word.split('.').all(is_number);
        let is_known = is_version || is_setting_word(word) || is_in(ATTRIBUTE_WORDS, word);
        is_known || is_kernel_device(word) || is_hexadecimal(word)
    })
}

/// A short hexadecimal number without `0x`, as masks of CPUs and PCI addresses have them.
fn is_hexadecimal(word: &str) -> bool {
    const MOST: usize = 8;
    word.split('.')
        .all(|part| (1..=MOST).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A sentence of the kernel about a vulnerability: words that are not the kernel's become pseudonyms.
pub(super) fn vulnerability(redactor: &mut Redactor, text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || matches!(c, ';' | ',' | '(' | ')' | '/' | ':');
    pieces(redactor, text, is_gap, |word| is_in(VULNERABILITY_WORDS, word))
}

/// Lines of a table of device mapper: numbers, targets, ciphers, options.
pub(super) fn dm_table(redactor: &mut Redactor, text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '-' | ':' | '(' | ')');
    pieces(redactor, text, is_gap, |word| is_number(word) || is_in(DM_WORDS, word))
}

/// Lines of the probe of `io_uring`: flags and features, by the kernel's names.
pub(super) fn ring_flags(redactor: &mut Redactor, text: &str) -> String {
    /// Also flags that only other releases of iodyno try.
    const WORDS: &str = "flag accepted refused features SINGLE_ISSUER DEFER_TASKRUN COOP_TASKRUN TASKRUN_FLAG NO_SQARRAY \
                         SUBMIT_ALL IOPOLL HYBRID_IOPOLL SQPOLL SQE128_CQE32 SQE128 CQE32";
    pieces(redactor, text, char::is_whitespace, |word| {
        is_number(word) || is_in(WORDS, word) || errno_number(word).is_some()
    })
}

/// Replaces the words between gaps that are not known by pseudonyms.
fn pieces(
    redactor: &mut Redactor,
    text: &str,
    is_gap: impl Fn(char) -> bool + Copy,
    is_known: impl Fn(&str) -> bool,
) -> String {
    patterns::apart(redactor, text, |redactor, text| pieces_between(redactor, text, is_gap, &is_known))
}

fn pieces_between(
    redactor: &mut Redactor,
    text: &str,
    is_gap: impl Fn(char) -> bool + Copy,
    is_known: impl Fn(&str) -> bool,
) -> String {
    let replaced = text.split_inclusive(is_gap).map(|piece| {
        let word = piece.trim_end_matches(is_gap);
        let shown = if word.is_empty() || is_known(word) {
            word.to_owned()
        } else {
            tables::words_but(redactor, word, "")
        };
        shown + &piece[word.len()..]
    });
    replaced.collect()
}

/// Counters: a word and numbers a line. Other words become pseudonyms.
pub(super) fn counters(redactor: &mut Redactor, text: &str) -> String {
    let is_plain = |word: &str| {
        if has_address(word) {
            return false;
        }
        let parts = word.split(['=', ':', '.']).filter(|part| !part.is_empty());
        let mut parts = parts.map(|part| is_number(part) || is_counter(part));
        parts.all(|is_known| is_known)
    };
    text.split_inclusive([' ', '\t', '\n'])
        .map(|piece| {
            let word = piece.trim_end();
            let replaced =
                if is_plain(word) { word.to_owned() } else { tables::words_but(redactor, word, "") };
            replaced + &piece[word.len()..]
        })
        .collect()
}

/// A key of the kernel's counters.
fn is_counter(word: &str) -> bool {
    let plain = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_of_vmstat = VMSTAT_KEYS.iter().any(|first| word.starts_with(first))
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
    is_in(COUNTER_KEYS, word) || is_in(COUNTER_KEYS, plain) || is_of_vmstat
}

/// A key of os-release or cpuinfo: letters, digits and underscores.
fn is_key(word: &str) -> bool {
    const MOST: usize = 32;
    word.len() <= MOST
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_()".contains(&byte))
        && !word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_keep_drives_and_lose_interfaces() {
        let mut redactor = Redactor::new();
        let head = "            CPU0       CPU1\n";
        let kept = "\
  0:         69          0   IO-APIC   2-edge      timer
 35:         16          7   PCI-MSI 51380224-edge      nvme1q0
 36:          1          2   IR-PCI-MSIX-0000:01:00.0   1-edge      nvme10q12
 37:          1          2   PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
NMI:          3          4   Non-maskable interrupts
IPI4:         3          4   CPU stop (for crash dump) interrupts
ERR:          9
Err:          0
";
        assert_eq!(interrupts(&mut redactor, &format!("{head}{kept}")), format!("{head}{kept}"));
        for line in
            ["ABC: 1 2  hunter2 MyDesk\n", "IPI9: 1 2  hunter2\n", "Err: hunter2 MyDesk\n", "tiny: 1\n"]
        {
            let out = interrupts(&mut redactor, line);
            assert!(!["hunter2", "MyDesk", "tiny"].iter().any(|secret| out.contains(secret)), "{out}");
        }
        let line = " 40:          5          6   PCI-MSI 1-edge      enx525400aabbcc-TxRx-0, nvme0q1\n";
        let out = interrupts(&mut redactor, line);
        assert!(!out.contains("525400aabbcc") && out.contains("nvme0q1"), "{out}");
        assert_eq!(out.len(), line.len());
        for (word, address) in [
            ("eth-00:11:22:33:44:55-rx-0", "00:11:22:33:44:55"),
            ("mlx4-async@pci:00:11:22:33:44:56", "00:11:22:33:44:56"),
            ("eth-52:54:00:a2:34:56-rx", "52:54"),
            ("10.0.0.2", "10.0.0.2"),
            ("virtio0-req.10.0.0.2", "10.0.0.2"),
            ("rx-192.168.7.14-3", "192.168.7.14"),
        ] {
            let out = interrupts(&mut redactor, &format!(" 41:  5  6   PCI-MSI 1-edge      {word}\n"));
            assert!(!out.contains(address), "{out}");
        }
        assert_eq!(attribute(&mut redactor, "8:0 0000:41:00.0 0-3,8-11\n"), "8:0 0000:41:00.0 0-3,8-11\n");
        assert_eq!(attribute(&mut redactor, "haltpoll idle\n"), "haltpoll idle\n");
        assert!(!attribute(&mut redactor, "traddr=fe80::21b:2134:5678:9012").contains("2134"));
    }

    #[test]
    fn other_tables_keep_their_figures() {
        let mut redactor = Redactor::new();
        for text in [
            "MemTotal:       24684092 kB\n",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
            "pgmajfault 12\n",
        ] {
            assert_eq!(counters(&mut redactor, text), text);
        }
        assert_eq!(cpu_info(&mut redactor, "vendor_id\t: AuthenticAMD\n"), "vendor_id\t: AuthenticAMD\n");
        assert!(!cpu_info(&mut redactor, "vendor_id\t: AuthenticAMD hunter2\n").contains("hunter2"));
        let out = cpu_info(&mut redactor, "model name\t: AMD Ryzen 9\nSerial\t\t: 10000000hunter2\n");
        assert!(
            out.starts_with("model name\t: AMD Ryzen 9\nSerial\t\t: ") && !out.contains("hunter2"),
            "{out}"
        );
        let out = control_groups(&mut redactor, "0::/user.slice/user-1000.slice/acme-hunter2.service\n");
        assert!(out.starts_with("0::/user.slice/user-1000.slice/") && !out.contains("hunter2"), "{out}");
        let id = "fa5f1f29446d066245201ce504bc3329";
        let out = control_groups(&mut redactor, &format!("7:blkio:/{id} hunter2\n"));
        assert!(out.starts_with("7:blkio:/") && !out.contains("hunter2") && !out.contains(id), "{out}");
        let out =
            distribution(&mut redactor, "PRETTY_NAME=\"Debian 12\"\nHOME_URL=\"https://hunter2.example\"\n");
        assert!(out.starts_with("PRETTY_NAME=\"Debian 12\"\nHOME_URL=") && !out.contains("hunter2"), "{out}");
        for name in [
            "Debian GNU/Linux 12 (bookworm)",
            "Ubuntu 24.04.1 LTS (Noble Numbat)",
            "openSUSE Leap 15.6",
            "Red Hat Enterprise Linux 9.4 (Plow)",
            "Fedora Linux 43 (Workstation Edition)",
            "Arch Linux",
            "\"20251120\"",
        ] {
            assert_eq!(distribution_name(&mut redactor, name), name);
        }
        for address in ["10.0.0.2", "192.168.7.14"] {
            for name in
                [format!("Debian {address}"), format!("ubuntu-{address} (lts)"), format!("1.{address}")]
            {
                let out = distribution_name(&mut redactor, &name);
                assert!(!out.contains(address) && out.len() == name.len(), "{name}: {out}");
            }
            let out = counters(&mut redactor, &format!("avg10={address}\n"));
            assert!(!out.contains(address), "{out}");
            let out = cpu_info(&mut redactor, &format!("flags\t: {address}\n"));
            assert!(!out.contains(address), "{out}");
            let out = attribute(&mut redactor, &format!("traddr={address},trsvcid=4420\n"));
            assert!(!out.contains(address), "{out}");
        }
        let out = distribution_name(&mut redactor, "Hunter2 Linux 12 (acme-731427629) 731427629");
        assert!(!out.contains("unter2") && !out.contains("acme") && !out.contains("731427629"), "{out}");
    }
}
