//! The sentence about the step that loses most, with its remedy.

use super::{Facts, Layer, Step, Waterfall};
use crate::units::{Bytes, BytesPerSecond, UnitSystem, block_size};

/// The step that loses most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Its layer.
    pub layer: Layer,
    /// What it reads of what could be read: `mmap reads 1.1 of 6.9 GB/s with 128 KiB of readahead`.
    pub text: String,
    /// What to do; a figure in it was measured.
    pub remedy: String,
}

/// Extents of this size cost nothing that a sequential read notices.
const LARGE_EXTENT: u64 = 1 << 20;

impl Waterfall {
    /// The verdict; `None` if no step loses more than the noise.
    pub fn verdict(&self, units: UnitSystem) -> Option<Verdict> {
        let index = self.worst()?;
        let step = &self.steps[index];
        let (own, below) = (step.rate.value()?, self.below(index)?);
        let rate = |bytes: f64| units.rate(BytesPerSecond(bytes));
        let (reads, of) = (rate(own), rate(below.rate.value()?));
        let (text, remedy) = match step.layer {
            Layer::Drive => (
                format!("{} reads {reads}, below its published {of}", step.name),
                "see `iodyno check` for its temperature, its errors and other readers".to_owned(),
            ),
            Layer::Link | Layer::Controller => (
                format!("the {} of {} carries {reads} of {of}", step.layer.name(), step.name),
                "see `iodyno check` for the slot that would carry more".to_owned(),
            ),
            Layer::Crypt => (
                format!("dm-crypt on {} reads {reads} of {of}", step.name),
                "try no_read_workqueue (cryptsetup refresh --perf-no_read_workqueue), and `cryptsetup benchmark` for the CPU"
                    .to_owned(),
            ),
            Layer::Array => (format!("{} reads {reads} of {of}", step.name), self.facts.array(step)),
            Layer::FileSystem => {
                let (why, remedy) = self.facts.file_system(step);
                (format!("{} reads {reads} of {of}{why}", step.name), remedy)
            }
            Layer::PageCache => (
                format!("the page cache reads {reads} of {of}, also with {} requested ahead", self.facts.ahead()),
                format!(
                    "read with O_DIRECT{}, or free memory and CPUs: the page cache copies each byte",
                    gain(own, self.direct_at_most(below), units)
                ),
            ),
            Layer::Direct => (
                format!("O_DIRECT reads {reads} of {of}"),
                "read with more I/Os in flight".to_owned(),
            ),
            Layer::Buffered => {
                let text = format!("buffered reads get {reads} of {of}{}", self.facts.readahead());
                (text, self.more_readahead(own, self.rate_of(Layer::PageCache), units))
            }
            Layer::Mmap => {
                let text = format!("mmap reads {reads} of {of}{}", self.facts.readahead());
                let ahead = super::Rate::Measured(self.facts.mmap_ahead.clone()).value();
                (text, self.more_readahead(own, ahead, units))
            }
        };
        let unread = self.unread_below(index);
        if unread.is_empty() || step.layer.is_program() {
            return Some(Verdict { layer: step.layer, text, remedy });
        }
        let names = unread.join(", ");
        Some(Verdict {
            layer: step.layer,
            text: format!("{text}; {names} below it could not be read and may be the cause"),
            remedy: "run this as root to tell them apart".to_owned(),
        })
    }

    fn rate_of(&self, layer: Layer) -> Option<f64> {
        self.steps.iter().find(|step| step.layer == layer)?.rate.value()
    }

    /// What `O_DIRECT` reads, without what noise adds to the rate of the step below.
    fn direct_at_most(&self, below: &Step) -> Option<f64> {
        Some(self.rate_of(Layer::Direct)?.min(below.rate.value()?))
    }

    /// The remedy of a program that waits for single requests: more readahead if that measured more.
    fn more_readahead(&self, own: f64, ahead: Option<f64>, units: UnitSystem) -> String {
        let direct = self.rate_of(Layer::Direct);
        let by_direct = format!("read with O_DIRECT{}", gain(own, direct, units));
        let worth = ahead.is_some_and(|rate| rate > own * 1.15);
        let Some((device, now)) = &self.facts.read_ahead else { return by_direct };
        let wanted = (self.facts.prefetch >> 10).max(4096);
        if !worth || *now >= wanted {
            return by_direct;
        }
        let gained = gain(own, ahead, units);
        format!(
            "raise read_ahead_kb to {wanted} (`iodyno tune set {device} read_ahead_kb={wanted}`{}), or {by_direct}",
            gained.replace(" (", "; ").replace(')', &format!(" with {} requested ahead", self.facts.ahead()))
        )
    }
}

