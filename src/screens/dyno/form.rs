//! The workload's form: fields of options with their values as text.

use std::{path::PathBuf, sync::LazyLock};

use crate::{
    model::{
        Target, Workload,
        fio::{ValueError, names},
        options::{FormField, OPTIONS, WorkloadOption, find},
    },
    pull::{CDM, ProfileRow, joined},
    ui::TextField,
    units::Bytes,
};

/// The form.
#[derive(Debug, Clone, Default)]
pub struct Form {
    /// Everything but the targets.
    pub workload: Workload,
    /// Files to read from instead of drives.
    pub files: Vec<PathBuf>,
    /// Index of the field the cursor is on.
    pub at: usize,
    /// The text of that field while it is being edited.
    pub edit: Option<TextField>,
    /// Named workloads of the configuration file.
    pub profiles: Vec<(String, Workload)>,
    /// The profile it was filled from.
    pub(crate) filled_from: Option<String>,
    /// Files that are offered in place of drives that may not be read, and their size.
    pub offered: Option<(Vec<Target>, Bytes)>,
}

/// One field.
pub struct Field {
    /// fio's name of it.
    pub name: &'static str,
    /// What to write there.
    pub help: &'static str,
    /// The values arrows go through; empty where there is only text.
    pub choices: &'static [&'static str],
    /// Text shown while it is empty.
    pub empty: &'static str,
    holds: Holds,
}

/// The value behind a field.
enum Holds {
    Option(&'static WorkloadOption),
    /// The file to read from.
    File,
    /// Two options in one: `SUBMIT/COMPLETE`; or [`EXACT`].
    Batch,
}

/// In the field of batches: latencies as exact as they can be.
const EXACT: &str = "exact";

/// All fields, top to bottom: those of `OPTIONS` and two of the form's own.
pub static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let file = Field {
        name: "filename",
        help: "a file to read, several as FILE:FILE; empty reads the marked drives",
        choices: &[],
        empty: "drives",
        holds: Holds::File,
    };
    let batch = Field {
        name: "batch",
        help: "I/Os to submit/complete per call, 0 spins; empty adapts; exact times as fio",
        choices: &["", EXACT, "1/0", "1/1", "2/8", "8/8", "32/32"],
        empty: "adaptive",
        holds: Holds::Batch,
    };
    let of_option = |option: &'static WorkloadOption| {
        let FormField { place, help, choices, empty } = option.form?;
        let help = if help.is_empty() { option.help } else { help };
        Some((place, Field { name: option.name, help, choices, empty, holds: Holds::Option(option) }))
    };
    let mut fields: Vec<(u8, Field)> = OPTIONS.iter().filter_map(of_option).collect();
    fields.extend([(0, file), (11, batch)]);
    fields.sort_by_key(|(place, _)| *place);
    fields.into_iter().map(|(_, field)| field).collect()
});

impl Field {
    /// Its value as text.
    pub fn show(&self, form: &Form) -> String {
        let work = &form.workload;
        match self.holds {
            Holds::Option(option) => option.short(work),
            Holds::File => joined(form.files.iter().map(PathBuf::as_path)),
            Holds::Batch if work.exact_timing => EXACT.to_owned(),
            Holds::Batch => match (work.batch_submit, work.batch_complete_min) {
                (None, None) => String::new(),
                _ => {
                    BATCH.map(|name| find(name).map(|option| option.text(work)).unwrap_or_default()).join("/")
                }
            },
        }
    }

    /// Takes a text; the error says what would be right.
    pub fn set(&self, form: &mut Form, text: &str) -> Result<(), ValueError> {
        match self.holds {
            Holds::Option(option) => option.take(&mut form.workload, text)?,
            Holds::File => form.files = names(text),
            Holds::Batch => {
                let (submit, wait) = match text {
                    EXACT => ("", ""),
                    _ => text.split_once('/').unwrap_or((text, "")),
                };
                let mut work = form.workload.clone();
                for (option, part) in BATCH.into_iter().filter_map(find).zip([submit, wait]) {
                    option.take(&mut work, part.trim())?;
                }
                work.exact_timing = text == EXACT;
                form.workload = work;
            }
        }
        Ok(())
    }
}

/// Sets what a row of CrystalDiskMark's profile names; the rest of the workload stays.
fn set_row(work: &mut Workload, (_, pattern, block, depth, jobs): &ProfileRow) {
    (work.pattern, work.depth, work.jobs) = (*pattern, *depth, *jobs);
    work.block_size = Bytes(*block);
    work.block_split.clear();
}

