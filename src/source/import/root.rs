//! The files of sysfs that the facts of a text make.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    answers::{Answers, PastedRoot},
    blocks::{self, Made},
    facts::{Block, DriveFacts, Facts, Function, Known, LinkWords},
    registers,
    tree::{self, Tree},
};
use crate::{
    machine::Pasted,
    model::PciAddress,
    source::{ids, nvme::messages},
    text::Label,
};

/// A root with the files of these facts.
pub(super) fn build(mut facts: Facts, tree: &Tree, pasted: Pasted, text: &str) -> PastedRoot {
    let mut files = Files { answers: Answers::default(), sizes: BTreeMap::new() };
    files.folder("/sys/bus/pci/devices", tree.folders.keys().map(ToString::to_string).collect());
    let mut roots: Vec<String> = tree
        .roots
        .values()
        .filter_map(|folder| Some(folder.strip_prefix("/sys/devices/")?.to_owned()))
        .collect();
    roots.retain(|name| !name.contains('/'));
    files.folder("/sys/devices", roots);
    for (root, line) in &facts.roots {
        if let Some(folder) = tree.roots.get(root) {
            files.answers.line(folder, *line);
        }
    }
    let types = tree::port_types(&facts, tree);
    files.drives(&mut facts, tree);
    for (address, function) in facts.functions {
        if let Some(folder) = tree.folders.get(&address) {
            files.function(address, &function, folder);
            files.words(address, &function, types.get(&address).copied());
        }
    }
    for (place, line) in &facts.places {
        files.answers.line(place, *line);
    }
    if let Some(first) = facts.messages.front() {
        let log: String = facts.messages.iter().map(|message| message.text.as_str()).collect();
        files.put(messages::PROBE, log.into_bytes(), first.line);
    }
    for message in &facts.messages {
        files.answers.line(&format!("{} {}", messages::PROBE, message.words), message.line);
    }
    for (path, content) in facts.files {
        files.put(&path, content.value, content.line);
    }
    let pasted = Pasted { sizes: files.sizes, ..pasted };
    files.answers.finish(pasted, text)
}

struct Files {
    answers: Answers,
    /// Sizes in the words of the text, by drive.
    sizes: BTreeMap<String, String>,
}

impl Files {
    fn put(&mut self, path: &str, content: Vec<u8>, line: usize) {
        self.answers.line(path, line);
        self.answers.read(path, content);
    }

    /// A file that the text does not show, with the command that would.
    fn lack(&mut self, path: &str, why: String) {
        self.answers.lack(path, why);
    }

    fn link(&mut self, path: &str, target: String, line: usize) {
        self.answers.line(path, line);
        self.answers.link(path, target);
    }

    fn folder(&mut self, path: &str, mut names: Vec<String>) {
        names.sort_unstable();
        self.answers.list(path, names);
    }

    fn function(&mut self, address: PciAddress, function: &Function, folder: &str) {
        self.answers.line(folder, function.line);
        self.folder(folder, Vec::new());
        self.link(&format!("/sys/bus/pci/devices/{address}"), folder.to_owned(), function.line);
        let at = |file: &str| format!("{folder}/{file}");
        let mut number = |file: &str, value: Option<(u32, usize)>, width: usize| {
            if let Some((value, line)) = value {
                self.put(&at(file), format!("0x{value:0width$x}\n").into_bytes(), line);
            }
        };
        let id = |known: Option<Known<u16>>| known.map(|known| (u32::from(known.value), known.line));
        number("class", function.class.map(|known| (known.value, known.line)), 6);
        number("vendor", id(function.vendor), 4);
        number("device", id(function.device), 4);
        let ids = |known: Known<(u16, u16)>| {
            ((u32::from(known.value.0), known.line), (u32::from(known.value.1), known.line))
        };
        let (vendor, device) = function.subsystem.map(ids).unzip();
        number("subsystem_vendor", vendor, 4);
        number("subsystem_device", device, 4);
        if let Some(node) = function.numa_node {
            self.put(&at("numa_node"), format!("{}\n", node.value).into_bytes(), node.line);
        }
        if let Some(group) = function.iommu_group {
            self.link(&at("iommu_group"), format!("/sys/kernel/iommu_groups/{}", group.value), group.line);
        }
        if let Some(driver) = &function.driver {
            self.link(&at("driver"), format!("/sys/bus/pci/drivers/{}", driver.value), driver.line);
        }
        if let Some(slot) = &function.slot {
            self.put(&at("label"), slot.value.to_string().into_bytes(), slot.line);
        }
        if let Some(buses) = function.buses {
            let (secondary, subordinate) = buses.value;
            self.put(&at("secondary_bus_number"), format!("{secondary}\n").into_bytes(), buses.line);
            self.put(&at("subordinate_bus_number"), format!("{subordinate}\n").into_bytes(), buses.line);
        }
        self.links(function, folder);
        self.config(function, folder);
    }

