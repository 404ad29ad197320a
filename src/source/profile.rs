//! Samples what CPUs execute: software clock events, named by `/proc/kallsyms` and `/proc/PID/maps`.

mod events;
mod hardware;
mod kallsyms;
mod programs;
mod record;

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

pub use self::hardware::HardwareReader;
use self::{events::Events, kallsyms::Symbols, programs::Programs, record::Sample};
use super::SysRoot;
use crate::{
    counters::profile::{Place, Profile, Samples},
    model::{Problem, ProblemKind},
    source::root::text,
    text::Label,
};

/// Looks that a profile is made of.
const WINDOW: usize = 10;
/// Least time between two readings of the kernel's functions: modules come rarely.
const SAME_FUNCTIONS: Duration = Duration::from_mins(1);
const KALLSYMS: &str = "/proc/kallsyms";

/// Open events, and what is known of functions and programs.
#[derive(Debug, Default)]
pub struct ProfileReader {
    events: Events,
    functions: Option<Functions>,
    programs: Programs,
    /// Samples of the last looks.
    window: VecDeque<Samples>,
    raw: HashMap<Sample, u64>,
    /// When events were opened or read last.
    at: Option<Duration>,
}

/// The kernel's functions as of a time.
#[derive(Debug)]
struct Functions {
    symbols: Symbols,
    read_at: Duration,
    /// Why there are none.
    problem: Option<Problem>,
    /// Names that were looked up, by the index of the function.
    labels: HashMap<usize, (Option<Label>, Option<Label>)>,
}

/// The kernel's function at an address and its module, by a text like `/proc/kallsyms`.
pub fn function_in(symbols: &[u8], address: u64) -> Option<(String, Option<String>)> {
    let symbols = Symbols::parse(symbols);
    let (name, module) = symbols.at(address)?;
    Some((name.to_owned(), module.map(str::to_owned)))
}

/// The program or library at an address, by a text like `/proc/PID/maps`.
pub fn program_in(mappings: &[u8], address: u64) -> Option<Label> {
    programs::named(&programs::executable(mappings), address)
}

impl ProfileReader {
    /// The profile of the last looks, some ten; the first look opens the events and has none. While it is not wanted, events are
    /// closed and forgotten.
    pub fn look(
        &mut self,
        root: &dyn SysRoot,
        wanted: bool,
        now: Duration,
    ) -> Option<Result<Profile, Problem>> {
        if !wanted {
            if self.at.is_some() {
                *self = Self::default();
            }
            return None;
        }
        match self.samples(root, now) {
            Ok(samples) => {
                self.window.extend(samples);
                while self.window.len() > WINDOW {
                    self.window.pop_front();
                }
                (!self.window.is_empty()).then(|| Ok(Profile::of(&self.window)))
            }
            Err(problem) => Some(Err(problem)),
        }
    }

    /// The samples since the last time; the first time opens the events and has none.
    pub fn samples(&mut self, root: &dyn SysRoot, now: Duration) -> Result<Option<Samples>, Problem> {
        let began = cpu_time();
        if let Err(problem) = self.events.open(root) {
            self.at = None;
            self.window.clear();
            return Err(problem);
        }
        let Some(before) = self.at.replace(now) else { return Ok(None) };
        self.raw.clear();
        let lost = self.events.drain(&mut self.raw);
        let raw = std::mem::take(&mut self.raw);
        let mut samples = Samples { lost, elapsed: now.saturating_sub(before), ..Samples::default() };
        self.name(root, &raw, &mut samples, now);
        self.raw = raw;
        samples.cost = cpu_time().saturating_sub(began);
        Ok(Some(samples))
    }

    /// Adds places by name.
    fn name(&mut self, root: &dyn SysRoot, raw: &HashMap<Sample, u64>, samples: &mut Samples, now: Duration) {
        let functions = self.functions.get_or_insert_with(|| Functions::read(root, now));
        let is_new = |functions: &Functions| {
            let mut kernel = raw.keys().filter(|sample| sample.is_kernel);
            kernel.any(|sample| functions.symbols.index(sample.address).is_none())
        };
        if now >= functions.read_at + SAME_FUNCTIONS && is_new(functions) {
            *functions = Functions::read(root, now);
        }
        self.programs.begin();
        for (sample, count) in raw {
            let place = if sample.is_kernel {
                let (function, module) = functions.at(sample.address);
                Place::Kernel { function, module, by_idle_task: sample.pid == 0 }
            } else {
                Place::User(self.programs.at(root, sample.pid, sample.address))
            };
            *samples.hits.entry(place).or_default() += count;
        }
        samples.problems.extend(functions.problem.clone());
    }
}

impl Functions {
    fn read(root: &dyn SysRoot, now: Duration) -> Self {
        let (symbols, problem) = match root.read(KALLSYMS) {
            Ok(text) => {
                let symbols = Symbols::parse(&text);
                let problem = symbols.is_empty().then(|| hidden(root));
                (symbols, problem)
            }
            Err(error) => (Symbols::default(), Some(error.into_problem(KALLSYMS))),
        };
        Self { symbols, read_at: now, problem, labels: HashMap::new() }
    }

    /// The function at an address, and its module.
    fn at(&mut self, address: u64) -> (Option<Label>, Option<Label>) {
        const MOST: usize = 4096;
        let Some(index) = self.symbols.index(address) else { return (None, None) };
        if self.labels.len() >= MOST {
            self.labels.clear();
        }
        let symbols = &self.symbols;
        let label = || match symbols.name(index) {
            Some((name, module)) => (Some(Label::new(name)), module.map(Label::new)),
            None => (None, None),
        };
        self.labels.entry(index).or_insert_with(label).clone()
    }
}

/// Why addresses are not shown.
fn hidden(root: &dyn SysRoot) -> Problem {
    let setting = text(root, "/proc/sys/kernel/kptr_restrict");
    let level = setting.value().map_or("?", |text| text.trim());
    let fix = if level == "2" { "set it to 1" } else { "run as root" };
    Problem::new(
        ProblemKind::Denied,
        KALLSYMS,
        format!(
            "addresses are hidden (kernel.kptr_restrict is {level}); {fix} to see kernel functions by name"
        ),
    )
}

/// CPU time of this thread.
pub(crate) fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
