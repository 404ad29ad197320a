//! A demo's machine with changed files, the test that runs on it, and its findings.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use iodyno::{
    capacity,
    counters::{CpuShares, DiskRates, Rates},
    findings::{self, Finding, Inputs, Load, validity::RunMonitor},
    machine::Machine,
    model::{DriveName, Limits, RunSummary, Severity, Target, Workload},
    source::{
        self,
        capture::{Answers, Capture, TextRoot},
        demo,
    },
    text::Label,
    units::UnitSystem,
};

/// Ids tested, one list per file of tests.
pub const ROWS: &[&[&str]] = &[
    super::links::ROWS,
    super::topology::ROWS,
    super::drives::ROWS,
    super::queues::ROWS,
    super::layers::ROWS,
    super::host::ROWS,
    super::load::ROWS,
];

/// Two tests for each row, and the list of their ids.
#[macro_export]
macro_rules! rows {
    ($($name:ident $id:literal { fires: $fires:expr, silent: $silent:expr $(,)? })*) => {
        /// The rows tested here.
        pub const ROWS: &[&str] = &[$($id),*];
        $(mod $name {
            use super::*;
            #[test]
            fn fires() {
                let scene: Scene = $fires;
                let found = scene.look();
                assert!(!Scene::of(&found, $id).is_empty(), "{} is silent:\n{found:#?}", $id);
                for finding in Scene::of(&found, $id) {
                    $crate::scene::is_complete(finding);
                }
            }
            #[test]
            fn stays_silent() {
                let scene: Scene = $silent;
                let found = scene.look();
                assert!(Scene::of(&found, $id).is_empty(), "{} fires:\n{:#?}", $id, Scene::of(&found, $id));
            }
        })*
    };
}

/// A machine, its counters and its test.
#[derive(Clone)]
pub struct Scene {
    capture: Capture,
    rates: Option<Rates>,
    workload: Option<Workload>,
    summary: Option<RunSummary>,
    watch: Option<RunMonitor>,
    change: Vec<fn(&mut Machine)>,
}

/// Paths of the laptop's parts.
pub const LAPTOP_DRIVE: &str = "/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0";
pub const LAPTOP_PORT: &str = "/sys/devices/pci0000:00/0000:00:01.1";

/// The demo of that name.
pub fn demo(name: &str) -> Scene {
    TextRoot::parse(&demo::find(name).unwrap().capture()).unwrap().into_capture().into()
}

/// The laptop: two drives, one with a downtrained link, one behind the chipset.
pub fn laptop() -> Scene {
    demo("laptop")
}

/// A machine with good links: four drives in slots of the CPU.
pub fn x570() -> Scene {
    demo("x570")
}

impl From<Capture> for Scene {
    /// An idle machine.
    fn from(capture: Capture) -> Self {
        Self { capture, rates: None, workload: None, summary: None, watch: None, change: Vec::new() }
    }
}