/// The options behind the field of batches.
const BATCH: [&str; 2] = ["iodepth_batch_submit", "iodepth_batch_complete_min"];

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
        let now = field.show(self);
        let count = field.choices.len().cast_signed();
        let at = field.choices.iter().position(|choice| *choice == now);
        let next = at.map_or(0, |at| (at.cast_signed() + step).clamp(0, count - 1).cast_unsigned());
        field.set(self, field.choices[next]).is_ok()
    }

    /// The next profile: the named workloads of the configuration file, then CrystalDiskMark's rows, which set pattern, block
    /// size, depth and jobs; its name.
    pub fn next_profile(&mut self) -> String {
        let name = self.fill_from_next();
        self.filled_from = Some(name.clone());
        name
    }

    fn fill_from_next(&mut self) -> String {
        let own = self.profiles.iter().position(|(_, work)| *work == self.workload);
        let is_row = self.row_of_cdm().is_some();
        let next = match own {
            Some(at) => self.profiles.get(at + 1),
            None if is_row && self.row_of_cdm() != Some(CDM.len() - 1) => None,
            None => self.profiles.first(),
        };
        if let Some((name, work)) = next.cloned() {
            self.workload = work;
            return name;
        }
        let next = if own.is_some() { 0 } else { self.row_of_cdm().map_or(0, |at| (at + 1) % CDM.len()) };
        set_row(&mut self.workload, &CDM[next]);
        CDM[next].0.to_owned()
    }

    /// All profiles by name, each with its workload.
    pub fn named(&self) -> impl Iterator<Item = (&str, Workload)> {
        let rows = CDM.iter().map(|row| {
            let mut work = Workload::default();
            set_row(&mut work, row);
            (row.0, work)
        });
        self.profiles.iter().map(|(name, work)| (name.as_str(), work.clone())).chain(rows)
    }

    /// Takes the profile of that name; whether there is one.
    pub fn fill_from(&mut self, name: &str) -> bool {
        let own = self.profiles.iter().find(|(known, _)| known == name);
        if let Some((_, work)) = own {
            self.workload = work.clone();
        } else if let Some(row) = CDM.iter().find(|row| row.0 == name) {
            set_row(&mut self.workload, row);
        } else {
            return false;
        }
        self.filled_from = Some(name.to_owned());
        true
    }

    /// The name of the profile that the form was filled from, while it has the profile's values.
    pub fn profile(&self) -> Option<&str> {
        let own =
            || self.profiles.iter().find(|(_, work)| *work == self.workload).map(|(name, _)| name.as_str());
        let name = own().or_else(|| self.row_of_cdm().map(|row| CDM[row].0));
        name.filter(|name| self.filled_from.as_deref() == Some(name))
    }

    /// Which row of CrystalDiskMark's profile the form has.
    fn row_of_cdm(&self) -> Option<usize> {
        let work = &self.workload;
        let now = (work.pattern, work.block_size.0, work.depth, work.jobs);
        CDM.iter().position(|(_, pattern, block, depth, jobs)| {
            now == (*pattern, *block, *depth, *jobs) && work.block_split.is_empty()
        })
    }

    /// Enters the field.
    pub fn begin_edit(&mut self) {
        self.edit = Some(TextField::new(self.field().show(self)));
    }

    /// Offers files of this size, to be taken or left.
    pub fn offer(&mut self, files: &[Target], size: Bytes) {
        self.offered = Some((files.to_vec(), size));
    }

    /// Takes the files that are offered; whether there were any.
    pub fn take_offer(&mut self) -> bool {
        let Some((files, size)) = self.offered.take() else { return false };
        self.files = files.into_iter().map(|file| file.path).collect();
        self.workload.size.get_or_insert(size);
        true
    }

    /// Leaves the field as it was.
    pub fn cancel_edit(&mut self) {
        self.edit = None;
    }

    /// Leaves the field and takes what was written.
    ///
    /// # Errors
    /// The invalid value; the field stays open.
    pub fn accept_edit(&mut self) -> Result<(), String> {
        let Some(input) = &self.edit else { return Ok(()) };
        let text = input.value().trim().to_owned();
        let field = self.field();
        field.set(self, &text).map_err(|wrong| format!("{}: {wrong}", field.name))?;
        self.edit = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_taken_and_shown_as_it_was_written() {
        for field in FIELDS.iter() {
            for choice in field.choices {
                let mut form = Form::default();
                field.set(&mut form, choice).unwrap();
                assert_eq!(field.show(&form), *choice, "{}", field.name);
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
            field.set(&mut form, text).unwrap();
            assert_eq!((form.workload.batch_submit, form.workload.batch_complete_min), pinned);
        }
        assert_eq!(field.show(&form), "4/16");
        assert!(field.set(&mut form, "0/8").is_err() && field.set(&mut form, "2/x").is_err());
        assert_eq!(field.show(&form), "4/16");
        field.set(&mut form, "exact").unwrap();
        assert!(field.set(&mut form, "2/x").is_err() && form.workload.exact_timing);
        assert_eq!((form.workload.batch_submit, form.workload.batch_complete_min), (None, None));
        field.set(&mut form, "").unwrap();
        assert!(!form.workload.exact_timing);
    }

    #[test]
    fn profiles_follow_each_other_and_set_what_their_names_say() {
        let mut form = Form::default();
        let names = [(); 5].map(|()| form.next_profile());
        assert_eq!(names, ["SEQ1M Q8T1", "SEQ128K Q32T1", "RND4K Q32T16", "RND4K Q1T1", "SEQ1M Q8T1"]);
        form.next_profile();
        form.next_profile();
        let work = &form.workload;
        assert_eq!((work.block_size, work.depth, work.jobs), (Bytes(4096), 32, 16));
    }

    #[test]
    fn profiles_of_the_user_come_first_and_all_come_around() {
        let named = |name: &str, depth| {
            (name.to_owned(), Workload { depth, block_size: Bytes(8192), ..Workload::default() })
        };
        let profiles = vec![named("a", 3), named("b", 5)];
        let mut form = Form { profiles, ..Form::default() };
        let names = [(); 8].map(|()| form.next_profile());
        let cdm = ["SEQ1M Q8T1", "SEQ128K Q32T1", "RND4K Q32T16", "RND4K Q1T1"];
        assert_eq!(names.to_vec(), [&["a", "b"], &cdm[..], &["a", "b"]].concat());
    }

    #[test]
    fn a_wrong_text_keeps_the_field_open_and_the_value() {
        let mut form = Form { at: 2, ..Form::default() };
        form.edit = Some(TextField::new("4q"));
        assert_eq!(form.accept_edit().unwrap_err(), "bs: not a size; use 4k, 1m or 512");
        assert!(form.edit.is_some() && form.workload.block_size == Bytes(4096));
        form.edit = Some(TextField::new(" 64K "));
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
    }
}
