//! [`Pasted`]: texts of other tools that were opened in place of a machine.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{model::PciAddress, text::Label};

/// Texts of lspci, nvme-cli and other tools in one opened file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pasted {
    /// Recognised listings in the order of the text.
    pub listings: Vec<Listing>,
    /// Data that the texts do not contain, one sentence each, with the command that shows it.
    pub lacks: Vec<String>,
    /// Listings that contradict each other about a drive or a function, one sentence each.
    pub contradictions: Vec<String>,
    /// Lines that were not used, at most [`Pasted::MOST_UNUSED`].
    pub unused: Vec<UnusedLine>,
    /// Number of lines that were not used.
    pub unused_lines: usize,
    /// Links that lspci marks "(downgraded)". The mark depends on its version, so no finding follows from it.
    pub downgraded: Vec<Downgraded>,
    /// Buses, domain and number, that stand in place of a root complex because the text shows no bridge above them.
    pub without_bridge: BTreeSet<(u32, u8)>,
    /// Buses, domain and number, below a bridge that is not the one directly above them: the text lacks that one.
    pub below_gaps: BTreeSet<(u32, u8)>,
    /// Line of the text by sysfs path, also by a register's path (`.../config LnkSta`).
    pub lines: Lines,
    /// The words of these lines, cut to [`Pasted::MOST_OF_LINE`] bytes.
    pub words: HashMap<u32, Box<str>>,
    /// Sizes of drives in the words of the text, by name, where these are rounded to fewer digits than iodyno shows: `3.6 TiB`.
    pub sizes: BTreeMap<String, String>,
    /// Devices in listings with mount points, by name: those without a user have none there.
    pub with_mounts: BTreeSet<String>,
}

/// Lines of a text by path. A text has several for each function: they are kept by folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines(HashMap<Arc<str>, Box<[Place]>>);

/// A name in a folder, and its line.
type Place = (Arc<str>, u32);

/// One recognised listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The command that prints such a text: `lspci -vv`.
    pub command: Cow<'static, str>,
    /// Its first line, counted from 1.
    pub line: usize,
    /// Its last line.
    pub last_line: usize,
}

/// A line that was not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedLine {
    /// Counted from 1.
    pub line: usize,
    /// In words.
    pub reason: Label,
}

/// A mark "(downgraded)" of lspci on a link's speed or width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downgraded {
    /// The function that has the mark.
    pub address: PciAddress,
    /// The line of the mark.
    pub line: usize,
    /// On the speed.
    pub speed: bool,
    /// On the width.
    pub width: bool,
}

impl Lines {
    /// Lines by folder and name; of several lines of a name the last counts.
    pub(crate) fn new(folders: HashMap<Arc<str>, Vec<(Arc<str>, u32)>>) -> Self {
        let sorted = |mut files: Vec<(Arc<str>, u32)>| {
            files.sort_by(|(one, _), (other, _)| one.cmp(other));
            files.dedup_by(|(name, line), (before, kept)| {
                let is_same = name == before;
                if is_same {
                    *kept = *line;
                }
                is_same
            });
            files.into_boxed_slice()
        };
        Self(folders.into_iter().map(|(folder, files)| (folder, sorted(files))).collect())
    }

    /// The lines, in no order.
    pub fn values(&self) -> impl Iterator<Item = usize> {
        self.0.values().flat_map(|files| files.iter().map(|(_, line)| *line as usize))
    }

    fn get(&self, path: &str) -> Option<u32> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let files = self.0.get(folder)?;
        let at = files.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        files.get(at).map(|(_, line)| *line)
    }
}

impl Pasted {
    /// Maximum of [`Pasted::unused`].
    pub const MOST_UNUSED: usize = 1000;

    /// Bytes kept of a line.
    pub const MOST_OF_LINE: usize = 160;

