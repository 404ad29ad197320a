//! The host: DMI, kernel, memory, counters, interrupts, probes.

use std::fmt::Write as _;

use super::{Everything, drives::Vector, files::Files, records};

/// Writes the host's files.
pub fn write(files: &mut Files, all: &Everything, vectors: &[Vector]) {
    identity(files, all);
    kernel(files, all);
    counters(files, all);
    mounts(files, all);
    interrupts(files, all, vectors);
    probes(files, all);
    if all.machine.host.battery {
        files.line("/sys/class/power_supply/BAT0/type", "Battery");
        files.line("/sys/class/power_supply/BAT0/status", "Full");
    }
}

fn identity(files: &mut Files, all: &Everything) {
    let host = &all.machine.host;
    let lines = [
        ("board_vendor", &host.board_vendor),
        ("board_name", &host.board),
        ("sys_vendor", &host.vendor),
        ("product_name", &host.product),
        ("bios_version", &host.bios),
        ("bios_date", &host.bios_date),
        ("bios_vendor", &host.board_vendor),
    ];
    for (name, content) in lines {
        files.line(format!("/sys/devices/virtual/dmi/id/{name}"), content);
    }
    files.link("/sys/class/dmi/id", "/sys/devices/virtual/dmi/id");
    if let Some(modules) = &host.modules {
        files.bytes("/sys/firmware/dmi/tables/DMI", records::smbios(modules));
    }
}

fn kernel(files: &mut Files, all: &Everything) {
    let host = &all.machine.host;
    files.line("/proc/cmdline", &host.command_line);
    files.line("/proc/version", format_args!("Linux version {} (build@demo) #1 SMP", host.kernel));
    files.line("/proc/sys/kernel/osrelease", &host.kernel);
    files.line("/proc/sys/kernel/hostname", &host.name);
    files.line("/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000000");
    files.line("/etc/os-release", format_args!("NAME=\"{0}\"\nPRETTY_NAME=\"{0}\"", host.distribution));
    for (path, value) in [
        ("nvme/parameters/poll_queues", "0"),
        ("nvme/parameters/write_queues", "0"),
        ("nvme_core/parameters/default_ps_max_latency_us", "100000"),
        ("nvme_core/parameters/multipath", "Y"),
        ("pcie_aspm/parameters/policy", &host.aspm_policy),
    ] {
        files.line(format!("/sys/module/{path}"), value);
    }
    let folder = "/sys/kernel/mm/transparent_hugepage";
    files.line(format!("{folder}/enabled"), "always [madvise] never");
}

fn counters(files: &mut Files, all: &Everything) {
    let host = &all.machine.host;
    let cpus = u64::from(all.cpus());
    let mut stat = format!(
        "cpu  {} 0 {} {} {} 0 {} 0 0 0\n",
        412 * cpus,
        631 * cpus,
        901_233 * cpus,
        88 * cpus,
        9 * cpus
    );
    for cpu in 0..cpus {
        let _ = writeln!(stat, "cpu{cpu} 412 0 631 901233 88 0 9 0 0 0");
    }
    stat.push_str(
        "intr 9120331\nctxt 14022118\nbtime 1611790000\nprocesses 20412\nprocs_running 1\nprocs_blocked 0\n",
    );
    files.bytes("/proc/stat", stat.into_bytes());
    let used = host.memory_kib - host.free_kib - host.buffers_kib - host.cached_kib;
    let mut memory = String::new();
    for (name, kib) in [
        ("MemTotal", host.memory_kib),
        ("MemFree", host.free_kib),
        ("MemAvailable", host.free_kib + host.cached_kib),
        ("Buffers", host.buffers_kib),
        ("Cached", host.cached_kib),
        ("SwapCached", 0),
        ("Active", used / 2),
        ("Shmem", 1_024),
        ("SReclaimable", 20_480),
    ] {
        let _ = writeln!(memory, "{:<15} {kib:>9} kB", format!("{name}:"));
    }
    files.bytes("/proc/meminfo", memory.into_bytes());
    files.line("/proc/uptime", "9053.22 288412.10");
    files.line("/proc/loadavg", "0.03 0.05 0.01 1/512 20412");
}

fn mounts(files: &mut Files, all: &Everything) {
    let mut info = String::new();
    for (number, mount) in all.machine.mounts.iter().enumerate() {
        let _ = writeln!(
            info,
            "{} 1 259:{} / {} rw,relatime shared:{} - {} /dev/{} rw",
            25 + number,
            mount.number,
            mount.point,
            number + 1,
            mount.filesystem,
            mount.part
        );
    }
    files.bytes("/proc/self/mountinfo", info.into_bytes());
    files.line("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority");
}

fn interrupts(files: &mut Files, all: &Everything, vectors: &[Vector]) {
    let mut table = " ".repeat(10);
    for cpu in 0..all.cpus() {
        let _ = write!(table, " {:>10}", format!("CPU{cpu}"));
    }
    table.push('\n');
    for vector in vectors {
        let _ = write!(table, "{:>9}:", vector.number);
        for cpu in 0..all.cpus() {
            let count = if vector.cpus == cpu.to_string() { 9 + vector.number % 5 } else { 0 };
            let _ = write!(table, " {count:>10}");
        }
        let _ = writeln!(table, "   PCI-MSI {}-edge      {}", 524_288 + vector.number, vector.name);
    }
    files.bytes("/proc/interrupts", table.into_bytes());
}

/// Answers of the kernel's probes.
fn probes(files: &mut Files, all: &Everything) {
    let host = &all.machine.host;
    let mut ring = String::new();
    for flag in [
        "SINGLE_ISSUER",
        "DEFER_TASKRUN",
        "COOP_TASKRUN",
        "TASKRUN_FLAG",
        "SUBMIT_ALL",
        "NO_SQARRAY",
        "IOPOLL",
        "SQPOLL",
    ] {
        let refused = host.ring_refused.iter().any(|name| name == flag);
        let _ = writeln!(ring, "flag {flag} {}", if refused { "refused EINVAL" } else { "accepted" });
    }
    let _ = writeln!(ring, "features {}", host.ring_features);
    files.bytes("/probe/io_uring", ring.into_bytes());
    files.line("/probe/memlock", host.memlock_kib * 1024);
    files.line("/probe/euid", 0);
    // No process has a drive of a demo open.
    files.bytes("/probe/device-users", Vec::new());
    files.bytes(
        "/probe/host",
        format!("name={}\ndistribution={}\nkernel={}\n", host.name, host.distribution, host.kernel)
            .into_bytes(),
    );
}
