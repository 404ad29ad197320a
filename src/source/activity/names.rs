//! [`Names`]: labels that come again in every pass, made once.

use std::collections::HashMap;

use crate::text::Label;

/// More names than a machine shows at a time; what comes and goes is forgotten beyond.
const MOST: usize = 8192;

/// Labels by their raw text.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<Box<[u8]>, Label>);

impl Names {
    pub(super) fn label(&mut self, raw: &[u8]) -> Label {
        if let Some(known) = self.0.get(raw) {
            return known.clone();
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let label = Label::from_bytes(raw);
        self.0.insert(raw.into(), label.clone());
        label
    }
}
