//! A page of metrics in the text format: heads, samples, labels, escapes.

use std::fmt::Write as _;

/// What sort of metric a family is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only grows; its name ends in `_total`.
    Counter,
}

/// The text so far. A family's head is written with its first sample, for one without any is no family.
#[derive(Default)]
pub(super) struct Page {
    /// The text so far.
    pub text: String,
    head: String,
    name: String,
}

impl Page {
    /// Begins a family.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        self.head = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        name.clone_into(&mut self.name);
    }

    /// A sample of the family begun last. Labels without a value are left out.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(&std::mem::take(&mut self.head));
        self.text.push_str(&self.name);
        let labels: Vec<String> = labels
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        if !labels.is_empty() {
            let _ = write!(self.text, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }
}

/// As the format wants it within quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_family_has_its_head_once_and_none_without_samples() {
        let mut page = Page::default();
        page.family("a_total", Kind::Counter, "Of a.");
        page.family("b", Kind::Gauge, "Of b.");
        page.sample(&[("x", "1"), ("y", "")], 2.5);
        page.sample(&[("x", "say \"hi\" \\ \n")], 1e12);
        let expected = "# HELP b Of b.\n# TYPE b gauge\nb{x=\"1\"} 2.5\nb{x=\"say \\\"hi\\\" \\\\ \\n\"} 1000000000000\n";
        assert_eq!(page.text, expected);
    }

    proptest! {
        #[test]
        fn no_label_breaks_its_line(value in "\\PC*|[\"\\\\\n]{0,8}") {
            let mut page = Page::default();
            page.family("a", Kind::Gauge, "Of a.");
            page.sample(&[("x", &value)], 1.0);
            prop_assert_eq!(page.text.lines().count(), 3);
        }
    }
}