impl Scene {
    /// Sets a file's text; creates the file if it does not exist.
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.put(path, format!("{text}\n").into_bytes());
        self
    }

    fn put(&mut self, path: &str, content: Vec<u8>) {
        self.capture.answers.entry(path.to_owned()).or_default().read = Some(Ok(content));
        self.list_in_parents(path);
    }

    fn list_in_parents(&mut self, path: &str) {
        let Some((folder, name)) = path.rsplit_once('/') else { return };
        if folder.is_empty() {
            return;
        }
        let answers: &mut Answers = self.capture.answers.entry(folder.to_owned()).or_default();
        let mut names = match &answers.list {
            Some(Ok(names)) => names.clone(),
            _ => Vec::new(),
        };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
            names.sort();
        }
        answers.list = Some(Ok(names));
        self.list_in_parents(folder);
    }

    /// Sets the text of every file whose path has this end.
    pub fn files_ending(mut self, end: &str, text: &str) -> Self {
        let paths: Vec<_> = self.capture.answers.keys().filter(|path| path.ends_with(end)).cloned().collect();
        assert!(!paths.is_empty(), "no file ends in {end}");
        for path in paths {
            self.put(&path, format!("{text}\n").into_bytes());
        }
        self
    }

    /// Changes every path, link and name of a listing.
    fn renamed(mut self, rename: impl Fn(&str) -> String) -> Self {
        let mut renamed = BTreeMap::new();
        for (path, mut answers) in std::mem::take(&mut self.capture.answers) {
            if let Some(Ok(target)) = &mut answers.link {
                *target = rename(target);
            }
            if let Some(Ok(names)) = &mut answers.list {
                *names = names.iter().map(|name| rename(name)).collect();
                names.sort();
            }
            renamed.insert(rename(&path), answers);
        }
        self.capture.answers = renamed;
        self
    }

    /// PCI functions whose folders are below one of these, by address.
    fn functions_below(&self, folder: &str) -> Vec<String> {
        let is_address =
            |name: &&str| name.len() == 12 && name.starts_with("0000:") && name.as_bytes()[10] == b'.';
        let below = self.capture.answers.keys().filter_map(|path| path.strip_prefix(&format!("{folder}/")));
        let mut found: Vec<String> =
            below.flat_map(|path| path.split('/').filter(is_address)).map(str::to_owned).collect();
        found.sort();
        found.dedup();
        found
    }

    /// Removes the devices behind a port of the root bus.
    pub fn unplugged(mut self, port: &str) -> Self {
        let gone = self.functions_below(port);
        assert!(!gone.is_empty(), "nothing behind {port}");
        self.capture.answers.retain(|path, _| !gone.iter().any(|address| path.contains(address.as_str())));
        for answers in self.capture.answers.values_mut() {
            if let Some(Ok(names)) = &mut answers.list {
                names.retain(|name| !gone.contains(name));
            }
        }
        self
    }

    /// Moves these ports of a root complex (`0000:00`), with all devices below, into VMD's own domain, as Intel's
    /// firmware can.
    pub fn behind_vmd(self, root: &str, ports: &[&str]) -> Self {
        let vmd = format!("/sys/devices/pci{root}/{root}:0e.0");
        let scene = ports.iter().fold(self, |scene, port| {
            let (old, new) = (format!("{root}:{port}"), format!("10000:e0:{port}"));
            let mut names = scene.functions_below(&format!("/sys/devices/pci{root}/{old}"));
            names.push(old.clone());
            let folder = format!("pci{root}/{old}");
            scene.renamed(|text| {
                let moved = text.replace(&folder, &format!("pci{root}/{root}:0e.0/pci10000:e0/{old}"));
                names.iter().fold(moved, |text, name| {
                    let other = if *name == old { new.clone() } else { format!("1{name}") };
                    text.replace(name.as_str(), &other)
                })
            })
        });
        let mut scene = scene
            .file(&format!("{vmd}/class"), "0x010400")
            .file(&format!("{vmd}/vendor"), "0x8086")
            .file(&format!("{vmd}/device"), "0x467f");
        let (entry, up) = (format!("/sys/bus/pci/devices/{root}:0e.0"), "../../../");
        scene.link(&format!("{vmd}/driver"), "../../../bus/pci/drivers/vmd");
        scene.link(&entry, &format!("{up}devices/pci{root}/{root}:0e.0"));
        scene
    }

    /// Sets a symbolic link.
    pub fn linked(mut self, path: &str, target: &str) -> Self {
        self.link(path, target);
        self
    }

    /// Adds a software device of these drives or partitions, with files below its folder.
    pub fn stacked(self, name: &str, below: &[&str], files: &[(&str, &str)]) -> Self {
        let folder = format!("/sys/devices/virtual/block/{name}");
        let scene = self
            .linked(&format!("/sys/block/{name}"), &format!("../devices/virtual/block/{name}"))
            .file(&format!("{folder}/size"), "8000000000");
        let scene = below.iter().fold(scene, |scene, part| {
            scene.linked(&format!("{folder}/slaves/{part}"), &format!("../../../../{part}"))
        });
        files.iter().fold(scene, |scene, (file, text)| scene.file(&format!("{folder}/{file}"), text))
    }

    fn link(&mut self, path: &str, target: &str) {
        self.capture.answers.entry(path.to_owned()).or_default().link = Some(Ok(target.to_owned()));
        self.list_in_parents(path);
    }

    /// Changes the bytes of a binary file.
    pub fn bytes(mut self, path: &str, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        let Some(Some(Ok(content))) = self.capture.answers.get_mut(path).map(|answers| answers.read.as_mut())
        else {
            panic!("no {path}");
        };
        change(content);
        self
    }

    /// Changes two bytes at an offset into the PCI Express capability of every function whose path has this end.
    pub fn express(mut self, device: &str, offset: usize, change: impl Fn(u16) -> u16) -> Self {
        let end = format!("{device}/config");
        let mut hit = false;
        for (path, answers) in &mut self.capture.answers {
            if let (true, Some(Ok(config))) = (path.ends_with(&end), answers.read.as_mut())
                && let Some(at) = express_capability(config).map(|at| at + offset)
            {
                let word = change(u16::from_le_bytes([config[at], config[at + 1]])).to_le_bytes();
                config[at..at + 2].copy_from_slice(&word);
                hit = true;
            }
        }
        assert!(hit, "no capability at {device}");
        self
    }

    /// Changes the machine where no file of a demo has the value.
    pub fn with(mut self, change: fn(&mut Machine)) -> Self {
        self.change.push(change);
        self
    }

    /// Sets rates.
    pub fn rates(mut self, change: impl FnOnce(&mut Rates)) -> Self {
        let mut rates = self
            .rates
            .take()
            .unwrap_or_else(|| Rates { elapsed: Duration::from_secs(1), ..Rates::default() });
        change(&mut rates);
        self.rates = Some(rates);
        self
    }

    /// Sets the load of all `count` CPUs.
    pub fn busy(self, count: u32, percent: f64) -> Self {
        let shares = CpuShares { sys: percent, idl: 100.0 - percent, ..CpuShares::default() };
        self.rates(|rates| {
            rates.cpu = Some(shares);
            rates.cpus = (0..count).map(|cpu| (cpu, shares)).collect();
        })
    }

    /// Bytes written per second.
    pub fn writes(self, drive: &str, bytes: f64) -> Self {
        let disk = DiskRates { written_bytes: bytes, ..DiskRates::default() };
        self.rates(|rates| {
            rates.disks = BTreeMap::from([(DriveName::new(drive), disk)]);
        })
    }

    /// A test that runs on these drives.
    pub fn test(mut self, drives: &[&str], change: impl FnOnce(&mut Workload)) -> Self {
        let target = |name: &&str| Target {
            path: PathBuf::from(format!("/dev/{name}")),
            drive: Some(DriveName::new(name)),
        };
        let mut workload = Workload { targets: drives.iter().map(target).collect(), ..Workload::default() };
        change(&mut workload);
        self.workload = Some(workload);
        self
    }

    /// Monitors the test from its start; later changes happen during the test.
    pub fn watched(mut self) -> Self {
        self.watch = self.workload.as_ref().map(|workload| RunMonitor::begin(&self.machine(), workload));
        self
    }

    /// Sets the test's result.
    pub fn ended(mut self, summary: impl FnOnce(&Workload) -> RunSummary) -> Self {
        self.summary = self.workload.as_ref().map(summary);
        self
    }

    /// Reads the machine.
    pub fn machine(&self) -> Machine {
        let (mut machine, _) = source::read_machine(&TextRoot::from(self.capture.clone()));
        for change in &self.change {
            change(&mut machine);
        }
        machine
    }

    /// All findings.
    pub fn look(&self) -> Vec<Finding> {
        let machine = self.machine();
        let limits: Limits = capacity::limits(&machine);
        let load = self.workload.as_ref().map(|workload| Load {
            workload,
            summary: self.summary.as_ref(),
            watch: self.watch.as_ref(),
        });
        findings::check(&Inputs {
            machine: &machine,
            limits: &limits,
            rates: self.rates.as_ref(),
            load,
            units: UnitSystem::Decimal,
            known: None,
        })
    }

    /// What needs a test that does not run.
    pub fn not_judged(&self) -> Vec<iodyno::model::FindingId> {
        let machine = self.machine();
        let limits: Limits = capacity::limits(&machine);
        let rates = self.rates.as_ref();
        let inputs = Inputs { rates, ..Inputs::at_rest(&machine, &limits) };
        findings::not_judged(&inputs, &findings::check(&inputs))
    }

    /// The findings of that id, or the folded one that holds it.
    pub fn of<'a>(found: &'a [Finding], id: &str) -> Vec<&'a Finding> {
        found
            .iter()
            .filter(|finding| finding.id.0 == id || finding.folds.iter().any(|folded| folded.0 == id))
            .collect()
    }

    /// The one finding of that id, and its severity.
    pub fn one(&self, id: &str) -> Finding {
        let found = self.look();
        let of: Vec<_> = found.iter().filter(|finding| finding.id.0 == id).cloned().collect();
        let [one] = of.as_slice() else { panic!("not one {id}: {found:#?}") };
        one.clone()
    }

    /// The highest severity of that id.
    pub fn severity(&self, id: &str) -> Option<Severity> {
        self.look().iter().filter(|finding| finding.id.0 == id).map(|finding| finding.severity).max()
    }
}

