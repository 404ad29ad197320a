//! The workload's form: fields named as fio names them, with their values as text.
//!
//! Here: [`FIELDS`], one row per field, how each is written and read. Not here: whether the whole makes sense
//! ([`Workload::validate`]).

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use tui_input::Input;

use crate::{
    model::{EngineKind, Pattern, Workload},
    units::{self, Bytes},
};

/// The form.
#[derive(Debug, Clone, Default)]
pub struct Form {
    /// Everything but the targets.
    pub workload: Workload,
    /// A file to read from instead of drives.
    pub file: Option<PathBuf>,
    /// Index of the field the cursor is on.
    pub at: usize,
    /// The text of that field while it is being edited.
    pub edit: Option<Input>,
}

/// One field.
#[derive(Clone, Copy)]
pub struct Field {
    /// fio's name of it.
    pub name: &'static str,
    /// What to write there.
    pub help: &'static str,
    /// Its value as text.
    pub show: fn(&Form) -> String,
    /// Takes a text; the error says what would be right.
    pub set: fn(&mut Form, &str) -> Result<(), String>,
    /// The values arrows go through; empty where there is only text.
    pub choices: &'static [&'static str],
}

/// In the field of batches: latencies as exact as they can be.
const EXACT: &str = "exact";

const YES_NO: &[&str] = &["0", "1"];

