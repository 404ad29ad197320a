//! A synthetic machine: drives of a demo over and over, with counters of hundreds of CPUs and thousands of threads.

use std::{collections::HashMap, fmt::Write as _};

use iodyno::source::{
    RootError, SysRoot,
    capture::{Answers, Capture, Recorder},
    counters,
    origin::Origin,
    read_machine,
};

pub const DRIVES: usize = 512;
pub const FUNCTIONS: usize = 4000;
pub const CPUS: usize = 256;
pub const LINES: usize = 2000;
pub const THREADS: usize = 10_000;

/// Threads of a process.
const CREW: usize = 100;
/// Ports, and drives, of a root complex.
const PORTS: usize = 32;
/// Interrupt lines of a drive.
const VECTORS: usize = 3;
/// The demo, and its drive that is copied.
const DEMO: &str = "threadripper-before";
const COMPLEX: &str = "pci0000:40";
const PORT: &str = "0000:40:01.1";
const FUNCTION: &str = "0000:41:00.0";
const CONTROLLER: &str = "nvme0";
/// The number of the first copy.
const FIRST: usize = 10;

/// Files of a thread that a pass reads, and the bytes that each has at most.
const FILES: [&str; 3] = ["stat", "syscall", "wchan"];
const LONGEST: usize = 112;

/// Everything read of the machine, counters and threads as well.
#[derive(Default)]
pub struct Memory {
    answers: HashMap<String, Answers>,
    /// [`FILES`] of one thread after another, found by their numbers: a hash of 30 000 paths would be most of what is measured.
    of_threads: Vec<([u8; LONGEST], usize)>,
}

impl Memory {
    /// The machine when its counters have counted that many steps.
    pub fn new(tree: &Capture, step: u64) -> Self {
        let mut memory = Self { answers: tree.answers.clone().into_iter().collect(), of_threads: Vec::new() };
        let tables = [("diskstats", diskstats(step)), ("stat", stat(step)), ("interrupts", interrupts(step))];
        for (file, text) in tables {
            memory.put(format!("/proc/{file}"), text);
        }
        for kind in ["io", "memory", "cpu"] {
            let stalls = |kind| format!("{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={}\n", step * 1000);
            memory.put(format!("/proc/pressure/{kind}"), stalls("some") + &stalls("full"));
        }
        let pages = ["pgscan_kswapd", "pgscan_direct", "pgsteal_kswapd", "pgsteal_direct"];
        memory.put("/proc/vmstat".to_owned(), pages.map(|name| format!("{name} {step}\n")).concat());
        memory.threads(step);
        memory
    }

    fn put(&mut self, path: String, text: String) {
        self.answers.entry(path).or_default().read = Some(Ok(text.into_bytes()));
    }

    fn list(&mut self, path: String, names: Vec<String>) {
        self.answers.entry(path).or_default().list = Some(Ok(names));
    }

    fn threads(&mut self, step: u64) {
        let pids: Vec<usize> = (1..=THREADS / CREW).map(|process| process * 1000).collect();
        self.list("/proc".to_owned(), pids.iter().map(ToString::to_string).collect());
        self.put("/proc/loadavg".to_owned(), format!("9 9 9 3/{THREADS} 1\n"));
        for pid in pids {
            let io = format!("rchar: {0}\nwchar: {0}\nread_bytes: {0}\nwrite_bytes: 0\n", step * 4096);
            self.put(format!("/proc/{pid}/io"), io);
            let tids: Vec<usize> = (pid..pid + CREW).collect();
            self.list(format!("/proc/{pid}/task"), tids.iter().map(ToString::to_string).collect());
            self.put(format!("/proc/{pid}/stat"), thread(pid, step));
            for tid in tids {
                let call = "426 0x3 0x0 0x1 0x1 0x0 0x8 0x7ffd2c1f8e10 0x7f0f2c3d5e4d\n";
                for text in [&*thread(tid, step), call, "io_cqring_wait"] {
                    let mut file = [0; LONGEST];
                    file[..text.len()].copy_from_slice(text.as_bytes());
                    self.of_threads.push((file, text.len()));
                }
            }
        }
    }

    /// A file of a thread, `/proc/PID/task/TID/FILE`.
    fn of_thread(&self, path: &str) -> Option<&[u8]> {
        let (pid, rest) = path.strip_prefix("/proc/")?.split_once("/task/")?;
        let (tid, file) = rest.split_once('/')?;
        let (pid, tid): (usize, usize) = (pid.parse().ok()?, tid.parse().ok()?);
        let thread = (pid / 1000).checked_sub(1)? * CREW + tid.checked_sub(pid)?;
        let (text, length) =
            self.of_threads.get(thread * FILES.len() + FILES.iter().position(|f| *f == file)?)?;
        text.get(..*length)
    }