impl Facts {
    fn ahead(&self) -> String {
        block_size(Bytes(self.prefetch))
    }

    fn readahead(&self) -> String {
        self.read_ahead
            .as_ref()
            .map_or_else(String::new, |(device, kib)| format!(" with {kib} KiB of readahead on {device}"))
    }

    fn array(&self, step: &Step) -> String {
        if let Some((device, now, most)) =
            self.small_requests.iter().find(|(device, ..)| *device == step.name)
        {
            return format!(
                "raise its max_sectors_kb from {now} to {most} (`iodyno tune set {device} max_sectors_kb={most}`)"
            );
        }
        match &self.buffered_loop {
            Some(device) if step.name.contains(device.as_str()) => {
                format!("attach {device} with direct I/O: losetup --direct-io=on /dev/{device}")
            }
            _ if step.name.starts_with("loop") => {
                "look for a limit of the loop device: `iodyno check`, io.max of its control group".to_owned()
            }
            _ => "see `iodyno experiment run array-members`, and `iodyno check` for its state".to_owned(),
        }
    }

    /// Why `O_DIRECT` reads of a file lose, and what to do.
    fn file_system(&self, step: &Step) -> (String, String) {
        let below = self.pieces_below.iter().find(|(name, ..)| *name == step.name);
        match below.map(|(_, count, mean)| (*count, *mean)).or(self.extents.filter(|_| !step.name.contains(" on "))) {
            Some((count, mean)) if count > 1 && mean < LARGE_EXTENT => (
                format!(": the file is in {count} pieces of {} on average", block_size(Bytes(mean >> 10 << 10))),
                "copy the file, or defragment it (e4defrag, xfs_fsr, btrfs filesystem defragment)".to_owned(),
            ),
            _ => (
                String::new(),
                "look for compression, encryption or checksums of the file system, which O_DIRECT does not avoid"
                    .to_owned(),
            ),
        }
    }
}