    /// Names and the port's type in words, which no file of sysfs has.
    fn words(&mut self, address: PciAddress, function: &Function, port_type: Option<u8>) {
        let line = |word: &str, text: Option<String>| text.map(|text| format!("{word} {text}\n"));
        let name = |known: &Option<Known<Label>>| known.as_ref().map(|known| known.value.to_string());
        let words = [
            line("device", name(&function.name)),
            line("class", name(&function.class_name)),
            line("port-type", port_type.map(|code| code.to_string())),
            line("registers", registers::stated(function)),
        ];
        let words: String = words.into_iter().flatten().collect();
        self.put(&ids::words_path(address), words.into_bytes(), function.line);
    }

    fn links(&mut self, function: &Function, folder: &str) {
        let Some(express) = &function.express else { return };
        let mut link = |which: &str, words: &Option<Known<LinkWords>>| {
            let Some(Known { value, line }) = words else { return };
            let speed = value
                .speed
                .map_or_else(|| "Unknown".to_owned(), |speed| format!("{:.1} GT/s PCIe", speed.gts()));
            self.put(&format!("{folder}/{which}_link_speed"), format!("{speed}\n").into_bytes(), *line);
            let width = value.width.map_or_else(|| "Unknown".to_owned(), |width| width.to_string());
            self.put(&format!("{folder}/{which}_link_width"), format!("{width}\n").into_bytes(), *line);
        };
        // Integrated endpoints have no link, though lspci prints a LnkCap of zeros.
        if !matches!(express.port_type, Some(9 | 10)) {
            link("max", &express.link_capabilities);
            link("current", &express.link_status);
        }
    }

    fn config(&mut self, function: &Function, folder: &str) {
        let path = format!("{folder}/config");
        let mut line = |register: &str, line: Option<usize>| {
            if let Some(line) = line {
                self.answers.line(&format!("{path} {register}"), line);
            }
        };
        if let Some(words) = &function.express {
            let supported =
                words.payload_supported.map(|it| it.line).or(words.tags_supported.map(|it| it.line));
            line("DevCap", supported);
            line("DevCtl", words.control.map(|it| it.line).or(words.sizes.map(|it| it.line)));
            line("DevCtl MaxPayload", words.sizes.map(|it| it.line));
            line("DevSta", words.link_correctable_error().map(|it| it.line));
            line("LnkCap", words.link_capabilities.map(|it| it.line));
            line("LnkCtl", words.aspm.map(|it| it.line));
            line("LnkSta", words.link_status.map(|it| it.line));
            line("LnkCtl2", words.target_speed.map(|it| it.line));
        }
        let line = function.silent.or(function.denied).or(function.express.as_ref().map(|it| it.line));
        match (registers::config(function), &function.config) {
            (Ok(bytes), _) => self.put(&path, bytes, line.unwrap_or(function.line)),
            (Err(_), Some(dump)) => self.put(&path, dump.value.clone(), dump.line),
            (Err(why), None) => self.lack(&path, why),
        }
    }

