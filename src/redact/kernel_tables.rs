//! Redacts tables of the kernel whose rows name more than drives: interrupts, CPUs, control groups, settings of systems; and
//! the words of its attributes.

use super::{
    Redactor,
    forms::{is_in, is_kernel_device, is_number, is_setting_word},
    tables,
};

/// Words behind the counts of an interrupt: chips, triggers, drivers with or without a number or queue.
const INTERRUPT_WORDS: &str = "\
    IO-APIC IR-IO-APIC PCI-MSI PCI-MSIX IR-PCI-MSI IR-PCI-MSIX DMAR-MSI HPET-MSI XT-PIC GICv2 GICv3 ITS-MSI ITS-MSIX \
    xen-dyn xen-pirq xen-percpu dummy edge level fasteoi Edge Level Edge-triggered none timer rtc0 rtc acpi i8042 nvme \
    virtio config input output virtqueues request requests ahci ahci_sea xhci_hcd ehci_hcd uhci_hcd aerdrv pciehp bwctrl \
    PCIe dpc pcie-dpc AMD-Vi dmar thermal ata_piix megasas mpt3sas snd_hda_intel mei_me psp ccp ttyS vmd pme PME req rx \
    tx TxRx";

/// Keys of `/proc/cpuinfo` that describe the processor.
const CPU_KEYS: &str = "\
    processor vendor_id cpu_family model model_name stepping microcode cpu_MHz cache_size physical_id siblings core_id \
    cpu_cores apicid initial_apicid fpu fpu_exception cpuid_level wp flags vmx_flags bugs bogomips BogoMIPS TLB_size \
    clflush_size cache_alignment address_sizes power_management Features CPU_implementer CPU_architecture CPU_variant \
    CPU_part CPU_revision isa mmu uarch hart";

/// Keys of os-release(5) that name the distribution.
const DISTRIBUTION_KEYS: &str =
    "NAME PRETTY_NAME VERSION VERSION_ID VERSION_CODENAME ID ID_LIKE VARIANT VARIANT_ID BUILD_ID";

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
    intel_pstate intel_cpufreq amd-pstate amd-pstate-epp cppc_cpufreq performance_power auto-off unthrottle";

/// `/proc/interrupts`: names of drivers that are not known become pseudonyms, which network interfaces have.
pub(super) fn interrupts(redactor: &mut Redactor, text: &str) -> String {
    text.split_inclusive('\n').map(|line| interrupt(redactor, line)).collect()
}

fn interrupt(redactor: &mut Redactor, line: &str) -> String {
    let Some((label, rest)) = line.split_once(':') else { return line.to_owned() };
    if !is_number(label.trim()) {
        // NMI, LOC, PMN: the kernel's own rows.
        let is_kernel =
            !label.trim().is_empty() && label.trim().bytes().all(|byte| byte.is_ascii_alphanumeric());
        return if is_kernel && label.trim().len() <= 4 {
            line.to_owned()
        } else {
            tables::words(redactor, line)
        };
    }
    let mut in_counts = true;
    let words = rest.split_inclusive([' ', '\t', ',', '\n']).map(|piece| {
        let word = piece.trim_end_matches([' ', '\t', ',', '\n']);
        in_counts &= word.bytes().all(|byte| byte.is_ascii_digit());
        let is_known = in_counts || is_interrupt_word(word);
        let replaced = if is_known { word.to_owned() } else { tables::words_but(redactor, word, "") };
        replaced + &piece[word.len()..]
    });
    format!("{label}:{}", words.collect::<String>())
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

/// `key : value` lines of `/proc/cpuinfo`; values of other keys, such as a board's serial number, become pseudonyms.
pub(super) fn cpu_info(redactor: &mut Redactor, text: &str) -> String {
    keyed(redactor, text, ':', |key| is_in(CPU_KEYS, &key.replace(' ', "_")))
}

/// `KEY=value` lines of os-release(5).
pub(super) fn distribution(redactor: &mut Redactor, text: &str) -> String {
    keyed(redactor, text, '=', |key| is_in(DISTRIBUTION_KEYS, key))
}

fn keyed(redactor: &mut Redactor, text: &str, separator: char, is_known: impl Fn(&str) -> bool) -> String {
    text.split_inclusive('\n')
        .map(|line| match line.split_once(separator) {
            Some((key, value)) if is_known(key.trim()) => {
                format!("{key}{separator}{}", redactor.worldly(value))
            }
            Some((key, value)) => format!("{key}{separator}{}", tables::words_but(redactor, value, "")),
            None => tables::words_but(redactor, line, ""),
        })
        .collect()
}

/// A path of control groups, or the lines of `/proc/PID/cgroup`.
pub(super) fn control_groups(redactor: &mut Redactor, text: &str) -> String {
    tables::words_but(redactor, text, CGROUP_WORDS)
}

/// A file of a queue, an array, a cache or a CPU: words that are not the kernel's become pseudonyms.
pub(super) fn attribute(redactor: &mut Redactor, text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | ',' | '(' | ')' | '/' | ':');
    let words = text.split_inclusive(is_gap).map(|piece| {
        let word = piece.trim_end_matches(is_gap);
        let is_version = word.split('.').all(is_number);
        let is_known = is_version || is_setting_word(word) || is_in(ATTRIBUTE_WORDS, word);
        let replaced = if is_known || word.is_empty() || is_kernel_device(word) {
            word.to_owned()
        } else {
            tables::words_but(redactor, word, "")
        };
        replaced + &piece[word.len()..]
    });
    words.collect()
}

/// Counters: a word and numbers a line. Other words become pseudonyms.
pub(super) fn counters(redactor: &mut Redactor, text: &str) -> String {
    let is_plain = |word: &str| {
        let parts = word.split(['=', ':', '.']).filter(|part| !part.is_empty());
        let mut parts = parts.map(|part| is_number(part) || is_key(part));
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

/// A key of the kernel's counters: letters, underscores and brackets, numbers only at its end.
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
ERR:          9
";
        assert_eq!(interrupts(&mut redactor, &format!("{head}{kept}")), format!("{head}{kept}"));
        let line = " 40:          5          6   PCI-MSI 1-edge      enx525400aabbcc-TxRx-0, nvme0q1\n";
        let out = interrupts(&mut redactor, line);
        assert!(!out.contains("525400aabbcc") && out.contains("nvme0q1"), "{out}");
        assert_eq!(out.len(), line.len());
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
        let out = cpu_info(&mut redactor, "model name\t: AMD Ryzen 9\nSerial\t\t: 10000000hunter2\n");
        assert!(
            out.starts_with("model name\t: AMD Ryzen 9\nSerial\t\t: ") && !out.contains("hunter2"),
            "{out}"
        );
        let out = control_groups(&mut redactor, "0::/user.slice/user-1000.slice/acme-hunter2.service\n");
        assert!(out.starts_with("0::/user.slice/user-1000.slice/") && !out.contains("hunter2"), "{out}");
        let out =
            distribution(&mut redactor, "PRETTY_NAME=\"Debian 12\"\nHOME_URL=\"https://hunter2.example\"\n");
        assert!(out.starts_with("PRETTY_NAME=\"Debian 12\"\nHOME_URL=") && !out.contains("hunter2"), "{out}");
    }
}
