//! A CPU profile: samples of what CPUs execute, by function and in the words of articles.

mod words;

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use crate::{model::Problem, text::Label};

/// What a CPU was executing when it was sampled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A function of the kernel.
    Kernel {
        /// Its name; `None` where no symbol is known.
        function: Option<Label>,
        /// The module it is in; `None` for the kernel itself.
        module: Option<Label>,
        /// Executed by the idle task, which also runs interrupts.
        by_idle_task: bool,
    },
    /// A program or a library, by the file that is mapped there; `None` where that is not known.
    User(Option<Label>),
}

/// Samples of a time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// How often each place was seen.
    pub hits: HashMap<Place, u64>,
    /// Samples that the kernel had no room for.
    pub lost: u64,
    /// Their time.
    pub elapsed: Duration,
    /// CPU time that reading and naming them took.
    pub cost: Duration,
    /// What could not be read: the reason why functions have no names.
    pub problems: Vec<Problem>,
}

/// What CPU time is spent on, in words that articles use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each has its words")]
pub enum Word {
    Programs,
    Copying,
    Compression,
    Checksums,
    Encryption,
    Spinlocks,
    Locks,
    Interrupts,
    IrqsOff,
    BlockLayer,
    Drivers,
    Iommu,
    Arrays,
    Aio,
    PageCache,
    FileSystem,
    Scheduler,
    SystemCalls,
    Memory,
    Clocks,
    Network,
    Guests,
    Other,
    Kernel,
    Idle,
}

impl Word {
    /// As it is shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Programs => "programs",
            Self::Copying => "copying",
            Self::Compression => "compression",
            Self::Checksums => "checksums",
            Self::Encryption => "encryption",
            Self::Spinlocks => "spinlocks",
            Self::Locks => "other locks",
            Self::Interrupts => "interrupts",
            Self::IrqsOff => "irqs disabled",
            Self::BlockLayer => "block layer",
            Self::Drivers => "drivers",
            Self::Iommu => "IOMMU/DMA",
            Self::Arrays => "dm/md",
            Self::Aio => "io_uring/aio",
            Self::PageCache => "page cache",
            Self::FileSystem => "file system",
            Self::Scheduler => "scheduler",
            Self::SystemCalls => "system calls",
            Self::Memory => "memory",
            Self::Clocks => "clocks",
            Self::Network => "network",
            Self::Guests => "guests",
            Self::Other => "other kernel",
            Self::Kernel => "kernel",
            Self::Idle => "idle",
        }
    }
}

/// Hardware counters of all CPUs, per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hardware {
    /// Clock cycles of CPUs that are not halted.
    pub cycles: f64,
    /// Instructions that were retired.
    pub instructions: f64,
}

/// A function of the kernel, or the code of a program or library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Its word.
    pub word: Word,
    /// Its name; `None` for user code, and where no symbol is known.
    pub name: Option<Label>,
    /// The module, program or library; `None` for the kernel itself, and where it is not known.
    pub object: Option<Label>,
}

/// Samples by function, idle ones apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// Functions with the number of their samples, most first.
    pub functions: Vec<(Function, u64)>,
    /// Samples of idle CPUs.
    pub idle: u64,
    /// See [`Samples::lost`].
    pub lost: u64,
    /// The time of the samples.
    pub elapsed: Duration,
    /// See [`Samples::cost`].
    pub cost: Duration,
    /// See [`Samples::problems`].
    pub problems: Vec<Problem>,
}

impl Profile {
    /// The profile of all these samples together.
    pub fn of<'a>(samples: impl IntoIterator<Item = &'a Samples>) -> Self {
        let mut profile = Self::default();
        let mut counts: HashMap<Function, u64> = HashMap::new();
        for Samples { hits, lost, elapsed, cost, problems } in samples {
            for (place, count) in hits {
                let function = Function::at(place);
                if function.word == Word::Idle {
                    profile.idle += count;
                } else {
                    *counts.entry(function).or_default() += count;
                }
            }
            profile.lost += lost;
            profile.elapsed += *elapsed;
            profile.cost += *cost;
            profile.problems.clone_from(problems);
        }
        profile.set(counts);
        profile
    }

    /// A profile that knows only the times in programs and in the kernel, of simulated CPUs.
    pub fn simulated(program: Label, user: Duration, system: Duration) -> Self {
        let mut profile = Self::default();
        let function = |word, object| Function { word, name: None, object };
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let both = [(function(Word::Programs, Some(program)), user), (function(Word::Kernel, None), system)];
        profile.set(both.into_iter().map(|(of, time)| (of, micros(time))).filter(|(_, n)| *n > 0).collect());
        profile
    }

    /// Both together.
    #[must_use]
    pub fn joined(mut self, other: &Self) -> Self {
        let mut counts: HashMap<Function, u64> = std::mem::take(&mut self.functions).into_iter().collect();
        for (function, count) in &other.functions {
            *counts.entry(function.clone()).or_default() += count;
        }
        self.set(counts);
        self.idle += other.idle;
        self.lost += other.lost;
        self.elapsed += other.elapsed;
        self.cost += other.cost;
        self.problems.clone_from(&other.problems);
        self
    }

    fn set(&mut self, counts: HashMap<Function, u64>) {
        self.functions = counts.into_iter().collect();
        self.functions.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    }

    /// Samples of CPUs that were not idle.
    pub fn busy(&self) -> u64 {
        self.functions.iter().map(|(_, count)| count).sum()
    }

    /// The share of samples of busy CPUs, percent.
    pub fn share(&self, count: u64) -> f64 {
        100.0 * count as f64 / self.busy().max(1) as f64
    }

    /// The share of a word, percent.
    pub fn of_word(&self, word: Word) -> f64 {
        let own = self.functions.iter().filter(|(function, _)| function.word == word);
        self.share(own.map(|(_, count)| count).sum())
    }

    /// Samples of each word, most first.
    pub fn words(&self) -> Vec<(Word, u64)> {
        let mut sums: BTreeMap<Word, u64> = BTreeMap::new();
        for (function, count) in &self.functions {
            *sums.entry(function.word).or_default() += count;
        }
        let mut words: Vec<(Word, u64)> = sums.into_iter().collect();
        words.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
        words
    }

    /// CPU time of reading the samples, percent of one CPU.
    pub fn cost_percent(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| 100.0 * self.cost.as_secs_f64() / seconds)
    }
}

