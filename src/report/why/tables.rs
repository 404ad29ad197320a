//! The tables that the Why screen and `stat` show: CPUs, interrupts, threads, processes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::grid::{Cell, Grid, Mark, Row, number, stack, word};
use crate::{
    counters::{
        CpuShares, DiskRates, Rates,
        activity::{Activity, ProcessRates, ThreadKind},
    },
    machine::{Drive, Machine},
    model::DriveName,
    text::{Label, starred_name},
    units::UnitSystem,
};

/// From this share on a CPU has hardly any time left, percent.
pub(crate) const BUSY: f64 = 90.0;
/// Below this share of time that is left of all CPUs they are full, percent.
pub(crate) const LEFT: f64 = 5.0;
/// From this share on interrupts are most of what a CPU does, percent.
pub(crate) const MUCH_IRQ: f64 = 30.0;

/// Shares of a CPU that exclude each other and add up to 100 percent, as mpstat shows them. `guest` contains `guest_nice`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Split {
    pub(crate) usr: f64,
    pub(crate) nice: f64,
    pub(crate) sys: f64,
    pub(crate) iowait: f64,
    pub(crate) irq: f64,
    pub(crate) softirq: f64,
    pub(crate) steal: f64,
    pub(crate) guest: f64,
    pub(crate) idle: f64,
}

/// The letters that draw the kinds of CPU time, with their names, in the order of a bar.
pub(crate) const KINDS: [(char, &str); 9] = [
    ('u', "usr"),
    ('n', "nice"),
    ('s', "sys"),
    ('h', "irq"),
    ('x', "softirq"),
    ('t', "steal"),
    ('g', "guest"),
    ('w', "iowait"),
    ('·', "idle"),
];

impl From<CpuShares> for Split {
    fn from(shares: CpuShares) -> Self {
        // Guest time is in user or nice time: taken from user time first.
        let user = (shares.usr - shares.nice).max(0.0);
        let from_user = shares.guest.min(user);
        let from_nice = (shares.guest - from_user).min(shares.nice);
        Self {
            usr: user - from_user,
            nice: shares.nice - from_nice,
            sys: (shares.sys - shares.irq).max(0.0),
            iowait: shares.wai,
            irq: (shares.irq - shares.softirq).max(0.0),
            softirq: shares.softirq,
            steal: shares.stl,
            guest: from_user + from_nice,
            idle: shares.idl,
        }
    }
}

impl Split {
    /// In the order of [`KINDS`].
    pub(crate) const fn parts(self) -> [f64; 9] {
        let Self { usr, nice, sys, iowait, irq, softirq, steal, guest, idle } = self;
        [usr, nice, sys, irq, softirq, steal, guest, iowait, idle]
    }

    /// Time in which it worked, percent; steal is not its own.
    pub(crate) fn busy(self) -> f64 {
        (100.0 - self.idle - self.iowait - self.steal).clamp(0.0, 100.0)
    }

    /// Hard and soft interrupts.
    pub(crate) fn interrupts(self) -> f64 {
        self.irq + self.softirq
    }

    fn mark(self) -> Mark {
        match self.busy() {
            _ if self.interrupts() >= MUCH_IRQ => Mark::Hot,
            busy if busy >= BUSY => Mark::Hot,
            busy if busy < 1.0 => Mark::Quiet,
            _ => Mark::Plain,
        }
    }
}

/// The CPU with the least time left, the one with more interrupts of two.
pub(crate) fn nearest_limit(rates: &Rates) -> Option<(u32, Split)> {
    let all = rates.cpus.iter().map(|(cpu, shares)| (*cpu, Split::from(*shares)));
    all.max_by(|(_, a), (_, b)| a.busy().total_cmp(&b.busy()).then(a.interrupts().total_cmp(&b.interrupts())))
}

/// Whether all CPUs together have hardly any time left.
pub(crate) fn are_full(rates: &Rates) -> bool {
    let all = rates.cpu.map(Split::from);
    all.is_some_and(|all| all.idle + all.iowait < LEFT)
}