/// ` (+3.2 GB/s measured)`, or nothing where there is no gain.
fn gain(own: f64, other: Option<f64>, units: UnitSystem) -> String {
    match other {
        Some(rate) if rate > own * 1.05 => format!(" (+{} measured)", units.rate(BytesPerSecond(rate - own))),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waterfall::testing::measured;

    fn path(page_cache: f64, buffered: f64, mmap: f64) -> Waterfall {
        measured(&[
            (Layer::Drive, 7000.0),
            (Layer::FileSystem, 6900.0),
            (Layer::PageCache, page_cache),
            (Layer::Direct, 6900.0),
            (Layer::Buffered, buffered),
            (Layer::Mmap, mmap),
        ])
    }

    #[test]
    fn small_readahead_is_named_with_the_gain_that_was_measured() {
        let mut path = path(6800.0, 6700.0, 1100.0);
        path.facts.mmap_ahead = vec![4.3e9; 4];
        let verdict = path.verdict(UnitSystem::Decimal).unwrap();
        assert_eq!(verdict.layer, Layer::Mmap);
        assert_eq!(verdict.text, "mmap reads 1.10 GB/s of 6.80 GB/s with 128 KiB of readahead on vda");
        assert_eq!(
            verdict.remedy,
            "raise read_ahead_kb to 8192 (`iodyno tune set vda read_ahead_kb=8192`; +3.20 GB/s measured with 8m \
             requested ahead), or read with O_DIRECT (+5.80 GB/s measured)"
        );
    }

    #[test]
    fn a_remedy_without_a_measurement_has_no_figure() {
        let path = path(6800.0, 6700.0, 1100.0);
        let verdict = path.verdict(UnitSystem::Decimal).unwrap();
        assert_eq!(verdict.remedy, "read with O_DIRECT (+5.80 GB/s measured)", "readahead was not tried");
        let mut noisy = measured(&[
            (Layer::Array, 2700.0),
            (Layer::FileSystem, 6200.0),
            (Layer::PageCache, 1100.0),
            (Layer::Direct, 6200.0),
        ]);
        let remedy = noisy.verdict(UnitSystem::Decimal).unwrap().remedy;
        assert!(remedy.contains("(+1.60 GB/s measured)"), "at most what the array below reads: {remedy}");
        noisy.facts.others = vec![(Layer::PageCache, 0.7)];
        assert_eq!(noisy.verdict(UnitSystem::Decimal), None, "others took more than the step lost");
        let mut slow = measured(&[(Layer::Drive, 1000.0), (Layer::Crypt, 300.0)]);
        assert!(!slow.verdict(UnitSystem::Decimal).unwrap().remedy.contains("measured"));
        slow.steps[1].layer = Layer::FileSystem;
        slow.facts.extents = Some((4000, 5000));
        let verdict = slow.verdict(UnitSystem::Decimal).unwrap();
        assert!(verdict.text.ends_with("the file is in 4000 pieces of 4k on average"), "{}", verdict.text);
        assert!(verdict.remedy.starts_with("copy the file"), "{}", verdict.remedy);
    }

    #[test]
    fn the_remedy_of_a_layer_below_is_its_own() {
        let mut path =
            measured(&[(Layer::FileSystem, 1000.0), (Layer::Array, 300.0), (Layer::FileSystem, 290.0)]);
        path.steps[1].name = "loop2".to_owned();
        let remedy = |path: &Waterfall| path.verdict(UnitSystem::Decimal).unwrap().remedy;
        assert!(remedy(&path).starts_with("look for a limit of the loop device"), "{}", remedy(&path));
        path.facts.buffered_loop = Some("loop2".to_owned());
        assert!(remedy(&path).ends_with("losetup --direct-io=on /dev/loop2"), "{}", remedy(&path));
        path.facts.small_requests = vec![("loop2".to_owned(), 4, 1280)];
        assert!(remedy(&path).ends_with("`iodyno tune set loop2 max_sectors_kb=1280`)"), "{}", remedy(&path));
        let mut path = measured(&[(Layer::Drive, 1000.0), (Layer::FileSystem, 300.0)]);
        path.steps[1].name = "low.img on ext4 at /".to_owned();
        path.facts.extents = Some((4000, 5000));
        assert!(remedy(&path).starts_with("look for compression"), "the pieces are the file's above it");
        path.facts.pieces_below = vec![(path.steps[1].name.clone(), 12954, 16384)];
        assert!(remedy(&path).starts_with("copy the file"), "{}", remedy(&path));
    }

    #[test]
    fn a_step_that_could_not_be_read_may_be_the_cause() {
        let mut path = measured(&[(Layer::Drive, 3000.0), (Layer::Array, 0.0), (Layer::FileSystem, 2000.0)]);
        path.steps[1].name = "loop2".to_owned();
        path.steps[1].rate = crate::waterfall::Rate::Unknown("/dev/loop2: EACCES; run as root".to_owned());
        let verdict = path.verdict(UnitSystem::Decimal).unwrap();
        assert_eq!(
            verdict.text,
            "file-system reads 2.00 GB/s of 3.00 GB/s; loop2 below it could not be read and may be the cause"
        );
        assert_eq!(verdict.remedy, "run this as root to tell them apart");
        path.steps[2].layer = Layer::Mmap;
        assert!(
            !path.verdict(UnitSystem::Decimal).unwrap().text.contains("loop2"),
            "programs have steps of their own below"
        );
    }

    #[test]
    fn every_layer_has_a_sentence() {
        for layer in [
            Layer::Link,
            Layer::Controller,
            Layer::Array,
            Layer::Crypt,
            Layer::FileSystem,
            Layer::PageCache,
            Layer::Direct,
            Layer::Buffered,
            Layer::Mmap,
        ] {
            let verdict =
                measured(&[(Layer::Drive, 1000.0), (layer, 300.0)]).verdict(UnitSystem::Decimal).unwrap();
            assert_eq!(verdict.layer, layer);
            assert!(
                verdict.text.contains("300 MB/s") && verdict.text.contains("1.00 GB/s"),
                "{}",
                verdict.text
            );
            assert!(!verdict.remedy.is_empty());
        }
    }
}
