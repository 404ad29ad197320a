//! Metrics in the text format: heads, samples, labels, escapes.

use std::fmt::Write as _;

/// The text so far. The head of a family is written with its first sample.
#[derive(Default)]
pub(super) struct Page {
    pub text: String,
    head: String,
    name: String,
}

impl Page {
    /// Begins a family: a counter if its name ends in `_total`, else a gauge.
    pub fn family(&mut self, name: &str, help: &str) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        self.head = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        name.clone_into(&mut self.name);
    }

    /// A sample of the last family, if it has a value. Labels without a value are left out.
    pub fn sample<T: AsRef<str>>(&mut self, labels: &[(&str, T)], value: impl Into<Option<f64>>) {
        let Some(value) = value.into() else { return };
        self.text.push_str(&std::mem::take(&mut self.head));
        self.text.push_str(&self.name);
        let labels: Vec<String> = labels
            .iter()
            .filter(|(_, value)| !value.as_ref().is_empty())
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value.as_ref())))
            .collect();
        if !labels.is_empty() {
            let _ = write!(self.text, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }
}

/// Escaped for quotes.
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
        page.family("a_total", "Of a.");
        page.family("b", "Of b.");
        page.sample(&[("x", "1"), ("y", "")], 2.5);
        page.sample(&[("x", "say \"hi\" \\ \n")], 1e12);
        let expected = "# HELP b Of b.\n# TYPE b gauge\nb{x=\"1\"} 2.5\nb{x=\"say \\\"hi\\\" \\\\ \\n\"} 1000000000000\n";
        assert_eq!(page.text, expected);
    }

    proptest! {
        #[test]
        fn no_label_breaks_its_line(value in "\\PC*|[\"\\\\\n]{0,8}") {
            let mut page = Page::default();
            page.family("a", "Of a.");
            page.sample(&[("x", &value)], 1.0);
            prop_assert_eq!(page.text.lines().count(), 3);
        }
    }
}