/// The NUMA node of each CPU; empty where there is only one.
pub(crate) fn nodes(machine: &Machine) -> BTreeMap<u32, u32> {
    let numa = &machine.processors.numa;
    let with_cpus = numa.values().filter(|cpus| !cpus.is_empty()).count();
    let pairs = numa.iter().flat_map(|(node, cpus)| cpus.iter().map(|cpu| (*cpu, *node)));
    if with_cpus > 1 { pairs.collect() } else { BTreeMap::new() }
}

/// mpstat's columns, all CPUs first; interrupts per second of each where they are counted.
pub(crate) fn cpus(machine: &Machine, rates: &Rates) -> Grid {
    // `100.00`.
    let percent = |name: &'static str| number(name, name.len().max(6), 0).up_to(7);
    let nodes = nodes(machine);
    let mut columns = vec![word("CPU", 5, 0)];
    columns.extend(
        ["%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%idle"].map(percent),
    );
    columns.push(number("intr/s", 8, 1));
    let online: Vec<u32> =
        if rates.columns.is_empty() { rates.cpus.keys().copied().collect() } else { rates.columns.clone() };
    let interrupts: BTreeMap<u32, f64> = online.into_iter().zip(rates.interrupts.iter().copied()).collect();
    if !nodes.is_empty() {
        columns.push(word("node", 4, 2));
    }
    let row = |name: String, cpu: Option<u32>, shares: &CpuShares| {
        let split = Split::from(*shares);
        let Split { usr, nice, sys, iowait, irq, softirq, steal, guest, idle } = split;
        let mut cells = vec![Cell::Text(name)];
        let shares = [usr, nice, sys, iowait, irq, softirq, steal, guest, idle];
        cells.extend(shares.map(|share| Cell::Number(share, 2)));
        let count = cpu.map_or(rates.all_interrupts, |cpu| interrupts.get(&cpu).copied());
        cells.push(Cell::count(count));
        if !nodes.is_empty() {
            cells.push(cpu.and_then(|cpu| nodes.get(&cpu)).map_or(Cell::Unknown, Cell::text));
        }
        Row { cells, mark: split.mark() }
    };
    let all = rates.cpu.iter().map(|shares| row("all".to_owned(), None, shares));
    let each = rates.cpus.iter().map(|(cpu, shares)| row(cpu.to_string(), Some(*cpu), shares));
    Grid { columns, rows: all.chain(each).collect() }
}

/// Interrupts of one controller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Controller {
    /// The kernel's name: `nvme0`, `virtio1`.
    pub(crate) name: String,
    /// Its drives.
    pub(crate) drives: Vec<DriveName>,
    /// Interrupts per second.
    pub(crate) interrupts: f64,
    /// Reads, writes, discards and flushes per second of its drives.
    pub(crate) ios: f64,
}

impl Controller {
    /// I/Os that one interrupt reports; `None` without interrupts, as with polled queues.
    pub(crate) fn ios_per_interrupt(&self) -> Option<f64> {
        (self.interrupts > 0.0 && self.ios > 0.0).then(|| self.ios / self.interrupts)
    }
}

/// A vector on one CPU.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Vector<'a> {
    pub(crate) controller: &'a str,
    /// `3` of `nvme0q3`, `req.0` of `virtio1-req.0`.
    pub(crate) queue: &'a str,
    pub(crate) cpu: u32,
    pub(crate) per_second: f64,
}

/// `nvme0q3` is queue 3 of `nvme0`, `virtio1-req.0` queue `req.0` of `virtio1`.
fn parts_of(vector: &str) -> (&str, &str) {
    let nvme = || vector.split_once('q').filter(|(controller, _)| controller.starts_with("nvme"));
    nvme().or_else(|| vector.split_once('-')).unwrap_or((vector, ""))
}

/// What may be the controller of a drive: of NVMe its name, of others the folders of their path.
fn controllers_of(drive: &Drive) -> impl Iterator<Item = &str> {
    let (nvme, path) = match &drive.nvme {
        Some(nvme) => (Some(nvme.controller.as_str()), None),
        None => (None, Some(drive.path.split('/'))),
    };
    nvme.into_iter().chain(path.into_iter().flatten())
}