    fn answer<T>(
        &self,
        path: &str,
        which: impl Fn(&Answers) -> Option<&Result<T, RootError>>,
    ) -> Result<&T, RootError> {
        let answer = self.answers.get(path).and_then(which);
        answer.map_or(Err(RootError::Errno(2)), |answer| answer.as_ref().map_err(Clone::clone))
    }
}

impl SysRoot for Memory {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        self.answer(path, |answers| answers.read.as_ref()).cloned()
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.answer(path, |answers| answers.link.as_ref()).cloned()
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        self.answer(path, |answers| answers.list.as_ref()).cloned()
    }

    fn read_into(&self, path: &str, buffer: &mut Vec<u8>) -> Result<(), RootError> {
        let content = self.answer(path, |answers| answers.read.as_ref())?;
        content.clone_into(buffer);
        Ok(())
    }

    fn read_short(&self, path: &str, buffer: &mut [u8]) -> Result<usize, RootError> {
        let content = match self.of_thread(path) {
            Some(content) => content,
            None => self.answer(path, |answers| answers.read.as_ref())?,
        };
        let length = content.len().min(buffer.len());
        buffer[..length].copy_from_slice(&content[..length]);
        Ok(length)
    }

    fn names(&self, path: &str, _from: u64, each: &mut dyn FnMut(&str)) -> Result<Option<u64>, RootError> {
        self.answer(path, |answers| answers.list.as_ref())?.iter().for_each(|name| each(name));
        Ok(None)
    }
}

/// The demo with copies of one drive: 16 root complexes of 32 ports, a drive behind each, and virtual functions beside it.
pub fn tree() -> Capture {
    let demo = Origin::Demo(DEMO.to_owned()).open().unwrap();
    let recorder = Recorder::new(&*demo);
    let (machine, _) = read_machine(&recorder);
    counters::read(&recorder);
    let template = recorder.recorded();
    let mut all = template.clone();
    let mut functions = machine.pci.iter().count();
    for copy in 0..DRIVES - machine.drives.len() {
        let (domain, device) = (1 + copy / PORTS, copy % PORTS);
        let (number, bus) = (FIRST + copy, 1 + device);
        let (complex, port) = (format!("pci{domain:04x}:00"), format!("{domain:04x}:00:{device:02x}.0"));
        let function = format!("{domain:04x}:{bus:02x}:00.0");
        let texts = [
            (COMPLEX, complex.clone()),
            (PORT, port.clone()),
            (FUNCTION, function.clone()),
            (CONTROLLER, format!("nvme{number}")),
            ("S5GXNX0D0004096", format!("S5GXNX0D1{number:06}")),
            ("0025300008b10000", format!("00253001{number:08x}")),
        ];
        let renamed =
            |text: &str| texts.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        for (path, answers) in template.answers.iter().filter(|(path, _)| is_of_drive(path)) {
            all.answers.insert(renamed(path), copied(answers, &renamed));
        }
        let folder = format!("/sys/devices/{complex}/{port}");
        let name = format!("nvme{number}");
        add(&mut all, &format!("/sys/devices/{complex}"), &port);
        add(&mut all, "/sys/devices", &complex);
        add(&mut all, "/sys/block", &format!("{name}n1"));
        add(&mut all, "/sys/class/block", &format!("{name}n1"));
        add(&mut all, "/sys/class/nvme", &name);
        for address in [&port, &function] {
            add(&mut all, "/sys/bus/pci/devices", address);
            functions += 1;
        }
        add(&mut all, &folder, &function);
        let left = FUNCTIONS.saturating_sub(functions).div_ceil(DRIVES - machine.drives.len() - copy);
        // Those of the copies to come are taken into account: each has two of its own.
        for virtual_function in 1..=left.saturating_sub(2).min(7) {
            let address = format!("{domain:04x}:{bus:02x}:00.{virtual_function}");
            let place = format!("{folder}/{address}");
            for (file, text) in [
                ("class", "0x020000\n"),
                ("vendor", "0x8086\n"),
                ("device", "0x1889\n"),
                ("current_link_speed", "16.0 GT/s PCIe\n"),
                ("current_link_width", "4\n"),
                ("max_link_speed", "16.0 GT/s PCIe\n"),
                ("max_link_width", "4\n"),
                ("numa_node", "0\n"),
            ] {
                let file = all.answers.entry(format!("{place}/{file}")).or_default();
                file.read = Some(Ok(text.as_bytes().to_vec()));
            }
            let link = all.answers.entry(format!("/sys/bus/pci/devices/{address}")).or_default();
            link.link = Some(Ok(format!("../../../devices/{complex}/{port}/{address}")));
            add(&mut all, "/sys/bus/pci/devices", &address);
            add(&mut all, &folder, &address);
            functions += 1;
        }
    }
    all
}

