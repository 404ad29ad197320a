//! [`Names`]: labels that come again in every pass, made once.

use std::collections::HashMap;

use crate::text::{Label, starred};

/// More names than a machine shows at a time; what comes and goes is forgotten beyond.
const MOST: usize = 8192;

/// Bytes of a command that are kept: the kernel's longest names, those of kernel workers, have fewer.
const LONGEST: usize = 128;

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

    /// The label of a command without its numbers (`kworker/*:*H`): ten thousand numbered workers have one.
    pub(super) fn generalised(&mut self, command: &[u8]) -> Label {
        let mut short = [0; LONGEST];
        let length = starred(command, &mut short);
        self.label(&short[..length])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbered_commands_have_one_label() {
        let mut names = Names::default();
        for (command, label) in [
            ("kworker/12:34H-x", "kworker/*:*H-x"),
            ("fio", "fio"),
            ("7", "*"),
            ("", ""),
            ("a*1b", "a*b"),
            ("opt 3b0et7vub19", "opt *"),
            ("jbd2/nvme0n1p2-8", "jbd*/nvme*n*p*-*"),
            ("read 3", "read *"),
        ] {
            assert_eq!(names.generalised(command.as_bytes()), *label, "{command}");
        }
        assert_eq!(names.generalised(&[b'x'; 500]).as_str().len(), LONGEST);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_label_without_digits(command in prop::collection::vec(any::<u8>(), 0..80)) {
            let label = Names::default().generalised(&command);
            prop_assert!(!label.as_str().bytes().any(|byte| byte.is_ascii_digit()));
        }
    }
}
