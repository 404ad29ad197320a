//! What the palette finds: commands by name, by description and by what users call them.

use super::{ALL, argument_of_open, needs_machine, of, run};
use crate::{
    app::{App, DYNO, Effect, FINDINGS, tabs::about},
    model::{FindingId, Workload},
    screens::dyno::form::Form,
    tune::SETTINGS,
    ui::{ScreenId, Subject, command::Row},
};

/// How well a command matches, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    /// The text is its name.
    Name,
    /// Its name begins with the text.
    BeginsName,
    /// Each word of the text begins a word of its name.
    NameWords,
    /// The text is a word by which users call it.
    Called,
    /// Each word of the text begins a word of name, description or what users call it.
    Words,
    /// They hold each word of the text somewhere.
    Holds,
}

/// What the palette finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) enum Found {
    /// A command, with the screen that it belongs to where that is another one.
    Command(Option<ScreenId>, Row),
    /// A profile of Dyno's form by its name, with its workload in words, and Dyno where that is another screen.
    Profile(Option<ScreenId>, String, String),
}

impl Found {
    /// Its name in the list.
    pub fn name(&self) -> &str {
        match self {
            Self::Command(_, row) => row.name,
            Self::Profile(_, name, _) => name,
        }
    }

    /// The key that does the same.
    pub fn key(&self) -> String {
        match self {
            Self::Command(_, row) => row.keys.first().map(ToString::to_string).unwrap_or_default(),
            Self::Profile(..) => String::new(),
        }
    }

    /// What it does, behind the screen it belongs to where that is another one.
    pub fn description(&self) -> String {
        let (other, help) = match self {
            Self::Command(other, row) => (other, row.help.to_owned()),
            Self::Profile(other, _, work) => (other, format!("Put this profile into the form: {work}")),
        };
        other.map_or_else(String::new, |screen| format!("{}: ", about(screen).name)) + &help
    }

    fn grade(&self, text: &str) -> Option<Match> {
        match self {
            Self::Command(_, row) => grade(row.name, row.help, &found_by(row.name), text),
            Self::Profile(_, name, work) => grade(&name.to_lowercase(), work, "profile profiles", text),
        }
    }

    /// Its place among those that match as well: what is of this screen, of others, then profiles.
    const fn place(&self) -> u8 {
        match self {
            Self::Command(None, _) => 0,
            Self::Command(Some(_), _) => 1,
            Self::Profile(..) => 2,
        }
    }
}

/// How `text`, in small letters and trimmed, matches a name with a description and what users call it; `None` if a word of it is
/// nowhere.
fn grade(name: &str, help: &str, called: &str, text: &str) -> Option<Match> {
    let all = format!("{name} {help} {called}").to_lowercase();
    let begin = |words: &str| {
        let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').collect();
        text.split_whitespace().all(|part| words.iter().any(|word| word.starts_with(part)))
    };
    let is_called = || called.split([' ', ';']).any(|word| word == text);
    Some(match () {
        () if name == text => Match::Name,
        () if !text.is_empty() && name.starts_with(text) => Match::BeginsName,
        () if !text.is_empty() && begin(name) => Match::NameWords,
        () if !text.is_empty() && is_called() => Match::Called,
        () if begin(&all) => Match::Words,
        () if text.split_whitespace().all(|word| all.contains(word)) => Match::Holds,
        () => return None,
    })
}

/// Words without the ending of a plural or of a verb: `themes`, `comparing`.
fn stems(text: &str) -> String {
    /// Letters that are left.
    const LEAST: usize = 3;
    let stem = |word: &str| {
        let ends = ["ing", "ed", "es", "s"].into_iter().filter_map(|end| word.strip_suffix(end));
        ends.filter(|stem| stem.len() >= LEAST).min_by_key(|stem| stem.len()).unwrap_or(word).to_owned()
    };
    text.split_whitespace().map(stem).collect::<Vec<_>>().join(" ")
}

/// The commands that match `text`, in the order of [`found`].
#[cfg(test)]
pub(super) fn matching(screen: ScreenId, can_test: bool, text: &str) -> Vec<(Option<ScreenId>, Row)> {
    let command = |found| match found {
        Found::Command(other, row) => Some((other, row)),
        Found::Profile(..) => None,
    };
    found((screen, can_test), &Form::default(), text).into_iter().filter_map(command).collect()
}

