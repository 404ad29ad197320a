//! Redacts the kernel's command line: known arguments with values of a known form pass, of all others only the name.

use super::{
    Redactor,
    forms::{REDACTED, is_in, is_kernel_device, is_number, plain_name},
    tables,
};

/// Arguments without a value.
const FLAGS: &str = "\
    -- ro rw quiet splash debug rhgb text single emergency rescue nosmt threadirqs nopti nokaslr nospectre_v1 nospectre_v2 \
    noibrs noibpb nomodeset rootwait nowatchdog nosoftlockup nohpet noapic nolapic nox2apic x2apic_phys rcu_nocb_poll \
    nohlt noresume nofb nosplash noplymouth initcall_debug ignore_loglevel nomce noht norandmaps nomodule noxsave noinvpcid \
    nopcid no_timer_check noautogroup noswap rd.auto ignore_rlimit_data";

/// Arguments, each with the words that its values may have besides numbers. Values are separated by commas and colons.
const ARGUMENTS: &[(&str, &str)] = &[
    ("acpi", "off force on strict noirq rsdt ht copy_dsdt"),
    ("ahci.mobile_lpm_policy", ""),
    ("amd_iommu", "on off fullflush force_isolation force_enable pgtbl_v1 pgtbl_v2"),
    ("amd_prefcore", "disable enable"),
    ("amd_pstate", "disable passive active guided"),
    ("apparmor", ""),
    ("audit", "on off"),
    ("biosdevname", ""),
    ("cgroup_disable", "memory io blkio cpu pressure"),
    ("cgroup_enable", "memory cpuset"),
    ("cgroup_no_v1", "all"),
    ("clocksource", "tsc hpet acpi_pm kvm-clock jiffies"),
    (
        "console",
        "tty0 tty1 tty2 ttyS0 ttyS1 ttyS2 ttyS3 ttyAMA0 hvc0 115200n8 115200n8r 57600n8 38400n8 9600n8 115200n1",
    ),
    ("cpufreq.default_governor", "performance powersave ondemand conservative schedutil userspace"),
    ("cpufreq.off", ""),
    ("cpuidle.off", ""),
    ("cpuidle_haltpoll.force", ""),
    ("crashkernel", "auto high low"),
    ("default_hugepagesz", ""),
    ("dm_mod.use_blk_mq", "Y N y n"),
    ("elevator", "none noop deadline mq-deadline cfq bfq kyber"),
    ("fsck.mode", "auto force skip"),
    ("fsck.repair", "preen yes no"),
    ("haltpoll.guest_halt_poll_ns", ""),
    ("hugepages", ""),
    ("hugepagesz", ""),
    ("idle", "poll halt nomwait"),
    ("init_on_alloc", ""),
    ("init_on_free", ""),
    ("intel_idle.max_cstate", ""),
    ("intel_iommu", "on off igfx_off forcedac strict sp_off sm_on sm_off tboot_noforce"),
    (
        "intel_pstate",
        "disable active passive force no_hwp hwp_only support_acpi_ppc per_cpu_perf_limits no_cas",
    ),
    ("intremap", "on off nosid no_x2apic_optout nopost posted_msi"),
    ("iommu", "off on force noforce biomerge merge nomerge soft pt nopt usedac nobypass fullflush strict"),
    ("iommu.passthrough", ""),
    ("iommu.strict", ""),
    ("ipv6.disable", ""),
    ("irqaffinity", ""),
    ("isolcpus", "nohz domain managed_irq"),
    ("kthread_cpus", ""),
    ("loglevel", ""),
    (
        "lsm",
        "lockdown capability landlock yama loadpin safesetid integrity selinux smack tomoyo apparmor bpf ima evm",
    ),
    ("maxcpus", ""),
    ("mem", ""),
    (
        "mitigations",
        "off auto nosmt no_guest_host no_guest_guest no_user_kernel no_user_user no_cross_thread",
    ),
    ("net.ifnames", ""),
    ("nmi_watchdog", "panic nopanic"),
    ("nohz", "on off"),
    ("nohz_full", "all"),
    ("nosmt", "force"),
    ("nr_cpus", ""),
    ("numa", "off noacpi nohmat"),
    ("numa_balancing", "enable disable"),
    ("nvidia-drm.modeset", ""),
    ("nvme.io_queue_depth", ""),
    ("nvme.max_host_mem_size_mb", ""),
    ("nvme.noacpi", "Y N y n"),
    ("nvme.poll_queues", ""),
    ("nvme.sgl_threshold", ""),
    ("nvme.use_cmb_sqes", "Y N y n"),
    ("nvme.use_threaded_interrupts", ""),
    ("nvme.write_queues", ""),
    ("nvme_core.admin_timeout", ""),
    ("nvme_core.default_ps_max_latency_us", ""),
    ("nvme_core.force_apst", "Y N y n"),
    ("nvme_core.io_timeout", ""),
    ("nvme_core.iopolicy", "numa round-robin queue-depth"),
    ("nvme_core.max_retries", ""),
    ("nvme_core.multipath", "Y N y n"),
    ("nvme_core.shutdown_timeout", ""),
    ("oops", "panic"),
    ("panic", ""),
    (
        "pci",
        "noaer nomsi nocrs use_crs conf1 conf2 noearly earlydump realloc=on realloc=off realloc nobar noacpi \
             pcie_bus_safe pcie_bus_perf pcie_bus_peer2peer pcie_bus_tune_off assign-busses big_root_window",
    ),
    ("pcie_aspm", "off force"),
    ("pcie_aspm.policy", "default performance powersave powersupersave"),
    ("pcie_port_pm", "off force"),
    ("pcie_ports", "auto native compat dpc-native"),
    ("preempt", "none voluntary full lazy"),
    ("processor.max_cstate", ""),
    ("psi", ""),
    ("raid", "noautodetect"),
    ("random.trust_cpu", "on off"),
    ("rcu_nocbs", "all"),
    ("rcupdate.rcu_expedited", ""),
    ("rcupdate.rcu_cpu_stall_cputime", ""),
    ("rdinit", "/init /linuxrc /sbin/init"),
    ("reboot", "warm cold hard soft gpio w c h s g bios acpi kbd triple efi pci b a k t e p force"),
    ("rootdelay", ""),
    ("rootfstype", "ext2 ext3 ext4 xfs btrfs f2fs zfs bcachefs squashfs erofs vfat overlay nfs"),
    ("scsi_mod.use_blk_mq", "Y N y n"),
    ("security", "selinux apparmor smack tomoyo"),
    ("selinux", ""),
    ("skew_tick", ""),
    ("splash", "silent verbose"),
    ("swiotlb", "force noforce"),
    ("systemd.unified_cgroup_hierarchy", ""),
    ("transparent_hugepage", "always madvise never"),
    ("tsc", "reliable noirqtime unstable nowatchdog recalibrate watchdog"),
    ("usbcore.autosuspend", ""),
    ("vt.handoff", ""),
    ("workqueue.power_efficient", "Y N y n"),
    ("zswap.enabled", "Y N y n"),
];