    /// The commands whose texts were recognised: `lspci -vv and nvme list`.
    pub fn kind(&self) -> String {
        match self.commands().as_slice() {
            [] => "no listing".to_owned(),
            [one] => (*one).to_owned(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        }
    }

    /// The same with one command: `lspci -vv and 2 more`.
    pub(crate) fn brief_kind(&self) -> String {
        let commands = self.commands();
        match commands.as_slice() {
            [first, _, rest @ ..] => format!("{first} and {} more", rest.len() + 1),
            _ => self.kind(),
        }
    }

    /// Each command once.
    fn commands(&self) -> Vec<&str> {
        let mut commands: Vec<&str> = Vec::new();
        for listing in &self.listings {
            if !commands.contains(&&*listing.command) {
                commands.push(&listing.command);
            }
        }
        commands
    }

    /// The line that states a value, with its words: `line 123: LnkSta: Speed 8GT/s, Width x4`. `None` for a value that the text
    /// does not state.
    pub(crate) fn stated_at(&self, path: &str) -> Option<String> {
        let file = path.split(' ').next().unwrap_or(path);
        let line = self.lines.get(path).or_else(|| self.lines.get(file))?;
        let words = self.words.get(&line).map(|words| format!(": {}", Label::new(words)));
        Some(format!("line {line}{}", words.unwrap_or_default()))
    }

    /// Place and value of evidence: the line, and the register of a link's value.
    pub(crate) fn evidence(&self, path: &str, value: &str) -> (String, String) {
        const FILES: [(&str, &str); 4] = [
            ("/current_link_speed", "LnkSta: Speed "),
            ("/current_link_width", "LnkSta: Width "),
            ("/max_link_speed", "LnkCap: Speed "),
            ("/max_link_width", "LnkCap: Width "),
        ];
        let register =
            FILES.iter().find(|(file, _)| path.ends_with(file)).map_or("", |(_, register)| register);
        // A line of the kernel has no registers.
        let words = self.lines.get(path).and_then(|line| self.words.get(&line));
        let is_kernels = words.is_some_and(|words| words.contains("available PCIe bandwidth"));
        let register = if is_kernels { "" } else { register };
        let of_sizes = ["MaxPayload", "MaxReadReq"].iter().any(|word| value.contains(word));
        let of_sizes = of_sizes.then(|| self.lines.get(&format!("{path} MaxPayload"))).flatten();
        let place = of_sizes.map(|line| format!("line {line}")).or_else(|| self.place(path));
        // A root bus that no line states.
        let place = place.unwrap_or_else(|| path.rsplit("/pci").next().unwrap_or(path).to_owned());
        (place, format!("{register}{value}"))
    }

    /// Takes the words of the lines from the text.
    pub(crate) fn quote(&mut self, text: &str) {
        let stated: BTreeSet<usize> = self.lines.values().collect();
        let numbered = text.split('\n').enumerate().map(|(at, line)| (at + 1, line));
        let stated = numbered.filter(|(number, _)| stated.contains(number)).filter_map(|(number, line)| {
            let line = line.trim();
            let words = &line[..line.floor_char_boundary(Self::MOST_OF_LINE)];
            Some((u32::try_from(number).ok()?, words.into()))
        });
        self.words = stated.collect();
    }

    /// The place of a reading in the text: `line 123`. Of the nearest folder if the path itself has no line.
    pub fn place(&self, path: &str) -> Option<String> {
        let file = path.split(' ').next().unwrap_or(path);
        let above = std::iter::successors(Some(file), |path| path.rsplit_once('/').map(|(above, _)| above));
        let line = std::iter::once(path).chain(above).find_map(|path| self.lines.get(path))?;
        Some(format!("line {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_of_the_text() {
        let folder = |name: &str, line: u32| vec![(Arc::from(name), line)];
        let folders =
            [("/sys/a".into(), folder("b", 3)), ("/sys/a/b".into(), folder("config LnkSta", 7))].into();
        let pasted = Pasted { lines: Lines::new(folders), ..Pasted::default() };
        for (path, place) in [
            ("/sys/a/b", Some("line 3")),
            ("/sys/a/b/class", Some("line 3")),
            ("/sys/a/b/config LnkSta", Some("line 7")),
            ("/sys/a/b/config LnkCap", Some("line 3")),
            ("/sys/a", None),
            ("", None),
        ] {
            assert_eq!(pasted.place(path).as_deref(), place, "{path}");
        }
        assert_eq!(pasted.stated_at("/sys/a/b/config LnkSta").as_deref(), Some("line 7"));
        assert_eq!(pasted.stated_at("/sys/a/b/class"), None, "the text does not state it");
    }

    #[test]
    fn the_kind_names_each_command_once() {
        let listing = |command: &'static str| Listing { command: command.into(), line: 1, last_line: 1 };
        let of = |commands: &[&'static str]| {
            let listings = commands.iter().map(|command| listing(command)).collect();
            Pasted { listings, ..Pasted::default() }
        };
        let (kind, brief) = (
            |commands: &[&'static str]| of(commands).kind(),
            |commands: &[&'static str]| of(commands).brief_kind(),
        );
        assert_eq!(kind(&[]), "no listing");
        assert_eq!(kind(&["lspci -t", "lspci -t"]), "lspci -t");
        assert_eq!(kind(&["lspci -t", "lspci -vv", "nvme list"]), "lspci -t, lspci -vv and nvme list");
        assert_eq!(brief(&[]), "no listing");
        assert_eq!(brief(&["lspci -t", "lspci -t"]), "lspci -t");
        assert_eq!(brief(&["lspci -t", "lspci -vv", "nvme list"]), "lspci -t and 2 more");
    }
}