/// Every vector with interrupts by CPU, most first.
pub(crate) fn vectors(rates: &Rates) -> Vec<Vector<'_>> {
    let mut all: Vec<Vector<'_>> = Vec::new();
    for (name, cpus) in &rates.vector_cpus {
        let (controller, queue) = parts_of(name.as_str());
        all.extend(cpus.iter().map(|(cpu, per_second)| Vector {
            controller,
            queue,
            cpu: *cpu,
            per_second: *per_second,
        }));
    }
    all.sort_by(|a, b| b.per_second.total_cmp(&a.per_second));
    all
}

/// Controllers with vectors, those with most interrupts first.
pub(crate) fn controllers(machine: &Machine, rates: &Rates) -> Vec<Controller> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, cpus) in &rates.vector_cpus {
        *sums.entry(parts_of(name.as_str()).0).or_default() += cpus.iter().map(|(_, rate)| rate).sum::<f64>();
    }
    let mut drives: BTreeMap<&str, Vec<DriveName>> = BTreeMap::new();
    for drive in machine.block_devices() {
        for name in controllers_of(drive).filter(|name| sums.contains_key(name)) {
            let its = drives.entry(name).or_default();
            if its.last() != Some(&drive.name) {
                its.push(drive.name.clone());
            }
        }
    }
    let of = |(name, interrupts): (&str, f64)| {
        let drives = drives.remove(name).unwrap_or_default();
        let disks = drives.iter().filter_map(|drive| rates.disks.get(drive));
        let ios = disks.map(|disk| disk.reads + disk.writes + disk.discards.ios + disk.flushes.ios).sum();
        Controller { name: name.to_owned(), drives, interrupts, ios }
    };
    let mut all: Vec<Controller> = sums.into_iter().map(of).collect();
    all.sort_by(|a, b| b.interrupts.total_cmp(&a.interrupts));
    all
}

/// Interrupts of drives per second.
pub(crate) fn all_vectors(rates: &Rates) -> f64 {
    // A sum of nothing is -0.0.
    rates.vector_cpus.values().flatten().fold(0.0, |sum, (_, rate)| sum + rate)
}

/// Posted-MSI notifications over the interrupts of drives; `None` where the kernel has no posted MSI or nothing interrupts.
pub(crate) fn posted_ratio(rates: &Rates) -> Option<f64> {
    let all = all_vectors(rates);
    rates.posted.filter(|_| all > 0.0).map(|posted| posted / all)
}

/// Interrupts by drive, queue and CPU; the I/Os per interrupt are those of the whole controller. A simulated CPU's time in interrupts
/// is not known.
pub(crate) fn interrupts(machine: &Machine, rates: &Rates, is_simulated: bool) -> Grid {
    let columns = vec![
        word("drive", 10, 0).up_to(16),
        word("queue", 6, 0),
        number("CPU", 4, 0),
        number("intr/s", 7, 0),
        number("I/O/intr", 8, 1),
        number("%irq", 6, 2),
    ];
    let controllers = controllers(machine, rates);
    let by_name: BTreeMap<&str, &Controller> =
        controllers.iter().map(|one| (one.name.as_str(), one)).collect();
    let row = |vector: Vector<'_>| {
        let controller = by_name.get(vector.controller).copied();
        let drive = controller.map_or_else(|| vector.controller.to_owned(), Controller::label);
        let cpu = rates.cpus.get(&vector.cpu).copied().map(Split::from);
        let cells = vec![
            Cell::Text(drive),
            Cell::text(vector.queue),
            Cell::Number(f64::from(vector.cpu), 0),
            Cell::Count(vector.per_second),
            Cell::number(controller.and_then(Controller::ios_per_interrupt), 2),
            Cell::number(cpu.filter(|_| !is_simulated).map(Split::interrupts), 1),
        ];
        let is_hot = cpu.is_some_and(|cpu| cpu.interrupts() >= MUCH_IRQ);
        Row { cells, mark: if is_hot { Mark::Hot } else { Mark::Plain } }
    };
    Grid { columns, rows: vectors(rates).into_iter().map(row).collect() }
}

impl Controller {
    /// Its drive, or its own name where it has none or several.
    pub(crate) fn label(&self) -> String {
        match &self.drives[..] {
            [drive] => drive.as_str().to_owned(),
            _ => self.name.clone(),
        }
    }
}