/// The kernel's command line.
pub(super) fn command_line(redactor: &mut Redactor, line: &str) -> String {
    // Arguments after `--` are init's.
    let (kernel, init) = line.split_once(" -- ").map_or((line, None), |(kernel, init)| (kernel, Some(init)));
    let words = kernel.split_inclusive([' ', '\t', '\n']).map(|piece| {
        let word = piece.trim_end();
        let replaced = if word.is_empty() { String::new() } else { argument(redactor, word) };
        replaced + &piece[word.len()..]
    });
    let mut out: String = words.collect();
    if let Some(init) = init {
        out.extend([" -- ", REDACTED, &init[init.trim_end().len()..]]);
    }
    out
}

/// One argument.
pub(super) fn argument(redactor: &mut Redactor, word: &str) -> String {
    let Some((name, value)) = word.split_once('=') else {
        return if is_in(FLAGS, word) || ARGUMENTS.iter().any(|(name, _)| *name == word) {
            word.to_owned()
        } else {
            REDACTED.to_owned()
        };
    };
    match name {
        "root" | "resume" => format!("{name}={}", device(redactor, value)),
        "BOOT_IMAGE" | "initrd" if is_kernel_file(value) => word.to_owned(),
        _ if is_known(name, value) => word.to_owned(),
        _ => format!("{}={REDACTED}", redactor.worldly(plain_name(name))),
    }
}

/// Whether an argument is known, and its value of a known form.
pub(super) fn is_known(name: &str, value: &str) -> bool {
    /// Longer numbers may be ids.
    const MOST: usize = 7;
    let plain = name.replace('-', "_");
    // `-` and `_` are the same to the kernel.
    let row = ARGUMENTS.iter().find(|(known, _)| known.replace('-', "_") == plain);
    let is_harmless = |part: &str, words: &str| part.len() <= MOST && is_number(part) || is_in(words, part);
    row.is_some_and(|(_, words)| {
        !value.is_empty() && value.split([',', ':']).all(|part| is_harmless(part, words))
    })
}

/// The device of `root=`: a kernel name, a volume by its pseudonym, or `UUID=` and its like without a value.
fn device(redactor: &mut Redactor, value: &str) -> String {
    const TAGS: [&str; 6] = ["PARTUUID", "PARTLABEL", "UUID", "LABEL", "ZFS", "/dev/nfs"];
    match (value.split_once('='), value.strip_prefix("/dev/")) {
        (Some((tag, _)), _) if TAGS.contains(&tag) => format!("{tag}={REDACTED}"),
        (_, Some(name)) if is_kernel_device(name) => value.to_owned(),
        (None, Some(_)) => tables::device(redactor, value),
        _ => REDACTED.to_owned(),
    }
}