/// All fields, top to bottom.
pub const FIELDS: &[Field] = &[
    Field {
        name: "filename",
        help: "a file to read instead of the marked drives; empty for the drives",
        show: |form| form.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default(),
        set: |form, text| {
            form.file = (!text.is_empty()).then(|| PathBuf::from(text));
            Ok(())
        },
        choices: &[],
    },
    Field {
        name: "rw",
        help: "randread or read; iodyno never writes",
        show: |form| {
            match form.workload.pattern {
                Pattern::Random => "randread",
                Pattern::Sequential => "read",
            }
            .to_owned()
        },
        set: |form, text| {
            form.workload.pattern = match text {
                "randread" => Pattern::Random,
                "read" => Pattern::Sequential,
                _ => return Err("write randread or read: iodyno only reads".into()),
            };
            Ok(())
        },
        choices: &["randread", "read"],
    },
    Field {
        name: "bs",
        help: "bytes of one read: 512, 4k, 1m",
        show: |form| units::block_size(form.workload.block_size),
        set: |form, text| {
            form.workload.block_size = size(text)?;
            Ok(())
        },
        choices: &["512", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m"],
    },
    Field {
        name: "iodepth",
        help: "reads under way per job",
        show: |form| form.workload.depth.to_string(),
        set: |form, text| {
            form.workload.depth = number(text, 1..=Workload::MOST_DEPTH)?;
            Ok(())
        },
        choices: &["1", "2", "4", "8", "16", "32", "64", "128", "256", "512"],
    },
    Field {
        name: "numjobs",
        help: "threads per drive",
        show: |form| form.workload.jobs.to_string(),
        set: |form, text| {
            form.workload.jobs = number(text, 1..=Workload::MOST_JOBS)?;
            Ok(())
        },
        choices: &["1", "2", "3", "4", "6", "8", "12", "16"],
    },
    Field {
        name: "runtime",
        help: "30s, 2m; empty runs until stopped",
        show: |form| form.workload.runtime.map(seconds).unwrap_or_default(),
        set: |form, text| {
            form.workload.runtime = if text.is_empty() { None } else { Some(duration(text)?) };
            Ok(())
        },
        choices: &["5s", "10s", "30s", "60s", "5m", ""],
    },
    Field {
        name: "ioengine",
        help: "how reads are handed to the kernel",
        show: |form| form.workload.engine.name().to_owned(),
        set: |form, text| {
            let found = EngineKind::ALL.into_iter().find(|engine| engine.name() == text);
            form.workload.engine = found.ok_or("there is no such engine")?;
            Ok(())
        },
        choices: &["io_uring", "io_uring_cmd", "libaio", "psync", "posixaio"],
    },
    Field {
        name: "direct",
        help: "1 reads past the page cache",
        show: |form| flag(form.workload.direct),
        set: |form, text| set_flag(&mut form.workload.direct, text),
        choices: YES_NO,
    },
    Field {
        name: "hipri",
        help: "1 polls for completions; needs poll queues",
        show: |form| flag(form.workload.hipri),
        set: |form, text| set_flag(&mut form.workload.hipri, text),
        choices: YES_NO,
    },
    Field {
        name: "registerfiles",
        help: "1 registers files with the ring",
        show: |form| flag(form.workload.register_files),
        set: |form, text| set_flag(&mut form.workload.register_files, text),
        choices: YES_NO,
    },
    Field {
        name: "fixedbufs",
        help: "1 registers buffers with the ring",
        show: |form| flag(form.workload.fixed_buffers),
        set: |form, text| set_flag(&mut form.workload.fixed_buffers, text),
        choices: YES_NO,
    },
    Field {
        name: "batch",
        help: "reads a call hands over / waits for, 0 spins; empty adapts; exact is timed as by fio",
        show: |form| match (form.workload.batch_submit, form.workload.batch_complete_min) {
            _ if form.workload.exact_timing => EXACT.to_owned(),
            (None, None) => String::new(),
            (submit, wait) => {
                [submit, wait].map(|part| part.map_or_else(String::new, |n| n.to_string())).join("/")
            }
        },
        set: |form, text| {
            let part = |text: &str, least: u32| match text.trim() {
                "" => Ok(None),
                text => number(text, least..=Workload::MOST_DEPTH).map(Some),
            };
            let (submit, wait) = match text {
                EXACT => ("", ""),
                _ => text.split_once('/').unwrap_or((text, "")),
            };
            (form.workload.batch_submit, form.workload.batch_complete_min) =
                (part(submit, 1)?, part(wait, 0)?);
            form.workload.exact_timing = text == EXACT;
            Ok(())
        },
        choices: &["", EXACT, "1/0", "1/1", "2/8", "8/8", "32/32"],
    },
    Field {
        name: "rate_iops",
        help: "reads per second per job at most; empty for no limit",
        show: |form| form.workload.rate_iops.map(|rate| rate.to_string()).unwrap_or_default(),
        set: |form, text| {
            form.workload.rate_iops = if text.is_empty() { None } else { Some(number(text, 1..=u32::MAX)?) };
            Ok(())
        },
        choices: &[],
    },
    Field {
        name: "size",
        help: "the first bytes of each target; the size of a file that is laid out",
        show: |form| form.workload.size.map(units::block_size).unwrap_or_default(),
        set: |form, text| {
            form.workload.size = if text.is_empty() { None } else { Some(size(text)?) };
            Ok(())
        },
        choices: &["", "1g", "4g", "16g", "100g"],
    },
];

impl Form {
    /// The field the cursor is on.
    pub fn field(&self) -> &'static Field {
        &FIELDS[self.at.min(FIELDS.len() - 1)]
    }

    /// Moves the cursor by `step` fields.
    pub fn step(&mut self, step: isize) {
        self.at = self.at.saturating_add_signed(step).min(FIELDS.len() - 1);
    }

    /// The next (1) or previous (-1) of the field's choices; false where it has none.
    pub fn step_choice(&mut self, step: isize) -> bool {
        let field = self.field();
        if field.choices.is_empty() {
            return false;
        }
        let now = (field.show)(self);
        let count = field.choices.len().cast_signed();
        let at = field.choices.iter().position(|choice| *choice == now);
        let next = at.map_or(0, |at| (at.cast_signed() + step).clamp(0, count - 1).cast_unsigned());
        (field.set)(self, field.choices[next]).is_ok()
    }

    /// Enters the field.
    pub fn begin_edit(&mut self) {
        self.edit = Some(Input::new((self.field().show)(self)));
    }

    /// Puts the path of a file into its field, open, to be taken or left.
    pub fn offer(&mut self, offer: &super::FileOffer) {
        self.at = 0;
        self.edit = Some(Input::new(offer.path.display().to_string()));
        self.workload.size.get_or_insert(offer.size);
    }

    /// Leaves the field and takes what was written.
    ///
    /// # Errors
    /// What is wrong with it; the field stays open.
    pub fn accept_edit(&mut self) -> Result<(), String> {
        let Some(input) = &self.edit else { return Ok(()) };
        let text = input.value().trim().to_owned();
        let field = self.field();
        (field.set)(self, &text).map_err(|wrong| format!("{}: {wrong}", field.name))?;
        self.edit = None;
        Ok(())
    }
}

