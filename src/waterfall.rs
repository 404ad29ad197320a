//! [`Waterfall`]: the rates of a file's path, from the drive up to a program, and the step that loses most. Pure.

mod verdict;

pub use verdict::Verdict;

use crate::model::Basis;

/// A step of the path, from the drive up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The drive, or the lowest block device that is known.
    Drive,
    /// Its link.
    Link,
    /// The links from there to the root complex.
    Controller,
    /// md, device mapper but crypt, loop.
    Array,
    /// dm-crypt.
    Crypt,
    /// The file by `O_DIRECT`, many reads in flight.
    FileSystem,
    /// The file through the page cache, with blocks requested far ahead.
    PageCache,
    /// A program that reads by `O_DIRECT`.
    Direct,
    /// A program that calls `read()` in order, with the kernel's readahead.
    Buffered,
    /// A program that maps the file.
    Mmap,
}

impl Layer {
    /// Its name in JSON and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drive => "drive",
            Self::Link => "link",
            Self::Controller => "controller",
            Self::Array => "array",
            Self::Crypt => "crypt",
            Self::FileSystem => "file-system",
            Self::PageCache => "page-cache",
            Self::Direct => "direct",
            Self::Buffered => "buffered",
            Self::Mmap => "mmap",
        }
    }

    /// Whether it is one of the ways in which programs read, each of which ends the path.
    pub const fn is_program(self) -> bool {
        matches!(self, Self::Direct | Self::Buffered | Self::Mmap)
    }
}

/// The rate of a step, bytes per second.
#[derive(Debug, Clone, PartialEq)]
pub enum Rate {
    /// Of short read tests.
    Measured(Vec<f64>),
    /// Computed or published.
    Known(f64, Basis),
    /// Neither, and why.
    Unknown(String),
}

impl Rate {
    /// The rate; the median of measured ones.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Measured(rates) => {
                let mut sorted = rates.clone();
                sorted.sort_by(f64::total_cmp);
                let middle = sorted.len() / 2;
                let upper = *sorted.get(middle)?;
                Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
            }
            Self::Known(rate, _) => Some(*rate),
            Self::Unknown(_) => None,
        }
    }

    /// Its basis; `None` if it is unknown.
    pub fn basis(&self) -> Option<Basis> {
        match self {
            Self::Measured(rates) if rates.is_empty() => None,
            Self::Measured(_) => Some(Basis::Measured),
            Self::Known(_, basis) => Some(*basis),
            Self::Unknown(_) => None,
        }
    }

    /// Rounds in which this was slower than `lower` in the same round, and all rounds; one of one for rates that were
    /// not measured in rounds.
    fn slower_rounds(&self, lower: &Self) -> (usize, usize) {
        match (self, lower) {
            (Self::Measured(own), Self::Measured(below)) => {
                let rounds = own.iter().zip(below);
                (rounds.clone().filter(|(own, below)| own < below).count(), rounds.count())
            }
            _ => (1, 1),
        }
    }
}

/// A step with its rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The layer.
    pub layer: Layer,
    /// The device, file system or way of reading: `dm-0`, `ext4 at /home`, `read(), 128k`.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
    /// How the rate was found: the test, or the source of the figure.
    pub because: String,
}

impl Step {
    /// Whether its test failed: link and controller are computed, and have none.
    const fn is_unread(&self) -> bool {
        matches!(self.rate, Rate::Unknown(_)) && !matches!(self.layer, Layer::Link | Layer::Controller)
    }

    /// The layer in a table: its name in JSON, but that of a loop device, which joins nothing.
    pub fn word(&self) -> &'static str {
        match self.layer {
            Layer::Array if self.name.starts_with("loop") => "loop",
            layer => layer.name(),
        }
    }
}

