//! [`PastedRoot`]: the files that texts make. A text has few files for each function, most of them of the same names: they
//! are kept by folder, and a name is kept once.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use crate::{
    machine::{Pasted, pasted::Lines},
    source::root::{RootError, SysRoot},
};

/// A root that answers from the texts of other tools.
#[derive(Debug)]
pub struct PastedRoot {
    /// Sorted by name.
    folders: HashMap<Arc<str>, Box<[File]>>,
    pasted: Arc<Pasted>,
}

type File = (Arc<str>, Answer);

#[derive(Debug)]
enum Answer {
    List(Box<[String]>),
    Link(Arc<str>),
    Read(Arc<[u8]>),
    /// Why it cannot be read.
    Lack(Arc<str>),
}

/// The files while they are made.
#[derive(Debug, Default)]
pub(super) struct Answers {
    folders: HashMap<Arc<str>, Vec<File>>,
    lines: HashMap<Arc<str>, Vec<(Arc<str>, u32)>>,
    words: HashSet<Arc<str>>,
    contents: HashSet<Arc<[u8]>>,
}

impl Answers {
    /// Of several contents of a file the last counts.
    #[expect(clippy::needless_pass_by_value, reason = "callers make it for this call")]
    pub(super) fn read(&mut self, path: &str, content: Vec<u8>) {
        let content = shared(&mut self.contents, &*content);
        self.put(path, Answer::Read(content));
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers make it for this call")]
    pub(super) fn link(&mut self, path: &str, target: String) {
        let target = self.word(&target);
        self.put(path, Answer::Link(target));
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers make it for this call")]
    pub(super) fn lack(&mut self, path: &str, why: String) {
        let why = self.word(&why);
        self.put(path, Answer::Lack(why));
    }

    /// Adds names to a folder.
    pub(super) fn list(&mut self, path: &str, names: impl IntoIterator<Item = String>) {
        self.put(path, Answer::List(names.into_iter().collect()));
    }

    /// The line that states what is at a path; the last counts.
    pub(super) fn line(&mut self, path: &str, line: usize) {
        let (folder, name) = split(path);
        let (folder, name) = (self.word(folder), self.word(name));
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        self.lines.entry(folder).or_default().push((name, line));
    }

    /// The root, with the words of the lines that the text states values in.
    pub(super) fn finish(self, pasted: Pasted, text: &str) -> PastedRoot {
        let folders = self.folders.into_iter().map(|(folder, files)| (folder, joined(files))).collect();
        let mut pasted = Pasted { lines: Lines::new(self.lines), ..pasted };
        pasted.quote(text);
        PastedRoot { folders, pasted: Arc::new(pasted) }
    }

    fn put(&mut self, path: &str, answer: Answer) {
        let (folder, name) = split(path);
        let (folder, name) = (self.word(folder), self.word(name));
        self.folders.entry(folder).or_default().push((name, answer));
    }

    fn word(&mut self, word: &str) -> Arc<str> {
        shared(&mut self.words, word)
    }
}

/// What thousands of functions and drives have in common is kept once.
fn shared<T: ?Sized + Hash + Eq>(known: &mut HashSet<Arc<T>>, new: &T) -> Arc<T>
where
    for<'a> Arc<T>: From<&'a T>,
{
    if let Some(known) = known.get(new) {
        return known.clone();
    }
    let new: Arc<T> = new.into();
    known.insert(new.clone());
    new
}

impl Answer {
    /// What is asked for: the names of a folder, a link's target, a content.
    fn question(&self) -> u8 {
        match self {
            Self::List(_) => 0,
            Self::Link(_) => 1,
            Self::Read(_) | Self::Lack(_) => 2,
        }
    }
}

/// The files of a folder, each once.
fn joined(mut files: Vec<File>) -> Box<[File]> {
    files.sort_by(|(one, a), (other, b)| (one, a.question()).cmp(&(other, b.question())));
    files.dedup_by(|(name, answer), (before, kept)| {
        let is_same = name == before && answer.question() == kept.question();
        if is_same {
            match (kept, answer) {
                (Answer::List(kept), Answer::List(names)) => {
                    let all: BTreeSet<String> = kept.iter().chain(&*names).cloned().collect();
                    *kept = all.into_iter().collect();
                }
                (kept, answer) => std::mem::swap(kept, answer),
            }
        }
        is_same
    });
    files.into_boxed_slice()
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl PastedRoot {
    fn answer<T>(
        &self,
        path: &str,
        of: impl Fn(&Answer) -> Option<Result<T, RootError>>,
    ) -> Result<T, RootError> {
        let (folder, name) = split(path);
        let files = self.folders.get(folder).map_or(&[][..], |files| files);
        let first = files.partition_point(|(known, _)| **known < *name);
        let same = files[first..].iter().take_while(|(known, _)| **known == *name);
        let mut answers = same.filter_map(|(_, answer)| of(answer));
        answers.next().unwrap_or_else(|| Err(RootError::NotHere("not in the opened text".to_owned())))
    }
}

impl SysRoot for PastedRoot {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        self.answer(path, |answer| match answer {
            Answer::Read(content) => Some(Ok(content.to_vec())),
            Answer::Lack(why) => Some(Err(RootError::NotHere(why.to_string()))),
            _ => None,
        })
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.answer(path, |answer| match answer {
            Answer::Link(target) => Some(Ok(target.to_string())),
            _ => None,
        })
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        self.answer(path, |answer| match answer {
            Answer::List(names) => Some(Ok(names.to_vec())),
            _ => None,
        })
    }

    fn pasted(&self) -> Option<Arc<Pasted>> {
        Some(self.pasted.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_answer_of_each_kind_and_the_last_content() {
        let mut answers = Answers::default();
        answers.list("/sys/block", ["b".to_owned(), "a".to_owned()]);
        answers.list("/sys/block", ["c".to_owned()]);
        answers.link("/sys/block/a", "/sys/devices/a".to_owned());
        answers.read("/sys/devices/a/size", b"1".to_vec());
        answers.read("/sys/devices/a/size", b"2".to_vec());
        answers.lack("/sys/devices/a/config", "no registers".to_owned());
        answers.line("/sys/devices/a/size", 3);
        answers.line("/sys/devices/a/size", 4);
        let root = answers.finish(Pasted::default(), "a\nb\n");
        assert_eq!(root.list("/sys/block").unwrap(), ["a", "b", "c"]);
        assert_eq!(root.link("/sys/block/a").unwrap(), "/sys/devices/a");
        assert_eq!(root.read("/sys/devices/a/size").unwrap(), b"2");
        let why = |path: &str| root.read(path).unwrap_err().to_string();
        assert_eq!(why("/sys/devices/a/config"), "no registers");
        assert_eq!(why("/sys/block"), "not in the opened text", "a folder has no content");
        assert_eq!(why("size"), "not in the opened text");
        assert_eq!(root.pasted().unwrap().place("/sys/devices/a/size").unwrap(), "line 4");
    }
}
