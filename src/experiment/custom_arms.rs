//! Arms that users write: `label: scheduler=none bs=4k iodepth=32`.

use super::plan::{Arm, Assignment, Needs, Scene};
use crate::{
    model::{
        Workload,
        options::{self, OPTIONS},
    },
    text::{Label, alike::alike},
    tune::{
        Device,
        settings::{self, Risk, Scope, Setting},
    },
};

/// A parsed arm, before it is applied to a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Its label; `A`, `B` and so on where none is written.
    pub label: String,
    /// Settings with their values, in the order of SETTINGS.
    pub settings: Vec<(&'static str, String)>,
    /// The workload.
    pub workload: Workload,
}

/// Parses an arm that varies `work`; `index` gives the label of one without. Settings apply to every tested drive, those of
/// CPUs to all CPUs. `also` are the options that the caller has taken out of the text.
///
/// # Errors
/// The word that is no option or setting, and what it may mean, or those there are.
pub fn read(work: &Workload, index: usize, text: &str, also: &[&str]) -> Result<Written, Needs> {
    let quoted = |word: &str| Label::new(word).to_string();
    // A label ends in a colon and a blank; values hold colons of their own.
    let (label, words) = match text.split_once(": ") {
        Some((label, words)) if !label.contains('=') => (label.trim(), words),
        _ => match text.strip_suffix(':').filter(|label| !label.contains('=')) {
            Some(label) => (label.trim(), ""),
            None => ("", text),
        },
    };
    let letter = char::from_u32(u32::from('A') + u32::try_from(index).unwrap_or(0).min(25)).unwrap_or('A');
    let label = if label.is_empty() { letter.to_string() } else { quoted(label) };
    let mut written = Written { label, settings: Vec::new(), workload: work.clone() };
    for word in words.split_whitespace() {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("{:?} written as NAME=VALUE: scheduler=none or bs=4k", quoted(word)))?;
        if let Some(option) = options::find(name).filter(|option| option.arm != options::Arm::No) {
            option.take(&mut written.workload, value).map_err(|why| format!("another {name}: {why}"))?;
        } else if let Some(row) = settings::find(name).filter(|row| row.risk == Risk::Live) {
            written.settings.push((row.id.0, quoted(value)));
        } else {
            let meant = meant(name, also);
            return Err(format!("a setting or option in place of {:?}: {meant}", quoted(name)).into());
        }
    }
    let rank = |name: &str| settings::SETTINGS.iter().position(|row| row.id.0 == name);
    written.settings.sort_by_key(|(name, _)| rank(name));
    Ok(written)
}

/// All words an arm may use.
fn known() -> Vec<&'static str> {
    let options = OPTIONS.iter().filter(|option| option.arm != options::Arm::No).map(|option| option.name);
    let settings = settings::SETTINGS.iter().filter(|row| row.risk == Risk::Live).map(|row| row.id.0);
    options.chain(settings).collect()
}

/// The words that `name` may stand for. Where it is like none, all of them; a form, which takes words of its own, has room for
/// some.
fn meant(name: &str, also: &[&str]) -> String {
    let known = known();
    let near = alike(name, &[also, &known].concat());
    match (&near[..], also) {
        ([], []) => format!("one of {}", known.join(" ")),
        ([], also) => {
            let some = [also, &["rw", "bs", "iodepth", "numjobs", "ioengine", "scheduler"]].concat();
            format!("such as {}; Dyno and Tune show the others", some.join(" "))
        }
        (near, _) => format!("did you mean {}?", near.join(" or ")),
    }
}

/// The arm on a machine.
pub(super) fn arm(scene: &Scene<'_>, work: &Workload, index: usize, text: &str) -> Result<Arm, Needs> {
    let written = read(work, index, text, &[])?;
    let mut arm = Arm::new(written.label, written.workload);
    if !written.settings.is_empty() {
        scene.may_write()?;
    }
    for (name, value) in written.settings {
        let Some(row) = settings::find(name) else { continue };
        let devices = devices(scene, row);
        if devices.is_empty() {
            return Err(format!("a drive that has {name}; these targets are on none").into());
        }
        arm.settings.extend(devices.into_iter().map(|device| Assignment {
            device,
            setting: row.id,
            value: value.clone(),
        }));
    }
    Ok(arm)
}