/// The commands and the form's profiles that match `text`, the best first, then commands of the screen before those of others, each
/// with the screen that it belongs to where that is another one.
pub(in crate::app) fn found((screen, can_test): (ScreenId, bool), form: &Form, text: &str) -> Vec<Found> {
    // What follows `open` is a path.
    let text = if argument_of_open(text).is_some() { "open".to_owned() } else { text.to_lowercase() };
    let here: Vec<Row> = of(screen).collect();
    let other = |(on, row): &(Option<ScreenId>, Row)| Some(((*on).filter(|on| *on != screen)?, *row));
    let others = ALL.iter().filter_map(other).map(|(on, row)| (Some(on), row));
    // What lost its key to a command of this screen has its name left.
    let is_here = |name: &str| here.iter().any(|row| row.name == name);
    let lost = ALL.iter().filter(|(on, row)| on.is_none() && !is_here(row.name));
    let lost: Vec<Row> = lost.map(|(_, row)| Row { keys: &[], ..*row }).collect();
    let commands = here.into_iter().chain(lost).map(|row| (None, row)).chain(others);
    let commands = commands.filter(|(_, row)| can_test || !needs_machine(row.name));
    let dyno = Some(DYNO).filter(|dyno| *dyno != screen);
    let profile = |(name, work): (&str, Workload)| Found::Profile(dyno, name.to_owned(), work.title());
    let profiles = form.named().filter(|_| can_test).map(profile);
    let all: Vec<_> = commands.map(|(other, row)| Found::Command(other, row)).chain(profiles).collect();
    let grades = |text: &str| -> Vec<_> {
        all.iter().filter_map(|found| Some((found.grade(text)?, found.clone()))).collect()
    };
    let mut graded = grades(text.trim());
    if graded.is_empty() {
        graded = grades(&stems(&text));
    }
    graded.sort_by_key(|(grade, found)| (*grade, found.place()));
    graded.into_iter().map(|(_, found)| found).collect()
}

/// Words by which the palette finds a command that has them neither in its name nor in its description: what users call it.
#[rustfmt::skip]
const FOUND_BY: &[(&str, &str)] = &[
    ("machine", "lspci lanes width"),
    ("findings", "slow slower bottleneck problem problems limit"),
    ("tune", "readahead read-ahead io scheduler"),
    ("dyno", "benchmark bench fio workload test speed iops"),
    ("what-if", "whatif experiment experiments faster"),
    ("why", "slow irq irqs interrupt interrupts busy cpu process"),
    ("compare", "difference diff delta baseline two runs sheets captures"),
    ("sheet", "compare two sheets; serial serials pseudonyms names"),
    ("pull", "benchmark bench test speed slow measure crystaldiskmark"),
    ("run", "benchmark bench fio test"),
    ("stop", "abort cancel kill interrupt"),
    ("undo all", "revert restore reset original"),
    ("undo one", "revert restore reset original"),
    ("columns", "latency iops queue error errors aer hide"),
    ("hottest", "temperature temperatures temp hot thermal sensor"),
    ("next column", "order"),
    ("details", "serial serials firmware health wear smart"),
    ("find", "search filter"),
    ("help", "mouse wheel click manual shortcut config configuration options files"),
    ("glossary", "words meaning definition"),
    ("theme", "color colors background contrast"),
    ("screenshot", "picture image export"),
    ("open", "load lspci pasted"),
    ("close", "live back return first this machine leave"),
    ("redraw", "refresh reload rescan"),
    ("mark", "select choose"),
    ("profile", "named workload workloads crystaldiskmark cdm"),
    ("older run", "earlier history"),
    ("quit", "exit leave"),
    ("units", "gib gb binary decimal"),
    ("suspend", "background"),
];

/// What users look for among findings, and the findings about it, the first that is there.
const TOPICS: &[(&[&str], &[&str])] = &[
    (&["error", "errors", "aer"], &["link-errors", "nvme-errors", "drive-worn"]),
    (&["health", "wear", "smart"], &["drive-worn", "drive-hot", "nvme-errors"]),
    (&["firmware"], &["firmware-advisory"]),
    (
        &["gen3", "gen4", "downtrained"],
        &["link-downtrained", "slot-limited", "link-below-drive", "link-capped-by-software"],
    ),
];

/// The findings about what users call `word`.
fn topic(word: &str) -> Option<&'static [&'static str]> {
    TOPICS.iter().find(|(words, _)| words.contains(&word)).map(|(_, findings)| *findings)
}

fn found_by(name: &str) -> String {
    let words = FOUND_BY.iter().find(|(command, _)| *command == name).map_or("", |(_, words)| *words);
    // Each setting is a column there.
    let settings = SETTINGS.iter().filter(|_| name == "tune");
    let settings = settings.map(|setting| format!(" {} {}", setting.id.0, setting.label));
    let topics = TOPICS.iter().filter(|_| name == FINDINGS.0).flat_map(|(words, _)| *words);
    let topics = topics.map(|word| format!(" {word}"));
    words.to_owned() + &settings.chain(topics).collect::<String>()
}