/// Bytes of the unit of rates on screens, and the headings of their two columns.
pub(crate) const fn rates_of(units: UnitSystem) -> (f64, [&'static str; 2]) {
    match units {
        UnitSystem::Decimal => (1e6, ["rd MB/s", "wr MB/s"]),
        UnitSystem::Binary => (1_048_576.0, ["rd MiB/s", "wr MiB/s"]),
    }
}

/// Rates of drives, the busiest first; a rate in units of `unit` bytes.
pub(crate) fn drives(machine: &Machine, rates: &Rates, unit: f64, unit_names: [&'static str; 2]) -> Grid {
    let columns = vec![
        word("drive", 10, 0).up_to(16),
        number(unit_names[0], unit_names[0].len().max(9), 0),
        number(unit_names[1], unit_names[1].len().max(9), 0),
        number("IOPS", 7, 0),
        number("aqu-sz", 7, 1),
        number("%util", 6, 2),
    ];
    let disks = machine.summed_drives().filter_map(|drive| Some((drive, rates.disks.get(&drive.name)?)));
    let mut disks: Vec<_> = disks.collect();
    let moved = |disk: &DiskRates| disk.read_bytes + disk.written_bytes;
    disks.sort_by(|(_, a), (_, b)| moved(b).total_cmp(&moved(a)));
    let row = |(drive, disk): (&Drive, &DiskRates)| Row {
        cells: vec![
            Cell::text(&drive.name),
            Cell::Number(disk.read_bytes / unit, 2),
            Cell::Number(disk.written_bytes / unit, 2),
            Cell::Count(disk.reads + disk.writes),
            Cell::Number(disk.queue_depth, 2),
            if drive.has_utilisation() { Cell::Number(disk.utilisation, 1) } else { Cell::Unknown },
        ],
        mark: if moved(disk) > 0.0 { Mark::Plain } else { Mark::Quiet },
    };
    Grid { columns, rows: disks.into_iter().map(row).collect() }
}

/// Threads as pSnapper shows them: those of programs that read or write, others that run or wait for a device, and on request those
/// that sleep; of each the most frequent first. A kernel thread's command is in brackets as in ps. Columns that `room` cells
/// have no place for are left out, and rows that look equal without them are one.
pub(crate) fn threads(activity: &Activity, with_sleeping: bool, room: usize) -> Grid {
    /// Bytes per second of a program that reads or writes.
    const MOVES: f64 = 1e6;
    let kinds = || activity.threads.iter().flat_map(|threads| &threads.kinds);
    let with_stacks = kinds().any(|(kind, _)| kind.stack.is_some());
    let mut columns = vec![
        number("threads", 7, 0),
        word("state", 5, 0),
        word("command", 18, 0).up_to(30),
        word("syscall", 16, if with_stacks { 2 } else { 1 }).up_to(20),
        // The innermost function of a stack, where there are stacks.
        word("wchan", 20, u8::from(with_stacks)).up_to(32),
    ];
    if with_stacks {
        // Functions are long: a stack comes before the columns that it contains.
        let others = columns[..3].iter().map(|column| column.width + 1).sum::<usize>();
        columns.push(stack("kernel stack", room.saturating_sub(others).clamp(20, 90)));
    }
    let mut grid = Grid { columns, rows: Vec::new() };
    let shown = grid.fitting(room);
    let processes = activity.processes.iter().flatten();
    let movers: BTreeSet<String> = processes
        .filter(|process| process.moved() >= MOVES)
        .map(|process| starred_name(process.command.as_str()))
        .collect();
    let rank = |kind: &ThreadKind| match kind.is_active() || super::waits::wait_of(kind).is_some() {
        true if movers.contains(kind.command.as_str()) => 0,
        true => 1,
        false => 2,
    };
    let mut alike: HashMap<(u8, [Option<&str>; 5], bool), f64> = HashMap::new();
    for (kind, mean) in kinds() {
        let rank = rank(kind);
        if rank == 2 && !with_sleeping {
            continue;
        }
        let cells = [
            Some(state_of(kind.state)),
            Some(kind.command.as_str()),
            kind.syscall.as_ref().map(Label::as_str),
            kind.wchan.as_ref().map(Label::as_str),
            kind.stack.as_ref().map(Label::as_str),
        ];
        let cells = std::array::from_fn(|at| cells[at].filter(|_| shown.contains(&(at + 1))));
        *alike.entry((rank, cells, kind.is_kernel)).or_default() += mean;
    }
    let mut rows: Vec<_> = alike.into_iter().collect();
    rows.sort_by(|((rank, cells, _), n), ((other, others, _), m)| {
        rank.cmp(other).then(m.total_cmp(n)).then_with(|| cells.cmp(others))
    });
    let row = |((_, cells, is_kernel), mean): ((u8, [Option<&str>; 5], bool), f64)| {
        let mark = match cells[0] {
            _ if is_kernel => Mark::Kernel,
            Some("D") => Mark::Hot,
            Some("R") => Mark::Plain,
            _ => Mark::Quiet,
        };
        let cell = |at: usize| match (at.checked_sub(1).and_then(|at| cells[at]), at) {
            (_, 0) => Cell::Number(mean, 2),
            (Some(command), 2) if is_kernel => Cell::Text(format!("[{command}]")),
            (Some(text), _) => Cell::text(text),
            (None, _) => Cell::Unknown,
        };
        Row { cells: shown.iter().map(|at| cell(*at)).collect(), mark }
    };
    grid.rows = rows.into_iter().map(row).collect();
    grid.columns = shown.iter().map(|at| grid.columns[*at]).collect();
    grid
}

/// The letter of a state as text.
const fn state_of(state: char) -> &'static str {
    match state {
        'R' => "R",
        'D' => "D",
        'S' => "S",
        'I' => "I",
        'T' => "T",
        't' => "t",
        'Z' => "Z",
        'X' => "X",
        'P' => "P",
        'W' => "W",
        'K' => "K",
        _ => "?",
    }
}

/// Processes that `shows` chooses with what they move, most first; a rate in units of `unit` bytes. The share is of the bytes of all
/// processes.
pub(crate) fn processes(
    activity: &Activity,
    (unit, unit_names): (f64, [&'static str; 2]),
    shows: impl Fn(&ProcessRates) -> bool,
) -> Grid {
    let rate = |name: &'static str| number(name, name.len().max(7), 0).up_to(9);
    let columns = vec![
        // Processes may share a name.
        number("PID", 7, 0),
        // Longer units take their cells from it, not from `%CPU`.
        word("command", 25 - rate(unit_names[0]).width - rate(unit_names[1]).width, 0).up_to(24),
        rate(unit_names[0]),
        rate(unit_names[1]),
        number("%share", 6, 2),
        number("%CPU", 6, 1),
        word("drives", 9, 0),
    ];
    let all = activity.processes.iter().flatten();
    let total: f64 = all.clone().map(ProcessRates::moved).sum();
    let row = |rates: &ProcessRates| {
        let moved = rates.moved();
        let names = |drives: &Vec<DriveName>| drives.iter().map(ToString::to_string).collect::<Vec<_>>();
        let drives = rates.drives.as_ref().map(names);
        let cells = vec![
            // A demo's processes have none; that of ended children is their parent's.
            Cell::number((rates.pid > 0 && !rates.has_ended).then(|| f64::from(rates.pid)), 0),
            if rates.has_ended {
                Cell::Text(format!("{} (ended)", rates.command))
            } else {
                Cell::text(&rates.command)
            },
            Cell::number(rates.read_bytes.map(|bytes| bytes / unit), 2),
            Cell::number(rates.written_bytes.map(|bytes| bytes / unit), 2),
            Cell::number((rates.has_bytes() && total > 0.0).then(|| 100.0 * moved / total), 1),
            Cell::Number(rates.cpus * 100.0, 1),
            match drives.filter(|names| !names.is_empty() && moved > 0.0) {
                Some(names) => Cell::Drives(names),
                // Its open files went with it.
                None if moved > 0.0 && rates.has_ended => Cell::Text("ended".to_owned()),
                None if moved > 0.0 => Cell::Text("not known".to_owned()),
                None => Cell::Unknown,
            },
        ];
        Row { cells, mark: if moved > 0.0 { Mark::Plain } else { Mark::Quiet } }
    };
    Grid { columns, rows: all.filter(|rates| shows(rates)).map(row).collect() }
}