fn flag(on: bool) -> String {
    if on { "1" } else { "0" }.to_owned()
}

fn set_flag(flag: &mut bool, text: &str) -> Result<(), String> {
    *flag = match text {
        "0" => false,
        "1" => true,
        _ => return Err("write 0 or 1".into()),
    };
    Ok(())
}

fn number(text: &str, range: RangeInclusive<u32>) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("write a number from {} to {}", range.start(), range.end())),
    }
}

/// `4k`, `1m`, `2g`: k is 1024, as in fio.
fn size(text: &str) -> Result<Bytes, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, shift) = match lower.strip_suffix(['k', 'm', 'g', 't']) {
        Some(digits) if lower.ends_with('k') => (digits, 10),
        Some(digits) if lower.ends_with('m') => (digits, 20),
        Some(digits) if lower.ends_with('g') => (digits, 30),
        Some(digits) => (digits, 40),
        None => (lower.as_str(), 0),
    };
    let number = digits.parse::<u64>().ok().filter(|number| *number > 0);
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.map(Bytes).ok_or_else(|| "write a size as 512, 4k, 1m or 2g".into())
}

/// `30`, `30s`, `2m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(digits) if text.ends_with('m') => (digits, 60),
        Some(digits) if text.ends_with('h') => (digits, 3600),
        Some(digits) => (digits, 1),
        None => (text, 1),
    };
    let number = digits.parse::<u64>().ok().filter(|number| (1..=1_000_000).contains(number));
    number
        .map(|number| Duration::from_secs(number * unit))
        .ok_or_else(|| "write a time as 30, 30s or 2m".into())
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        s if s >= 120 && s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_taken_and_shown_as_it_was_written() {
        for field in FIELDS {
            for choice in field.choices {
                let mut form = Form::default();
                (field.set)(&mut form, choice).unwrap();
                assert_eq!((field.show)(&form), *choice, "{}", field.name);
            }
        }
    }

    #[test]
    fn either_half_of_the_batches_can_be_pinned_alone() {
        let field = FIELDS.iter().find(|field| field.name == "batch").unwrap();
        let mut form = Form::default();
        for (text, pinned) in
            [("2/", (Some(2), None)), ("/0", (None, Some(0))), (" 4 / 16", (Some(4), Some(16)))]
        {
            (field.set)(&mut form, text).unwrap();
            assert_eq!((form.workload.batch_submit, form.workload.batch_complete_min), pinned);
        }
        assert_eq!((field.show)(&form), "4/16");
        assert!((field.set)(&mut form, "0/8").is_err() && (field.set)(&mut form, "2/x").is_err());
        assert_eq!((field.show)(&form), "4/16");
        (field.set)(&mut form, "exact").unwrap();
        assert!((field.set)(&mut form, "2/x").is_err() && form.workload.exact_timing);
        assert_eq!((form.workload.batch_submit, form.workload.batch_complete_min), (None, None));
        (field.set)(&mut form, "").unwrap();
        assert!(!form.workload.exact_timing);
    }

    #[test]
    fn a_wrong_text_keeps_the_field_open_and_the_value() {
        let mut form = Form { at: 2, ..Form::default() };
        form.edit = Some(Input::new("4q".into()));
        assert_eq!(form.accept_edit().unwrap_err(), "bs: write a size as 512, 4k, 1m or 2g");
        assert!(form.edit.is_some() && form.workload.block_size == Bytes(4096));
        form.edit = Some(Input::new(" 64K ".into()));
        form.accept_edit().unwrap();
        assert!(form.edit.is_none() && form.workload.block_size == Bytes(65536));
    }

    #[test]
    fn arrows_stop_at_both_ends_and_leave_odd_values_for_the_first_choice() {
        let mut form = Form { at: 3, ..Form::default() };
        for _ in 0..20 {
            form.step_choice(1);
        }
        assert_eq!(form.workload.depth, 512);
        form.workload.depth = 77;
        form.step_choice(1);
        assert_eq!(form.workload.depth, 1);
        assert!(size("99999999999999999999").is_err() && size("16777216t").is_err());
    }
}