/// What is known of the file and its path apart from rates.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// `read_ahead_kb` of the block device below the file system, and its name.
    pub read_ahead: Option<(String, u64)>,
    /// Pieces of the file on its device, and their mean size in bytes.
    pub extents: Option<(u64, u64)>,
    /// Files of loop devices in the path by name of their step: pieces, and their mean size in bytes.
    pub pieces_below: Vec<(String, u64, u64)>,
    /// Block devices with a `max_sectors_kb` below `max_hw_sectors_kb` and 512 KiB: name, both values.
    pub small_requests: Vec<(String, u64, u64)>,
    /// Whether the page cache of a loop device's own file is in the path: the loop device.
    pub buffered_loop: Option<String>,
    /// Bytes requested ahead in the tests of [`Layer::PageCache`].
    pub prefetch: u64,
    /// Rates of mmap with blocks requested ahead, bytes per second; empty if not measured.
    pub mmap_ahead: Vec<f64>,
    /// Share of all CPUs that other programs used while a layer was read, 0 to 1.
    pub others: Vec<(Layer, f64)>,
}

/// The path of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Waterfall {
    /// From the drive up, then the ways in which programs read.
    pub steps: Vec<Step>,
    /// What is known besides.
    pub facts: Facts,
}

/// From this share of the CPUs on, other programs make rates doubtful.
const BUSY: f64 = 0.5;

/// A step of the path below a program loses this share at least, or it is not named.
const LEAST_LOSS: f64 = 0.15;

impl Waterfall {
    /// Bytes per second that this step loses of what arrives from below; `None` where one of the two is unknown.
    pub fn lost(&self, index: usize) -> Option<f64> {
        let own = self.steps.get(index)?.rate.value()?;
        Some((self.below(index)?.rate.value()? - own).max(0.0))
    }

    /// The same as a share of what arrives: without the step, all above it would read 1 / (1 - share) times as much.
    pub fn share_lost(&self, index: usize) -> Option<f64> {
        Some(self.lost(index)? / self.below(index)?.rate.value()?.max(1.0))
    }

