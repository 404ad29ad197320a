//! A machine's files in memory, and their way into a capture.

use std::collections::BTreeMap;

use iodyno::source::{
    capture::{Answers, Capture, format},
    root,
};

/// Files and links by path.
#[derive(Debug, Default)]
pub struct Files {
    answers: BTreeMap<String, Answers>,
}

impl Files {
    /// A file of text, with the newline that ends it.
    pub fn line(&mut self, path: impl Into<String>, content: impl std::fmt::Display) {
        self.bytes(path, format!("{content}\n").into_bytes());
    }

    /// A file of bytes.
    pub fn bytes(&mut self, path: impl Into<String>, content: Vec<u8>) {
        self.answers.entry(path.into()).or_default().read = Some(Ok(content));
    }

    /// A link to the absolute path `target`, written relative as sysfs does.
    pub fn link(&mut self, path: impl Into<String>, target: &str) {
        let path = path.into();
        let depth = root::parent(&path).split('/').filter(|part| !part.is_empty()).count();
        let up = "../".repeat(depth.saturating_sub(1));
        let below_sys = target.strip_prefix("/sys/").unwrap_or(target);
        self.answers.entry(path).or_default().link = Some(Ok(format!("{up}{below_sys}")));
    }

    /// An empty folder.
    pub fn folder(&mut self, path: impl Into<String>) {
        self.answers.entry(path.into()).or_default().list = Some(Ok(Vec::new()));
    }

    /// The capture that answers what these files would: contents, link targets, and the names in every folder.
    pub fn into_capture(mut self) -> String {
        let paths: Vec<String> = self.answers.keys().cloned().collect();
        for path in paths {
            self.announce(&path);
        }
        let notes = vec![(
            "made-by".to_owned(),
            "examples/build_demos, from the description under assets/demos/machines; serials are made up"
                .to_owned(),
        )];
        format::write(&Capture { notes, answers: self.answers })
    }

    /// Puts `path` into the list of its folder, and that into the list of its own.
    fn announce(&mut self, path: &str) {
        let folder = root::parent(path);
        if folder == "/" {
            return;
        }
        let list =
            self.answers.entry(folder.to_owned()).or_default().list.get_or_insert_with(|| Ok(Vec::new()));
        let Ok(names) = list else { return };
        let name = root::file_name(path).to_owned();
        if let Err(at) = names.binary_search(&name) {
            names.insert(at, name);
            self.announce(folder);
        }
    }
}