    /// Block devices: those that the text names, and one for each NVMe controller that it does not, called after the controller's name
    /// if that is known, else after its function.
    fn drives(&mut self, facts: &mut Facts, tree: &Tree) {
        let mut names = Vec::new();
        let mut folders = BTreeMap::new();
        let mut placed: BTreeSet<PciAddress> = facts.without_drive.clone();
        for (name, drive) in &facts.drives {
            let function = drive.address.filter(|address| tree.folders.contains_key(address));
            placed.extend(function);
            let above = function.and_then(|address| tree.folders.get(&address));
            let above = above.map_or("/sys/devices/unknown", String::as_str);
            let folder = self.drive(
                name,
                drive,
                facts.controller_of.get(name).map_or_else(|| controller_of(name), String::as_str),
                above,
            );
            folders.insert(name.clone(), folder);
            names.push(name.clone());
        }
        let controllers: BTreeMap<PciAddress, &str> =
            facts.controllers.iter().map(|(name, (address, _))| (*address, name.as_str())).collect();
        for (address, function) in &facts.functions {
            let is_open = function.is_nvme() && !placed.contains(address);
            let Some(folder) = tree.folders.get(address).filter(|_| is_open) else {
                continue;
            };
            let short = address.to_string();
            let by_function = || format!("nvme@{}", short.strip_prefix("0000:").unwrap_or(&short));
            let known = controllers.get(address).filter(|name| !facts.drives.contains_key(**name));
            let name = known.map_or_else(by_function, |name| (*name).to_owned());
            let like = facts.like_all.clone().unwrap_or_default();
            self.drive(&name, &DriveFacts { line: function.line, ..like }, &name, folder);
            names.push(name);
        }
        self.folder("/sys/block", names);
        self.blocks(facts, &folders);
    }

    /// Partitions, layers, mounts and swap.
    fn blocks(&mut self, facts: &mut Facts, folders: &BTreeMap<String, String>) {
        let layers = facts.blocks.iter().filter(|(_, block)| block.kind != "part");
        let rounded = |(name, block): (&String, &Block)| Some((name.clone(), block.size?.rounded_words()?));
        self.sizes.extend(layers.filter_map(rounded));
        blocks::make(facts, folders, &mut |path, made, line| match made {
            Made::Names(names) => self.answers.list(path, names),
            Made::File(content) => self.put(path, content.into_bytes(), line),
            Made::Link(target) => {
                self.answers.line(&target, line);
                self.link(path, target, line);
            }
        });
    }

    /// The answer is its folder.
    fn drive(&mut self, name: &str, drive: &DriveFacts, controller: &str, above: &str) -> String {
        let (device, folder) = if name.starts_with("nvme") {
            let controller = format!("{above}/nvme/{controller}");
            let folder = format!("{controller}/{name}");
            (controller, folder)
        } else {
            // Folders of the ports that the kernel's links lead through.
            let port = match drive.transport.as_deref() {
                Some("sata" | "ata") => "/ata1",
                Some("usb") => "/usb1",
                _ => "",
            };
            let device = format!("{above}{port}/device-of-{name}");
            let folder = format!("{device}/block/{name}");
            (device, folder)
        };
        self.link(&format!("/sys/block/{name}"), folder.clone(), drive.line);
        self.folder(&folder, Vec::new());
        self.answers.line(&folder, drive.line);
        self.sizes.extend(drive.rounded_size().map(|words| (name.to_owned(), words)));
        self.link(&format!("{folder}/device"), device.clone(), drive.line);
        let files = drive.files.iter().map(|(file, known)| (&folder, file, known));
        for (base, file, known) in
            files.chain(drive.device_files.iter().map(|(file, known)| (&device, file, known)))
        {
            self.put(&format!("{base}/{file}"), format!("{}\n", known.value).into_bytes(), known.line);
        }
        folder
    }
}

/// The controller's part of an NVMe drive's name.
fn controller_of(name: &str) -> &str {
    let parts =
        name.rsplit_once('n').filter(|(_, number)| number.bytes().all(|digit| digit.is_ascii_digit()));
    parts.map_or(name, |(controller, _)| controller)
}
