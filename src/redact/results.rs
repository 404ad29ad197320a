//! Redacts runs and experiments, with every sentence that may quote a name.

use super::{Redactor, forms::is_kernel_device};
use crate::{
    model::{ExperimentRecord, RunSummary, Target},
    text::Label,
};

/// Replaces the path of a target file.
const FILE: &str = "FILE";

/// Whether a path is a device file by its kernel name: names of volumes and links contain names and serial numbers.
fn is_device(path: &str) -> bool {
    let is_generic =
        |name: &str| name.strip_prefix("ng").is_some_and(|rest| is_kernel_device(&format!("nvme{rest}")));
    path.strip_prefix("/dev/").is_some_and(|name| is_kernel_device(name) || is_generic(name))
}

impl Redactor {
    /// Replaces the paths of target files and names in sentences.
    #[must_use]
    pub(crate) fn run(&mut self, run: &RunSummary) -> RunSummary {
        let mut run = run.clone();
        run.workload.targets.iter_mut().for_each(|target| self.target(target));
        for target in &mut run.targets {
            target.drive = target.drive.take().map(|name| self.device(&name));
            let path = std::mem::replace(&mut target.name, Label::new(FILE));
            if is_device(path.as_str()) {
                target.name = path.clone();
            }
            let without = |text: &str| text.replace(path.as_str(), target.name.as_str());
            target.first_error =
                target.first_error.take().map(|error| Label::new(&self.worldly(&without(error.as_str()))));
            target.invalid_because =
                target.invalid_because.iter().map(|why| self.worldly(&without(why))).collect();
        }
        run.effective.fallbacks = run.effective.fallbacks.iter().map(|note| self.worldly(note)).collect();
        run
    }

    /// Drops the boot id, and replaces names in labels and sentences.
    #[must_use]
    pub(crate) fn experiment(&mut self, record: &ExperimentRecord) -> ExperimentRecord {
        let mut record = record.clone();
        let path = |target: &Target| target.path.to_string_lossy().into_owned();
        let mut paths: Vec<String> =
            record.targets.iter().map(path).filter(|path| !is_device(path)).collect();
        // Longest first: one may begin with another.
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        let of_arms = record.arms.iter_mut().flat_map(|arm| &mut arm.workload.targets);
        record.targets.iter_mut().chain(of_arms).for_each(|target| self.target(target));
        let mut clean = |text: &mut String| {
            for path in &paths {
                *text = text.replace(path.as_str(), FILE);
            }
            *text = self.worldly(text);
        };
        record.boot = Label::default();
        record.options.iter_mut().for_each(|(_, value)| clean(value));
        record.ended_because.iter_mut().for_each(&mut clean);
        for out in &mut record.thrown_out_because {
            clean(&mut out.arm);
            clean(&mut out.why);
        }
        for sample in &mut record.samples {
            clean(&mut sample.arm);
            sample.discarded.iter_mut().for_each(&mut clean);
        }
        for effect in &mut record.effects {
            clean(&mut effect.against);
            clean(&mut effect.meaning);
        }
        for arm in &mut record.arms {
            arm.left_out.iter_mut().for_each(&mut clean);
        }
        let arms = record.arms.iter_mut().flat_map(|arm| {
            let values = arm.settings.iter_mut().flat_map(|set| [&mut set.device, &mut set.value]);
            values.chain([&mut arm.label])
        });
        let effects = record.effects.iter_mut().map(|effect| &mut effect.arm);
        for label in arms.chain(effects).chain([&mut record.baseline]) {
            let mut text = label.to_string();
            clean(&mut text);
            *label = Label::new(&text);
        }
        record
    }

    fn target(&mut self, target: &mut Target) {
        if !is_device(&target.path.to_string_lossy()) {
            target.path = FILE.into();
        }
        target.drive = target.drive.take().map(|name| self.device(&name));
    }
}
