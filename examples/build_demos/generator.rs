//! From the description of a machine to the files its kernel would show, as the text of a capture.
//!
//! Demos go through the same readers as any capture.

mod config_space;
mod description;
mod drives;
mod files;
mod functions;
mod host;
mod processors;
mod records;
mod tree;

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::Context as _;

use description::{Machine, Model, Part};
use files::Files;

/// All demos by name, each as the text of its capture.
pub fn build(folder: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let parts: BTreeMap<String, Part> = load(&folder.join("parts.toml"))?;
    let models: BTreeMap<String, Model> = load(&folder.join("models.toml"))?;
    let mut captures = BTreeMap::new();
    let mut machines: Vec<_> = fs::read_dir(folder.join("machines"))?.collect::<Result<_, _>>()?;
    machines.sort_by_key(fs::DirEntry::path);
    for file in machines {
        let machine: Machine = load(&file.path())?;
        for demo in &machine.demo {
            let tree = match &demo.tree_of {
                Some(other) => machine.demo.iter().find(|demo| demo.name == *other),
                None => Some(demo),
            };
            let tree = tree.and_then(|demo| demo.tree.as_deref()).context("a demo needs a tree")?;
            let tree = tree::parse(tree).with_context(|| demo.name.clone())?;
            let mut files = Files::default();
            let all =
                Everything { machine: &machine, parts: &parts, models: &models, lba_format: demo.lba_format };
            functions::write(&mut files, &all, &tree).with_context(|| demo.name.clone())?;
            let vectors = drives::write(&mut files, &all, &tree).with_context(|| demo.name.clone())?;
            processors::write(&mut files, &all);
            host::write(&mut files, &all, &vectors);
            captures.insert(demo.name.clone(), files.into_capture());
        }
    }
    Ok(captures)
}

/// The input of one demo.
pub struct Everything<'a> {
    machine: &'a Machine,
    parts: &'a BTreeMap<String, Part>,
    models: &'a BTreeMap<String, Model>,
    lba_format: u8,
}

impl Everything<'_> {
    fn part(&self, id: (u16, u16)) -> anyhow::Result<&Part> {
        let (vendor, device) = id;
        self.parts
            .get(&format!("{vendor:04x}_{device:04x}"))
            .with_context(|| format!("parts.toml has no {vendor:04x}:{device:04x}"))
    }

    fn model(&self, name: &str) -> anyhow::Result<&Model> {
        self.models.get(name).with_context(|| format!("models.toml has no {name}"))
    }

    fn cpus(&self) -> u32 {
        self.machine.cpu.cores * 2
    }
}

fn load<T: serde::de::DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}