impl Function {
    fn at(place: &Place) -> Self {
        match place {
            Place::User(object) => Self { word: Word::Programs, name: None, object: object.clone() },
            Place::Kernel { function, module, by_idle_task } => {
                let word = function.as_ref().map_or(Word::Kernel, |name| words::word_of(name.as_str()));
                // The idle task's own work is going to sleep and waking up; the rest is interrupts that hit it.
                let is_own =
                    matches!(word, Word::Scheduler | Word::Clocks | Word::Locks | Word::Other | Word::Kernel);
                let word = if *by_idle_task && is_own { Word::Idle } else { word };
                Self { word, name: function.clone(), object: module.clone() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kernel(function: &str, by_idle_task: bool) -> Place {
        Place::Kernel { function: Some(Label::new(function)), module: None, by_idle_task }
    }

    fn samples(hits: &[(Place, u64)]) -> Samples {
        let hits = hits.iter().cloned().collect();
        Samples {
            hits,
            elapsed: Duration::from_secs(1),
            cost: Duration::from_millis(2),
            ..Samples::default()
        }
    }

    #[test]
    fn shares_are_of_busy_samples_and_interrupts_of_idle_cpus_count() {
        let profile = Profile::of(&[samples(&[
            (kernel("_copy_to_iter", false), 60),
            (kernel("rep_movs_alternative", false), 10),
            (kernel("pv_native_safe_halt", true), 90),
            (kernel("finish_task_switch.isra.0", true), 10),
            (kernel("handle_softirqs", true), 10),
            (Place::User(Some(Label::new("dd"))), 20),
        ])]);
        let words: Vec<_> =
            profile.words().iter().map(|(word, n)| (word.name(), profile.share(*n))).collect();
        assert_eq!(words, [("copying", 70.0), ("programs", 20.0), ("interrupts", 10.0)]);
        assert_eq!((profile.busy(), profile.idle), (100, 100));
        let (first, count) = &profile.functions[0];
        assert_eq!((first.name.as_ref().map(Label::as_str), *count), (Some("_copy_to_iter"), 60));
        assert_eq!(profile.cost_percent().map(|cost| format!("{cost:.2}")).as_deref(), Some("0.20"));
    }

    #[test]
    fn no_samples_have_no_shares() {
        let empty = Profile::of(&[]);
        assert_eq!((empty.share(0), empty.cost_percent(), empty.words().len()), (0.0, None, 0));
        let unnamed = Place::Kernel { function: None, module: None, by_idle_task: false };
        assert_eq!(Profile::of(&[samples(&[(unnamed, 1)])]).words(), [(Word::Kernel, 1)]);
    }

    proptest! {
        #[test]
        fn profiles_joined_are_the_profile_of_all_samples(
            all in prop::collection::vec(prop::collection::vec((0_usize..6, 1_u64..50), 0..8), 0..5),
        ) {
            let names = ["_copy_to_iter", "nvme_irq", "do_idle", "x", "blk_mq_start_request", "schedule"];
            let all: Vec<Samples> = all
                .iter()
                .map(|hits| {
                    let mut sum = samples(&[]);
                    for (at, count) in hits {
                        *sum.hits.entry(kernel(names[*at], false)).or_default() += count;
                    }
                    sum
                })
                .collect();
            let whole = Profile::of(&all);
            let joined = all.iter().map(|one| Profile::of([one])).reduce(|a, b| a.joined(&b));
            prop_assert_eq!(&joined.unwrap_or_default(), &whole);
            let shares: f64 = whole.words().iter().map(|(_, count)| whole.share(*count)).sum();
            prop_assert!(whole.busy() == 0 || (shares - 100.0).abs() < 1e-6);
        }
    }
}