/// Checks that a finding is complete.
pub fn is_complete(finding: &Finding) {
    let id = finding.id.0;
    assert!(!finding.title.is_empty() && !finding.why.is_empty() && !finding.wrong_if.is_empty(), "{id}");
    assert!(!finding.subjects.is_empty(), "{id} is about nothing");
    assert!(!finding.evidence.is_empty(), "{id} proves nothing");
    assert!(!finding.gain.text.is_empty(), "{id}");
    assert!(!finding.remedy.text.contains(['{', '}']), "{id}: a hole in {:?}", finding.remedy.text);
    assert!(!finding.gain.source.contains(['{', '}']), "{id}: a hole in {:?}", finding.gain.source);
    for proof in &finding.evidence {
        assert!(!proof.path.is_empty() && !proof.value.is_empty(), "{id}: {proof:?}");
    }
    if finding.gain.bytes_per_second.is_some() || finding.gain.iops.is_some() {
        assert!(!finding.gain.source.is_empty(), "{id}: a figure without its source");
    }
}

/// Offset of the PCI Express capability in a configuration space.
fn express_capability(config: &[u8]) -> Option<usize> {
    let mut at = usize::from(*config.get(0x34)?);
    for _ in 0..48 {
        if at < 0x40 {
            return None;
        }
        if config.get(at)? == &0x10 {
            return Some(at);
        }
        at = usize::from(*config.get(at + 1)?);
    }
    None
}

/// A label.
pub fn label(text: &str) -> Label {
    Label::new(text)
}