    /// The step that a step is compared with: the slowest known one below, of which later steps are part of the way.
    /// Programs are compared with the page cache, or with `O_DIRECT`.
    fn below(&self, index: usize) -> Option<&Step> {
        let step = self.steps.get(index)?;
        let path = self.steps[..index].iter().filter(|other| {
            let cached = other.layer == Layer::PageCache;
            !(other.layer.is_program() || cached && step.layer == Layer::Direct)
        });
        let known = path.filter_map(|step| Some((step.rate.value()?, step)));
        known.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, step)| step)
    }

    /// The share as it is shown; `None` where it is too small to be worth a look.
    pub(crate) fn loss(&self, index: usize) -> Option<String> {
        const LEAST_SHOWN: f64 = 0.02;
        let share = self.share_lost(index).filter(|share| *share >= LEAST_SHOWN)?;
        Some(format!("-{:.0} %", share * 100.0))
    }

    /// Whether what a step loses is more than the noise of short tests, and more than other programs took from it.
    fn counts(&self, index: usize) -> bool {
        let (Some(step), Some(below), Some(share)) =
            (self.steps.get(index), self.below(index), self.share_lost(index))
        else {
            return false;
        };
        let (slower, rounds) = step.rate.slower_rounds(&below.rate);
        // At most one round in four may be the other way around.
        share >= LEAST_LOSS.max(self.taken(step)) && rounds > 0 && (rounds - slower) * 4 <= rounds
    }

    /// Share of the CPUs that other programs took from a step's tests, 0 where that is too little to matter.
    fn taken(&self, step: &Step) -> f64 {
        let share = self.facts.others.iter().find(|(layer, _)| *layer == step.layer);
        share.map(|(_, share)| *share).filter(|share| *share > BUSY).unwrap_or_default()
    }

    /// Where no step is named: the one that would be without the load of other programs, its loss, and their share of the CPUs.
    pub fn unsure(&self) -> Option<(&Step, f64, f64)> {
        let losses = (0..self.steps.len()).filter_map(|index| Some((index, self.share_lost(index)?)));
        let (index, lost) =
            losses.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, lost)| *lost >= LEAST_LOSS)?;
        let step = &self.steps[index];
        let taken = self.taken(step);
        (taken > 0.0 && self.worst().is_none()).then_some((step, lost, taken))
    }

    /// Names of steps below that could not be read, up to the one that a step is compared with: its loss may be theirs.
    fn unread_below(&self, index: usize) -> Vec<&str> {
        let below = self.below(index);
        let path = self.steps[..index]
            .iter()
            .rev()
            .take_while(|step| !below.is_some_and(|below| std::ptr::eq(*step, below)));
        let unread = path
            .filter(|step| step.is_unread() && step.layer != Layer::PageCache && !step.layer.is_program());
        let mut names: Vec<&str> = unread.map(|step| step.name.as_str()).collect();
        names.reverse();
        names
    }

    /// Why the rates are doubtful, if they are: other programs kept the CPUs busy.
    pub fn doubt(&self) -> Option<String> {
        let busy: Vec<_> = self.facts.others.iter().filter(|(_, share)| *share > BUSY).collect();
        let most = busy.iter().map(|(_, share)| *share).reduce(f64::max)?;
        let layers = if busy.len() == self.facts.others.len() {
            "every step".to_owned()
        } else {
            busy.iter().map(|(layer, _)| layer.name()).collect::<Vec<_>>().join(", ")
        };
        Some(format!(
            "Other programs used up to {:.0} % of the CPUs during the tests of {layers}: rates are too low; repeat at rest",
            most * 100.0
        ))
    }

    /// The step that loses the largest share of what arrives, of those whose loss is not noise.
    pub fn worst(&self) -> Option<usize> {
        let losses = (0..self.steps.len()).filter(|index| self.counts(*index));
        let share = |index: &usize| self.share_lost(*index).unwrap_or_default();
        losses.max_by(|a, b| share(a).total_cmp(&share(b)))
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Facts, Layer, Rate, Step, Waterfall};

    /// Layers and rates in MB/s, four rounds each within 4 %.
    pub(crate) fn measured(steps: &[(Layer, f64)]) -> Waterfall {
        let step = |(layer, rate): &(Layer, f64)| Step {
            layer: *layer,
            name: layer.name().to_owned(),
            rate: Rate::Measured([0.98, 1.0, 1.02, 1.0].map(|noise| rate * 1e6 * noise).into()),
            because: "a test".to_owned(),
        };
        let facts =
            Facts { read_ahead: Some(("vda".to_owned(), 128)), prefetch: 8 << 20, ..Facts::default() };
        Waterfall { steps: steps.iter().map(step).collect(), facts }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATH: [Layer; 7] = [
        Layer::Drive,
        Layer::Crypt,
        Layer::FileSystem,
        Layer::PageCache,
        Layer::Direct,
        Layer::Buffered,
        Layer::Mmap,
    ];

    fn path(rates: [f64; 7]) -> Waterfall {
        let steps: Vec<_> = PATH.into_iter().zip(rates).collect();
        testing::measured(&steps)
    }

    fn worst(rates: [f64; 7]) -> Option<Layer> {
        let path = path(rates);
        path.worst().map(|index| path.steps[index].layer)
    }

    #[test]
    fn each_step_is_named_where_it_loses_most() {
        assert_eq!(worst([1000.0, 990.0, 980.0, 960.0, 980.0, 940.0, 900.0]), None, "healthy");
        assert_eq!(worst([1000.0, 400.0, 390.0, 380.0, 390.0, 300.0, 200.0]), Some(Layer::Crypt));
        assert_eq!(worst([1000.0, 990.0, 200.0, 190.0, 200.0, 150.0, 100.0]), Some(Layer::FileSystem));
        assert_eq!(worst([1000.0, 990.0, 980.0, 300.0, 980.0, 250.0, 200.0]), Some(Layer::PageCache));
        assert_eq!(worst([1000.0, 990.0, 980.0, 960.0, 980.0, 200.0, 500.0]), Some(Layer::Buffered));
        assert_eq!(worst([1000.0, 990.0, 980.0, 960.0, 980.0, 900.0, 100.0]), Some(Layer::Mmap));
        assert_eq!(worst([1000.0, 990.0, 980.0, 960.0, 500.0, 900.0, 950.0]), Some(Layer::Direct));
        let slow_drive = [2260.0, 20.0, 19.9, 19.8, 19.9, 19.7, 19.6];
        let mut path = path(slow_drive);
        path.steps[0].layer = Layer::Controller;
        path.steps.insert(
            0,
            Step {
                layer: Layer::Drive,
                rate: Rate::Known(6.63e9, Basis::Published),
                ..path.steps[0].clone()
            },
        );
        assert_eq!(path.worst(), Some(2), "crypt leaves 1 %, the controller a third of more bytes");
    }

    #[test]
    fn busy_cpus_make_rates_doubtful() {
        let mut path = path([1000.0; 7]);
        assert_eq!(path.doubt(), None, "not known");
        path.facts.others = vec![(Layer::FileSystem, 0.5), (Layer::Buffered, 0.61), (Layer::Mmap, 0.97)];
        let doubt = path.doubt().unwrap();
        assert!(
            doubt.starts_with(
                "Other programs used up to 97 % of the CPUs during the tests of buffered, mmap:"
            ),
            "{doubt}"
        );
        path.facts.others[0].1 = 0.8;
        assert!(path.doubt().unwrap().contains("of every step"));
        path.facts.others.iter_mut().for_each(|(_, share)| *share = 0.5);
        assert_eq!(path.doubt(), None);
    }

    #[test]
    fn a_loss_within_the_load_of_others_names_no_step() {
        let mut path = path([1000.0, 990.0, 980.0, 960.0, 980.0, 940.0, 300.0]);
        path.facts.others = vec![(Layer::FileSystem, 0.9), (Layer::Mmap, 0.5)];
        assert_eq!((path.worst(), path.unsure()), (Some(6), None), "half of the CPUs were left");
        path.facts.others[1].1 = 0.8;
        assert_eq!(path.worst(), None);
        let (step, lost, taken) = path.unsure().unwrap();
        assert_eq!((step.layer, (lost * 100.0).round(), taken), (Layer::Mmap, 69.0, 0.8));
        path.steps[5].rate = Rate::Measured(vec![7e8; 4]);
        assert_eq!((path.worst(), path.unsure()), (Some(5), None), "another step is named, with its doubt");
        path.steps[6].rate = Rate::Measured(vec![1e6; 4]);
        assert_eq!(path.worst(), Some(6), "no load of others explains 99.9 %");
    }

    #[test]
    fn noise_is_no_loss() {
        let mut path = testing::measured(&[(Layer::Drive, 1000.0), (Layer::FileSystem, 700.0)]);
        assert_eq!(path.worst(), Some(1));
        path.steps[1].rate = Rate::Measured([500.0, 1100.0, 700.0, 1200.0].map(|rate| rate * 1e6).into());
        path.steps[0].rate = Rate::Measured([1200.0, 1000.0, 1100.0, 1000.0].map(|rate| rate * 1e6).into());
        assert_eq!(path.worst(), None, "in half of the rounds it was faster");
        path.steps[1].rate = Rate::Unknown("EPERM".to_owned());
        assert_eq!((path.worst(), path.lost(1)), (None, None));
    }

    #[test]
    fn a_step_is_compared_with_the_slowest_below() {
        let path =
            testing::measured(&[(Layer::Drive, 1000.0), (Layer::Array, 400.0), (Layer::FileSystem, 900.0)]);
        assert_eq!(path.lost(2), Some(0.0), "a faster step loses nothing");
        assert_eq!(path.worst(), Some(1));
    }

    proptest! {
        #[test]
        fn what_is_lost_is_never_negative_and_never_all_that_is_below(rates in prop::array::uniform7(0.0..1e5_f64)) {
            let path = path(rates);
            for index in 0..7 {
                if let Some(lost) = path.lost(index) {
                    prop_assert!(lost >= 0.0 && lost <= path.below(index).unwrap().rate.value().unwrap());
                }
            }
            prop_assert!(path.worst().is_none_or(|index| path.lost(index).unwrap() > 0.0));
        }
    }
}