fn is_of_drive(path: &str) -> bool {
    let port = format!("/sys/devices/{COMPLEX}/{PORT}");
    let named = [
        format!("/sys/block/{CONTROLLER}n1"),
        format!("/sys/class/block/{CONTROLLER}n1"),
        format!("/sys/class/nvme/{CONTROLLER}"),
        format!("/sys/bus/pci/devices/{PORT}"),
        format!("/sys/bus/pci/devices/{FUNCTION}"),
    ];
    let is_left_out = ["/msi_irqs", "/mq", "/hwmon"].iter().any(|part| path.contains(part));
    (path.starts_with(&port) && !is_left_out) || named.iter().any(|name| name == path)
}

fn copied(answers: &Answers, renamed: &impl Fn(&str) -> String) -> Answers {
    let text = |bytes: &Vec<u8>| match str::from_utf8(bytes) {
        Ok(text) => renamed(text).into_bytes(),
        Err(_) => bytes.clone(),
    };
    Answers {
        list: answers.list.clone().map(|list| list.map(|names| names.iter().map(|n| renamed(n)).collect())),
        link: answers.link.clone().map(|link| link.map(|target| renamed(&target))),
        read: answers.read.clone().map(|read| read.map(|bytes| text(&bytes))),
    }
}

/// Adds a name to a folder; one that could not be listed is made.
fn add(all: &mut Capture, folder: &str, name: &str) {
    let list = &mut all.answers.entry(folder.to_owned()).or_default().list;
    let names = match list {
        Some(Ok(names)) => names,
        other => other.insert(Ok(Vec::new())).as_mut().unwrap(),
    };
    if let Err(at) = names.binary_search_by(|known| known.as_str().cmp(name)) {
        names.insert(at, name.to_owned());
    }
}

/// All drives' instance numbers, the demo's ten included.
fn diskstats(step: u64) -> String {
    let row = |number: usize| {
        let reads = step * (1000 + number as u64);
        format!(
            " 259 {number:7} nvme{number}n1 {reads} 0 {} {reads} 7 0 56 9 3 {} {reads} 0 0 0 0 0 0\n",
            8 * reads,
            step * 900
        )
    };
    (0..DRIVES).map(row).collect()
}

fn stat(step: u64) -> String {
    let row = |name: String, busy: u64| {
        let idle = 100 * step - busy;
        format!("{name} {busy} 0 0 {idle} 0 0 0 0 0 0\n")
    };
    let mut text = row("cpu".to_owned(), step * 50);
    (0..CPUS).for_each(|cpu| text += &row(format!("cpu{cpu}"), step * (cpu as u64 % 100)));
    let forks = step * 1000;
    text + &format!("intr 1\nctxt {forks}\nprocesses {forks}\nprocs_running 3\nprocs_blocked 1\n")
}

fn interrupts(step: u64) -> String {
    let mut text = String::from("     ");
    for cpu in 0..CPUS {
        let _infallible = write!(text, "{:>11}", format!("CPU{cpu}"));
    }
    text.push('\n');
    for line in 0..LINES {
        let _infallible = write!(text, "{line:>4}:");
        for cpu in 0..CPUS {
            let count = if cpu == line % CPUS { step * 5000 + line as u64 } else { 0 };
            let _infallible = write!(text, " {count:>10}");
        }
        let (drive, queue) = (line / VECTORS, line % VECTORS);
        let handler = if drive < DRIVES { format!("nvme{drive}q{queue}") } else { format!("eth0-{line}") };
        let _infallible = writeln!(text, "  PCI-MSIX-0001:01:00.0 {queue:>3}-edge      {handler}");
    }
    text
}

fn thread(tid: usize, step: u64) -> String {
    let ticks = step * (tid as u64 % 7);
    format!("{tid} (worker/{tid}) S 1 1 1 0 -1 4194304 0 0 0 0 {ticks} 0 0 0 20 0 {CREW} 0 77 0 0\n")
}