/// `/boot/vmlinuz-6.1.0-13-amd64`, `(hd0,gpt2)/vmlinuz`, `\initrd.img-6.1`: plain folders and a version.
fn is_kernel_file(path: &str) -> bool {
    const FOLDERS: &str = "boot efi EFI ROOT Linux linux root arch x86_64 aarch64 casper live @ @root";
    // Of releases, as distributions name theirs: `6.1.0-13-amd64`, `6.8.12-4-pve`, `6.9.7-arch1-1`, `5.14.0-427.el9.x86_64`.
    const FLAVOURS: &str = "rc bpo deb amd x x86 aarch arm armmp generic lowlatency cloud default desktop server virtual rt lts zen \
        hardened arch fc el pve xanmod liquorix cachyos edge hwe oem azure aws gcp kvm img gz efi signed unsigned dbg";
    const KINDS: &str = "linux linux-lts linux-zen linux-hardened linux-rt";
    const FILES: [&str; 9] =
        ["vmlinuz", "vmlinux", "bzImage", "Image", "kernel", "linux", "initrd.img", "initramfs", "initrd"];
    let path = match path.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((disk, rest)) => {
            let is_plain = |part: &str| {
                let digits = part.trim_start_matches(|c: char| c.is_ascii_lowercase());
                matches!(part.len() - digits.len(), 2..=5) && is_number(digits)
            };
            if !disk.split(',').all(is_plain) {
                return false;
            }
            rest
        }
        None => path,
    };
    let mut parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let Some(file) = parts.pop() else { return false };
    let is_version = |text: &str| {
        let is_plain = |part: &str| {
            let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
            part.len() - word.len() <= 4 && (word.is_empty() || is_in(FLAVOURS, word))
        };
        text.starts_with(|c: char| c.is_ascii_digit()) && text.split(['.', '_', '-', '+', '~']).all(is_plain)
    };
    let is_file = FILES.iter().filter_map(|name| file.strip_prefix(name)).any(|rest| {
        let kind = rest.strip_prefix('-').unwrap_or_default();
        let alone = kind.trim_end_matches(".img").trim_end_matches("-fallback");
        rest.is_empty() || rest == ".img" || is_version(kind) || is_in(KINDS, alone)
    });
    is_file && parts.iter().all(|part| is_in(FOLDERS, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(line: &str) -> String {
        command_line(&mut Redactor::new(), line)
    }

    #[test]
    fn known_arguments_pass_with_values_of_a_known_form() {
        for line in [
            "BOOT_IMAGE=/boot/vmlinuz-5.8.0-29-generic root=/dev/nvme8n1p2 ro quiet splash vt.handoff=7",
            "BOOT_IMAGE=/vmlinuz-6.1.0-13-amd64 ro",
            "BOOT_IMAGE=/boot/vmlinuz-6.8.12-4-pve initrd=\\initrd.img-6.12.0-rc3+",
            "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14.0-427.13.1.el9_4.x86_64 initrd=/boot/initramfs-6.9.7-arch1-1.img",
            "BOOT_IMAGE=/arch/boot/x86_64/vmlinuz-linux rdinit=/init reboot=k psi=1",
            "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.12.0 nvme.poll_queues=4 iommu=pt intremap=posted_msi isolcpus=managed_irq,2-7",
            "pcie_aspm=off nvme_core.default_ps_max_latency_us=0 console=ttyS0,115200n8 pci=noaer,realloc=on mitigations=off",
        ] {
            assert_eq!(redacted(line), line);
        }
    }

    #[test]
    fn of_all_else_the_name_alone_passes() {
        for (line, expected) in [
            ("nvme.poll_queues=hunter2 ro", "nvme.poll_queues=<redacted> ro"),
            ("nvme.poll_queues=731427629", "nvme.poll_queues=<redacted>"),
            ("db_password=hunter2", "db_password=<redacted>"),
            ("hunter2 quiet", "<redacted> quiet"),
            ("http_proxy=http://bob:hunter2@proxy:3128", "http_proxy=<redacted>"),
            ("root=UUID=12345678-01 resume=PARTUUID=99", "root=UUID=<redacted> resume=PARTUUID=<redacted>"),
            ("root=ZFS=tank/hunter2", "root=ZFS=<redacted>"),
            ("BOOT_IMAGE=/boot/hunter2", "BOOT_IMAGE=<redacted>"),
            ("BOOT_IMAGE=/vmlinuz-6.1.0-13-hunter2 ro", "BOOT_IMAGE=<redacted> ro"),
            ("BOOT_IMAGE=/vmlinuz-6.1.0.731427629", "BOOT_IMAGE=<redacted>"),
            ("iommu=pt,hunter2", "iommu=<redacted>"),
            ("ro -- --token hunter2\n", "ro -- <redacted>\n"),
            ("a=\"b hunter2\"", "a=<redacted> <redacted>"),
            ("h\u{202e}x=1", "<redacted>=<redacted>"),
        ] {
            assert_eq!(redacted(line), expected);
        }
    }
}