/// Carries out what `text` found in the palette: a command on the screen that it belongs to, or a profile for the form.
pub(in crate::app) fn run_found(app: &mut App, found: Found, text: &str) -> Vec<Effect> {
    let (on, row) = match found {
        Found::Command(on, row) => (on, row),
        Found::Profile(_, name, _) => return app.show(DYNO, Some(Subject::Profile(name))),
    };
    let mut effects = on.map_or_else(Vec::new, |screen| app.show(screen, None));
    // Rows follow a look at the screen.
    effects.extend(app.refresh());
    effects.extend(run(app, row.name));
    let word = text.trim().to_lowercase();
    if let Some(wanted) = topic(&word).filter(|_| row.name == FINDINGS.0) {
        let list = &app.shared.findings.list;
        let is_listed = |id: &str| list.iter().any(|finding| finding.id.0 == id);
        match wanted.iter().find(|id| is_listed(id)) {
            Some(id) => effects.extend(app.hand(FINDINGS, &Subject::Finding(FindingId(id)))),
            None => app.tell(format!(
                "No finding about {word} here: on Machine {{details}} shows link, health and errors of a row"
            )),
        }
    }
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{MACHINE, tabs::tabs},
        findings,
    };

    #[test]
    fn a_name_is_found_before_a_description() {
        assert_eq!(matching(ScreenId("dyno"), true, "run")[0].1.name, "run");
        let found = matching(MACHINE, true, "mark every");
        assert!(found.iter().any(|(_, row)| row.name == "mark all"));
    }

    #[test]
    fn the_palette_finds_the_commands_of_every_screen_from_every_screen() {
        for screen in tabs() {
            for (text, name) in [
                ("slots", "slots"),
                ("export", "export"),
                ("theme", "theme"),
                ("compare", "what-if"),
                ("compare", "sheet"),
                ("readahead", "tune"),
                ("read_ahead_kb", "tune"),
                ("scheduler", "tune"),
            ] {
                let found = matching(screen.id, true, text);
                assert!(found.iter().any(|(_, row)| row.name == name), "{} {text}: {found:?}", screen.id.0);
            }
            for name in ["export", "compare"] {
                assert_eq!(matching(screen.id, true, name)[0].1.name, name);
            }
        }
    }

    #[test]
    fn the_palette_finds_what_users_call_it() {
        for (text, wanted) in [
            ("slow", &["findings", "why", "pull", "why file"][..]),
            ("why", &["why"]),
            ("temperature", &["hottest"]),
            ("undo", &["undo one", "undo all"]),
            ("mouse", &["help"]),
            ("color", &["theme"]),
            ("quit", &["quit"]),
            ("exit", &["quit"]),
            ("save", &["save", "screenshot", "export"]),
            ("serial", &["details", "sheet"]),
            ("help", &["help", "glossary"]),
            ("abort", &["stop"]),
            ("interrupt", &["why"]),
            ("interrupts", &["why"]),
            ("search", &["find"]),
            ("gen3", &["findings"]),
            ("errors", &["findings"]),
            ("config", &["help"]),
            ("bench", &["pull", "dyno"]),
            ("reset", &["undo one", "undo all"]),
            ("themes", &["theme"]),
            ("comparing", &["compare", "sheet"]),
            ("exporting", &["export", "screenshot"]),
            ("whatif", &["what-if"]),
        ] {
            for screen in tabs() {
                let found: Vec<&str> =
                    matching(screen.id, true, text).iter().map(|(_, row)| row.name).collect();
                let lacking: Vec<&&str> = wanted.iter().filter(|name| !found.contains(*name)).collect();
                assert!(lacking.is_empty(), "{text} on {} lacks {lacking:?}: {found:?}", screen.id.0);
                let is_meant = wanted.contains(&found[0]) || found[0].starts_with(text);
                assert!(is_meant, "{text} on {}: {found:?}", screen.id.0);
            }
        }
        for (name, _) in FOUND_BY {
            assert!(ALL.iter().any(|(_, row)| row.name == *name), "no command {name}");
        }
    }

    #[test]
    fn what_users_look_for_among_findings_is_a_finding() {
        for id in TOPICS.iter().flat_map(|(_, findings)| *findings) {
            assert!(findings::row(id).is_some(), "{id}");
        }
    }
}