/// The devices of a setting.
fn devices(scene: &Scene<'_>, row: &Setting) -> Vec<Device> {
    match row.scope {
        Scope::Processors => vec![Device::Cpu],
        Scope::Queue | Scope::Function | Scope::Port => {
            let drives = scene.drives().into_iter().map(|drive| Device::Drive(drive.name.clone()));
            drives.filter(|device| !(row.read)(scene.machine, device).is_empty()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{model::EngineKind, units::Bytes};

    fn reads(text: &str) -> Result<Written, Needs> {
        read(&Workload::default(), 1, text, &[])
    }

    #[test]
    fn labels_settings_and_options_are_told_apart() {
        let written =
            reads("deep queue: nr_requests=64 bs=64k scheduler=mq-deadline iodepth=128 hipri=1").unwrap();
        assert_eq!(written.label, "deep queue");
        let settings: Vec<_> = written.settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(
            settings,
            [("scheduler", "mq-deadline"), ("nr_requests", "64")],
            "the scheduler goes first"
        );
        assert_eq!((written.workload.block_size, written.workload.depth), (Bytes(65536), 128));
        assert!(written.workload.hipri);
        assert_eq!(reads("ioengine=psync").unwrap().label, "B");
        assert_eq!(reads("ioengine=psync").unwrap().workload.engine, EngineKind::Psync);
        assert_eq!(reads("iodepth_batch_complete_min=0").unwrap().workload.batch_complete_min, Some(0));
        assert_eq!(reads("nothing:").unwrap(), Written { label: "nothing".into(), ..reads("").unwrap() });
    }

    #[test]
    fn a_word_that_makes_no_sense_is_named_with_what_would() {
        for (text, words) in [
            ("scheduler", "\"scheduler\" written as NAME=VALUE"),
            ("bs=4q", "another bs: not a size"),
            ("iodepth=0", "another iodepth: 0 is out of range; use 1 to 4096"),
            ("iodepth_batch_submit=0", "another iodepth_batch_submit: 0 is out of range"),
            ("colour=red", "in place of \"colour\""),
            ("rw=write", "iodyno only reads"),
            ("poll_queues=2", "in place of \"poll_queues\""),
            ("write_cache=x", "in place of"),
        ] {
            let wrong = reads(text).unwrap_err().0;
            assert!(wrong.contains(words), "{text}: {wrong}");
        }
        assert!(reads("x=1").unwrap_err().0.contains("rw bs iodepth") && known().contains(&"governor"));
    }

    #[test]
    fn a_mistyped_word_is_answered_with_the_one_that_is_meant() {
        let wrong = |text: &str| read(&Workload::default(), 0, text, &["filename"]).unwrap_err().0;
        assert!(wrong("filname=/x").ends_with("in place of \"filname\": did you mean filename?"));
        assert!(wrong("schedler=none").ends_with("did you mean scheduler?"));
        let other = wrong("colour=red");
        assert!(other.contains("such as filename rw bs") && other.len() < 160, "{other}");
        for word in other.rsplit_once("such as ").unwrap().1.split_once(';').unwrap().0.split(' ').skip(1) {
            assert!(known().contains(&word), "{word}");
        }
        let line = reads("filname=/x").unwrap_err().0;
        assert!(!line.contains("filename"), "the command line has an option for it: {line}");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_or_comes_through_raw(text in any::<String>()) {
            match reads(&text) {
                Ok(written) => prop_assert!(!written.label.chars().any(char::is_control)),
                Err(wrong) => prop_assert!(!wrong.0.chars().any(char::is_control)),
            }
        }
    }
}
