//! Keys of the page: the question for a file, again, drop pages, back.

use std::path::{Path, PathBuf};

use ratatui::layout::{Position, Rect};

use super::{WhyFile, draw};
use crate::{
    report::dossier::Mode,
    screens::{
        Screen, Step,
        widgets::{
            paint::{Brush, Piece, hints},
            scroll::scrolled,
        },
    },
    ui::{
        Ask, Asks, Effect, Key, ScreenId, Shared, SharedChange, Subject, TextField,
        ask::{tell, warn},
        inquiry::{FileRequest, Inquiry},
    },
};

impl Screen for WhyFile {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        let (lines, rows) = draw::extent(self, shared, area);
        self.top = scrolled(self.top, step.rows(rows), lines, rows);
        Asks::new()
    }

    fn press(&mut self, _at: Position, _shared: &Shared, _area: Rect) -> Asks {
        Asks::new()
    }

    /// Offers the largest file of a folder that was named.
    fn refresh(&mut self, shared: &Shared, _area: Rect) -> Asks {
        if let Some(Err(refusal)) = shared.inquiry.as_ref().and_then(|inquiry| inquiry.result.as_ref())
            && let Some(file) = refusal.instead.as_ref().filter(|_| !self.is_offered)
        {
            self.is_offered = true;
            self.ask(file);
        }
        Asks::new()
    }

    fn take(&mut self, subject: &Subject, shared: &Shared) -> Asks {
        let Subject::File(file, from) = subject else { return Asks::new() };
        if *from != super::ABOUT.id {
            self.from = Some(*from);
        }
        if shared.mode == Mode::Live && !shared.measures_file() {
            self.ask(file);
        }
        Asks::new()
    }

    /// Stops the tests; else goes back to the screen that opened the page.
    fn back(&mut self, shared: &Shared) -> Option<Asks> {
        let is_stopping = shared.inquiry.as_ref().is_some_and(|inquiry| inquiry.stopping);
        if shared.measures_file() && !is_stopping {
            return Some(vec![Ask::Change(SharedChange::StopFile), Ask::Effect(Effect::StopFile)]);
        }
        Some(vec![Ask::Show(self.from(), None)])
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        let ended = shared.inquiry.as_ref().and_then(|inquiry| inquiry.result.as_ref());
        match command {
            "measure again" => ended.is_some(),
            "drop pages" => match ended {
                Some(Ok(answer)) => {
                    !answer.asked.dropped && answer.asked.cached.is_some_and(|cached| cached > 0)
                }
                Some(Err(refusal)) => refusal.is_cached,
                None => false,
            },
            "why file" => !shared.measures_file(),
            "up" => shared.inquiry.is_some(),
            _ => true,
        }
    }

    fn acts_in(&self, command: &str, shared: &Shared, area: Rect) -> bool {
        let (lines, rows) = draw::extent(self, shared, area);
        command != "up" || lines > usize::from(rows)
    }

    fn field(&mut self) -> Option<&mut TextField> {
        self.field.as_mut()
    }

    fn field_key(&mut self, key: Option<Key>, shared: &Shared) -> Asks {
        let Some(input) = &mut self.field else { return Asks::new() };
        match key {
            Some(Key::Esc) => {
                self.field = None;
                if shared.inquiry.is_none() {
                    return vec![Ask::Show(self.from(), None)];
                }
            }
            Some(Key::Enter) => {
                let file: PathBuf = Path::new(input.value().trim()).components().collect();
                if file.as_os_str().is_empty() {
                    return vec![warn("Name a file of 16 MiB or more; Esc cancels")];
                }
                return self.begin(FileRequest { file, drop_cache: false }, shared);
            }
            Some(key) => input.press(key),
            None => {}
        }
        Asks::new()
    }

    fn field_hints(&self) -> Vec<Piece> {
        if self.field.is_none() {
            return Vec::new();
        }
        hints(&[("Enter", "measure"), ("Ctrl-U", "clear"), ("Esc", "cancel")])
    }
}

impl WhyFile {
    /// Opens the question.
    fn ask(&mut self, file: &Path) {
        let path = file.to_string_lossy().into_owned();
        self.field = Some(if path.ends_with('/') { TextField::begun(path) } else { TextField::new(path) });
        self.top = 0;
    }

    fn from(&self) -> ScreenId {
        self.from.unwrap_or(ScreenId("machine"))
    }

    fn begin(&mut self, request: FileRequest, shared: &Shared) -> Asks {
        if shared.measures_file() {
            return vec![tell("The path of a file is being measured: {back} stops it")];
        }
        if shared.is_measuring() {
            return vec![tell("A test is running: {stop} stops it")];
        }
        (self.field, self.top, self.is_offered) = (None, 0, false);
        vec![Ask::Change(SharedChange::BeginFile(request.clone())), Ask::Effect(Effect::MeasureFile(request))]
    }
}

/// Measures the same file again.
pub(super) fn again(page: &mut WhyFile, shared: &Shared) -> Asks {
    match &shared.inquiry {
        Some(Inquiry { request, .. }) => {
            page.begin(FileRequest { drop_cache: false, ..request.clone() }, shared)
        }
        None => vec![tell("No file was measured: {why file} asks for one")],
    }
}

/// Measures it after its clean pages were dropped.
pub(super) fn drop_pages(page: &mut WhyFile, shared: &Shared) -> Asks {
    match &shared.inquiry {
        Some(Inquiry { request, .. }) => {
            page.begin(FileRequest { drop_cache: true, ..request.clone() }, shared)
        }
        None => vec![tell("No file was measured: {why file} asks for one")],
    }
}
