//! udev rules for the settings that stand changed, and what they are good for.

use crate::{report, tune::persist, ui::Shared};

/// What a saved file of rules is good for.
pub(crate) fn saved_rules(shared: &Shared, path: &str) -> String {
    let use_of_it = if rules(shared).text.is_empty() {
        "It holds no rule: there is nothing to install".to_owned()
    } else if shared.is_simulated() {
        "It is from a demo, whose drives are simulated: do not install it".to_owned()
    } else {
        format!("To install: sudo cp {path} /etc/udev/rules.d/")
    };
    format!("Saved {path}. {use_of_it}")
}

/// udev rules for what stands changed since boot.
pub(super) fn rules(shared: &Shared) -> persist::Export {
    let settings = &shared.settings;
    let now = |file: &str| {
        let mut cells = settings.matrix.cells.iter().flatten().flatten();
        let cell = cells.find(|cell| cell.files.iter().any(|own| own == file));
        cell.and_then(|cell| cell.value.as_ref()).map(ToString::to_string)
    };
    persist::udev_rules(&shared.machine, &settings.change_log, |entry| now(&entry.file))
}

/// The same as a text, with what they leave out.
pub(super) fn text(shared: &Shared) -> String {
    let export = rules(shared);
    let text = report::tune::export(&export, shared.settings.change_log.unread);
    if shared.is_simulated() && !export.is_empty() {
        return format!("# From a demo: its drives are simulated, so do not install this file.\n{text}");
    }
    text
}
