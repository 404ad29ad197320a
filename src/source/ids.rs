//! Names of PCI vendors, devices and classes, from the built-in list or the system's newer one.
//!
//! Names are answers to `/probe/pci-ids/VVVV:DDDD` and `/probe/pci-ids/class-CCSS`, so that a capture contains the few
//! it needs. A root without such answers gets those of the built-in database.
//!
//! A scanner of our own: `pci-ids` compiles its list in and cannot read the system's, `pciid-parser` builds maps of
//! maps of the whole list. Startup looks up a few dozen names within 100 ms: one pass of about a millisecond indexes
//! the ids, a name is then a binary search. A screen that stays open keeps these names and gives the lists back.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::Read,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

use super::packed::{Packed, packed};
use crate::{
    machine::pci::Names,
    model::{PciAddress, Reading},
    source::SysRoot,
    text::Label,
};

/// The list of the PCI ID Project (<https://pci-ids.ucw.cz>) as it came with the crate `pci-ids`, under its 3-clause
/// BSD option.
pub(super) const EMBEDDED: Packed = packed!("pci.ids");

/// Paths of distributions' lists.
const SYSTEM: [&str; 4] = [
    "/usr/share/misc/pci.ids",
    "/usr/share/hwdata/pci.ids",
    "/usr/share/pci.ids",
    "/var/lib/pciutils/pci.ids",
];

/// The head of a list, which holds its date.
const HEAD: u64 = 4096;

/// What was read of lists.
static LISTS: Mutex<Lists> = Mutex::new(Lists::new());

#[derive(Debug)]
struct Lists {
    /// 2 MiB with its index.
    built_in: Option<Arc<Database>>,
    /// The newer one of the built-in list and the system's.
    newest: Option<Arc<Database>>,
    /// Answers about this machine, by path: a reading of it asks the same again.
    answers: BTreeMap<String, Vec<u8>>,
}

fn lists() -> MutexGuard<'static, Lists> {
    LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lists {
    const fn new() -> Self {
        Self { built_in: None, newest: None, answers: BTreeMap::new() }
    }

    fn built_in(&mut self) -> Arc<Database> {
        let read = || Arc::new(Database::new(EMBEDDED.text()));
        Arc::clone(self.built_in.get_or_insert_with(read))
    }

    fn newest(&mut self) -> Arc<Database> {
        let known = self.newest.clone().or_else(|| Database::newer().map(Arc::new));
        let list = known.unwrap_or_else(|| self.built_in());
        self.newest = Some(Arc::clone(&list));
        list
    }

    fn answer(&mut self, question: &str) -> Option<Vec<u8>> {
        let parse = |digits: &str| hex(digits.as_bytes(), 4).filter(|_| digits.len() == 4);
        let line =
            |word: &str, name: Option<Label>| name.map_or(String::new(), |name| format!("{word} {name}\n"));
        if let Some(known) = self.answers.get(question) {
            return Some(known.clone());
        }
        let answer = if let Some(class) = question.strip_prefix("class-") {
            let class = u32::from(parse(class)?) << 8;
            line("class", self.newest().class(class))
        } else {
            let (vendor, device) = question.split_once(':')?;
            let (vendor, device) = (parse(vendor)?, parse(device)?);
            let list = self.newest();
            line("vendor", list.vendor(vendor)) + &line("device", list.device(vendor, device))
        };
        self.answers.insert(question.to_owned(), answer.clone().into_bytes());
        Some(answer.into_bytes())
    }

    fn forget(&mut self) {
        (self.built_in, self.newest) = (None, None);
    }
}

fn built_in() -> Arc<Database> {
    lists().built_in()
}

/// Gives back the memory of the lists; names that were answered are kept.
pub(crate) fn forget_lists() {
    lists().forget();
}

/// A list of ids in the format of `pci.ids`.
#[derive(Debug)]
struct Database {
    text: Vec<u8>,
    /// Offsets of lines, sorted by id.
    index: Vec<(Id, usize)>,
}

/// A vendor and its device, or a class and its subclass; ordered as published lists are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    Vendor(u16, Option<u16>),
    Class(u16, Option<u16>),
}

impl Database {
    /// Indexes a list. Malformed lines are skipped.
    fn new(text: Vec<u8>) -> Self {
        let mut index = Vec::new();
        let mut block = None;
        let mut at = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let id = match (line, block) {
                ([b'#' | b'\n', ..] | [b'\t', b'\t', ..], _) => None,
                ([b'\t', rest @ ..], Some(Id::Vendor(vendor, _))) => {
                    hex(rest, 4).map(|device| Id::Vendor(vendor, Some(device)))
                }
                ([b'\t', rest @ ..], Some(Id::Class(class, _))) => {
                    hex(rest, 2).map(|subclass| Id::Class(class, Some(subclass)))
                }
                ([b'C', b' ', rest @ ..], _) => {
                    block = hex(rest, 2).map(|class| Id::Class(class, None));
                    block
                }
                (line, _) => {
                    block = hex(line, 4).map(|vendor| Id::Vendor(vendor, None));
                    block
                }
            };
            index.extend(id.map(|id| (id, at)));
            at += line.len();
        }
        // Cheap: the published list is sorted already.
        index.sort_unstable();
        Self { text, index }
    }

    /// The system's list if its `Date:` is later than the built-in one's. Reads this machine's files.
    fn newer() -> Option<Self> {
        let embedded = date(&EMBEDDED.head(HEAD));
        let later = SYSTEM
            .into_iter()
            .filter_map(|path| Some((date(&read_most(path, HEAD)?)?, path)))
            .filter(|(date, _)| Some(date) > embedded.as_ref());
        let (_, path) = later.max()?;
        read_most(path, crate::source::root::MOST_BYTES as u64).map(Self::new)
    }

    fn vendor(&self, vendor: u16) -> Option<Label> {
        self.name(Id::Vendor(vendor, None))
    }

    fn device(&self, vendor: u16, device: u16) -> Option<Label> {
        self.name(Id::Vendor(vendor, Some(device)))
    }

    /// The name of class and subclass (`class` is 24 bits, the interface is left out); the class's alone where the list
    /// has no such subclass.
    fn class(&self, class: u32) -> Option<Label> {
        let [_, subclass, base, _] = class.to_le_bytes().map(u16::from);
        self.name(Id::Class(base, Some(subclass))).or_else(|| self.name(Id::Class(base, None)))
    }

    fn index_of(&self, id: Id) -> Option<usize> {
        self.index.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    fn name(&self, id: Id) -> Option<Label> {
        let found = self.index_of(id)?;
        // `144d`, `\ta80a`, `C 01`, `\t08`.
        let id_length = match id {
            Id::Vendor(_, None) | Id::Class(_, None) => 4,
            Id::Vendor(_, Some(_)) => 5,
            Id::Class(_, Some(_)) => 3,
        };
        let rest = self.text.get(self.index[found].1 + id_length..)?;
        let line = rest.split(|byte| *byte == b'\n').next()?.strip_prefix(b" ")?;
        Some(Label::from_bytes(line)).filter(|label| !label.is_empty())
    }
}

/// Names of vendor, device and class (24 bits) in a list in the format of `pci.ids`.
pub fn names_in(list: &[u8], vendor: u16, device: u16, class: u32) -> [Option<Label>; 3] {
    let list = Database::new(list.to_vec());
    [list.vendor(vendor), list.device(vendor, device), list.class(class)]
}

/// What an opened text calls a function, and the type of its port: lines `device NAME`, `class NAME`, `port-type N`.
pub(super) fn words_path(address: PciAddress) -> String {
    format!("/probe/pci-words/{address}")
}

/// The same of a root that was made from texts; empty for others.
pub(super) fn words(root: &dyn SysRoot, address: PciAddress) -> Vec<u8> {
    if root.pasted().is_none() {
        return Vec::new();
    }
    root.read(&words_path(address)).unwrap_or_default()
}

/// Names in the words of a text; those of the id lists stay where the text has ids alone.
pub(super) fn complete(names: &mut Names, words: &[u8]) {
    names.class = answered(words, "class ").or_else(|| names.class.take());
    let Some(text) = answered(words, "device ") else { return };
    let text = text.as_str();
    if let Some(vendor) = without_name(text) {
        // Lists rename vendors: the text's name is that of its lspci's list.
        let is_unknown = names.vendor.is_none();
        if !vendor.is_empty() {
            names.vendor = Some(Label::new(vendor));
        }
        // The id of a device is unknown too where the list does not have its vendor.
        if is_unknown {
            names.device =
                names.device.take().or_else(|| Some(Label::new(text[vendor.len()..].trim_start())));
        }
        return;
    }
    let list = |name: &Option<Label>| name.as_ref().map_or_else(String::new, ToString::to_string);
    match split(text, &list(&names.vendor), &list(&names.device)) {
        Some((vendor, "")) => names.vendor = Some(Label::new(vendor)),
        Some((vendor, device)) => {
            (names.vendor, names.device) = (Some(Label::new(vendor)), Some(Label::new(device)));
        }
        None => (names.vendor, names.device) = (None, Some(Label::new(text))),
    }
}

/// What stands before the id of a device without a name: `Intel Corporation Device 9a04`.
fn without_name(text: &str) -> Option<&str> {
    let (before, digits) = text.rsplit_once(' ')?;
    hex(digits.as_bytes(), 4).filter(|_| digits.len() == 4)?;
    let vendor = before.strip_suffix("Device").or_else(|| before.strip_suffix("Unknown device"))?;
    (vendor.is_empty() || vendor.ends_with(' ')).then(|| vendor.trim_end())
}

/// Vendor and device of a name in which they stand one behind the other, by one of them in the id list: lists of other
/// versions call them differently.
fn split<'a>(text: &'a str, vendor: &str, device: &str) -> Option<(&'a str, &'a str)> {
    let is_between = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    let behind = text.strip_prefix(vendor).filter(|rest| !vendor.is_empty() && is_between(rest));
    if let Some(rest) = behind {
        return Some((&text[..vendor.len()], rest.trim_start()));
    }
    let before = text.strip_suffix(device).filter(|rest| !device.is_empty() && rest.ends_with(' '))?;
    Some((before.trim_end(), &text[before.len()..]))
}

/// The device/port type in the words of a text.
pub(super) fn port_type(words: &[u8]) -> Option<u8> {
    answered(words, "port-type ")?.as_str().parse().ok()
}

/// The registers of the PCI Express capability that a text states, where it lacks some.
pub(super) fn registers(words: &[u8]) -> Option<Label> {
    answered(words, "registers ")
}

/// Ids by the names of the built-in list. `Device a80a` behind a vendor's name is an id itself; a name that several ids have gives none.
///
/// Vendors rename and sell themselves: a name that several vendors have, or whose device another vendor of a like name has, gives no
/// vendor.
pub(super) fn of_name(text: &str) -> (Option<u16>, Option<u16>) {
    let index = &*BY_NAME;
    let list = built_in();
    let ends = text.match_indices(' ').map(|(at, _)| at).chain([text.len()]).take(24);
    let found: Vec<Split> = ends.flat_map(|end| index.vendors_at(text, end)).collect();
    let has_device = |vendor: u16, split: &Split| match split.by_id {
        Some(id) => list.index_of(Id::Vendor(vendor, Some(id))).is_some(),
        None => index.devices.contains_key(&(vendor, split.rest.to_owned())),
    };
    let ids = |split: &Split| {
        let by_name = || index.devices.get(&(split.vendor, split.rest.to_owned())).copied().flatten();
        (Some(split.vendor), split.by_id.or_else(by_name))
    };
    // The longest vendor's name counts, unless a shorter one has the device.
    let listed: Vec<&Split> = found.iter().filter(|split| has_device(split.vendor, split)).collect();
    let all: Vec<&Split> = if listed.is_empty() { found.iter().collect() } else { listed.clone() };
    let longest = all.iter().map(|split| split.rest.len()).min();
    let mut longest = all.into_iter().filter(|split| Some(split.rest.len()) == longest);
    let (Some(split), None) = (longest.next(), longest.next()) else { return (None, None) };
    let is_others = || {
        let mut like = index.vendors_like(split.name);
        // `Toshiba America` and `Info Systems Device 0115`: the vendor's name goes on.
        split.by_id.is_none() && without_name(split.rest).is_some()
            || like.any(|vendor| vendor != split.vendor && has_device(vendor, split))
    };
    if listed.is_empty() && is_others() { (None, None) } else { ids(split) }
}

/// Whether a text is the name of a vendor and of one or several of its devices in the built-in list.
pub(super) fn is_name(text: &str) -> bool {
    let index = &*BY_NAME;
    let ends = text.match_indices(' ').map(|(at, _)| at).take(24);
    let has_device = |split: Split| index.devices.contains_key(&(split.vendor, split.rest.to_owned()));
    ends.into_iter().any(|end| index.vendors_at(text, end).any(has_device))
}

/// A text behind the name of a vendor in the list.
struct Split<'a> {
    vendor: u16,
    name: &'a str,
    /// What follows.
    rest: &'a str,
    /// The id in it: `Device a80a`.
    by_id: Option<u16>,
}

/// Class and subclass by a name of the built-in list.
pub(super) fn class_of_name(name: &str) -> Option<u16> {
    BY_NAME.classes.get(name).copied()
}

/// The built-in list's name of a device.
pub(super) fn built_in_name(vendor: u16, device: u16) -> Option<Label> {
    built_in().device(vendor, device)
}

/// The built-in list by name.
struct ByName {
    /// Sorted by name; several vendors may have one name.
    vendors: Vec<(String, u16)>,
    /// Vendors by each word of their names, in lower case.
    by_word: HashMap<String, Vec<u16>>,
    /// `None` for a name that several ids have.
    devices: HashMap<(u16, String), Option<u16>>,
    classes: HashMap<String, u16>,
}

impl ByName {
    /// The vendors whose name has the first word of this one.
    fn vendors_like(&self, name: &str) -> impl Iterator<Item = u16> {
        let first = name.split(' ').next().unwrap_or(name).to_ascii_lowercase();
        self.by_word.get(&first).into_iter().flatten().copied()
    }

    /// The vendors with the name in front of `end`.
    fn vendors_at<'a>(&self, text: &'a str, end: usize) -> impl Iterator<Item = Split<'a>> {
        let (name, rest) = (&text[..end], text[end..].trim());
        let by_id = ["Device ", "Unknown device "]
            .iter()
            .find_map(|word| rest.strip_prefix(word))
            .and_then(|digits| hex(digits.as_bytes(), 4).filter(|_| digits.len() == 4));
        let first = self.vendors.partition_point(|(known, _)| known.as_str() < name);
        let same = self.vendors[first..].iter().take_while(move |(known, _)| known == name);
        same.map(move |(_, vendor)| Split { vendor: *vendor, name, rest, by_id })
    }
}

static BY_NAME: LazyLock<ByName> = LazyLock::new(|| {
    let list = built_in();
    let mut by_name = ByName {
        vendors: Vec::new(),
        by_word: HashMap::new(),
        devices: HashMap::new(),
        classes: HashMap::new(),
    };
    for (id, _) in &list.index {
        let Some(name) = list.name(*id).map(|name| name.to_string()) else { continue };
        match *id {
            Id::Vendor(vendor, None) => {
                let words = name.split(|c: char| !c.is_ascii_alphanumeric());
                for word in words.filter(|word| !word.is_empty()) {
                    by_name.by_word.entry(word.to_ascii_lowercase()).or_default().push(vendor);
                }
                by_name.vendors.push((name, vendor));
            }
            Id::Vendor(vendor, Some(device)) => {
                by_name
                    .devices
                    .entry((vendor, name))
                    .and_modify(|known| *known = None)
                    .or_insert(Some(device));
            }
            // A base class gives its name to subclasses without one.
            Id::Class(base, None) => _ = by_name.classes.entry(name).or_insert(base << 8),
            Id::Class(base, Some(subclass)) => _ = by_name.classes.insert(name, (base << 8) | subclass),
        }
    }
    by_name.vendors.sort_unstable();
    by_name
});

/// Names of these ids: the root's answers, else the built-in list's.
pub(super) fn names(
    root: &dyn SysRoot,
    vendor: &Reading<u16>,
    device: &Reading<u16>,
    class: &Reading<u32>,
) -> Names {
    let (vendor, device) = (vendor.get(), device.get());
    let mut names = Names::default();
    // A text may name a device that the list does not have: only its vendor's id is known.
    if root.pasted().is_some() {
        names.vendor = vendor.and_then(|vendor| built_in().vendor(vendor));
    }
    if let (Some(vendor), Some(device)) = (vendor, device) {
        if let Ok(answer) = root.read(&format!("{PROBE}{vendor:04x}:{device:04x}")) {
            names.vendor = answered(&answer, "vendor ");
            names.device = answered(&answer, "device ");
        } else {
            let list = built_in();
            (names.vendor, names.device) = (list.vendor(vendor), list.device(vendor, device));
        }
    }
    names.class =
        class.get().and_then(|class| match root.read(&format!("{PROBE}class-{:04x}", class >> 8)) {
            Ok(answer) => answered(&answer, "class "),
            Err(_) => built_in().class(class),
        });
    names
}

const PROBE: &str = "/probe/pci-ids/";

/// This machine's answer to a pseudo-path: lines `vendor NAME`, `device NAME`, `class NAME`, without unknown ones;
/// `None` for other paths.
pub(super) fn answer(path: &str) -> Option<Vec<u8>> {
    lists().answer(path.strip_prefix(PROBE)?)
}

fn answered(answer: &[u8], word: &str) -> Option<Label> {
    let line = answer.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(word.as_bytes()))?;
    Some(Label::from_bytes(line)).filter(|label| !label.is_empty())
}

/// `2025-07-11 03:15:02` of the line `#  Date:`, which sorts as text.
fn date(list: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&list[..list.len().min(4096)]).into_owned();
    let line = head.lines().find_map(|line| line.strip_prefix('#')?.trim().strip_prefix("Date:"))?;
    let date = line.trim();
    let starts_with_year = date.len() >= 10 && date.bytes().take(4).all(|byte| byte.is_ascii_digit());
    starts_with_year.then(|| date.to_owned())
}

fn read_most(path: &str, most: u64) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Parses the first `digits` hexadecimal digits.
fn hex(text: &[u8], digits: usize) -> Option<u16> {
    let head = text.get(..digits).filter(|head| head.iter().all(u8::is_ascii_hexdigit))?;
    u16::from_str_radix(std::str::from_utf8(head).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_built_in_list_knows_the_drives_and_bridges_of_the_trade() {
        let list = built_in();
        assert_eq!(list.vendor(0x144d).unwrap(), "Samsung Electronics Co Ltd");
        assert_eq!(list.device(0x144d, 0xa80a).unwrap(), "NVMe SSD Controller PM9A1/PM9A3/980PRO");
        assert_eq!(list.device(0x1022, 0x1480).unwrap(), "Starship/Matisse Root Complex");
        assert_eq!(list.class(0x01_08_02).unwrap(), "Non-Volatile memory controller");
        assert_eq!(list.class(0x01_fe_00).unwrap(), "Mass storage controller");
        assert_eq!(list.device(0x144d, 0xa8ff), None);
        assert_eq!(list.vendor(0x0002), None);
        assert_eq!(list.class(0x7e_00_00), None);
    }

    #[test]
    fn a_device_is_looked_for_among_its_vendors_own_and_not_in_subsystems() {
        let list = Database::new(
            b"1111  One\n\taaaa  A\n\t\t2222 bbbb  not a device\n# remark\n\n2222  Two\n\tbbbb  B\n\nC 01  Store\n\t08  NVM\n"
                .to_vec(),
        );
        assert_eq!(list.device(0x1111, 0xaaaa).unwrap(), "A");
        assert_eq!(list.device(0x1111, 0xbbbb), None);
        assert_eq!(list.device(0x2222, 0xbbbb).unwrap(), "B");
        assert_eq!(list.class(0x01_08_00).unwrap(), "NVM");
    }

    #[test]
    fn dates_sort_and_nonsense_has_none() {
        let embedded = date(&EMBEDDED.head(HEAD));
        assert_eq!(embedded.as_deref(), Some("2025-07-11 03:15:02"));
        assert!(date(b"#\tDate:    2026-01-02 03:15:02\n") > embedded);
        assert_eq!(date(b"#\tDate:    soon\n"), None);
        assert_eq!(date(b""), None);
    }

    #[test]
    fn answers_say_what_names_reads() {
        let answer = answer("/probe/pci-ids/144d:a80a").unwrap();
        assert_eq!(answered(&answer, "vendor ").unwrap(), "Samsung Electronics Co Ltd");
        assert!(super::answer("/probe/pci-ids/class-0108").unwrap().starts_with(b"class Non-Volatile"));
        assert_eq!(super::answer("/probe/pci-ids/0002:0001").unwrap(), b"");
        assert_eq!(super::answer("/probe/pci-ids/144d"), None);
        assert_eq!(super::answer("/probe/io_uring"), None);
    }

    #[test]
    fn names_that_were_answered_are_kept_without_the_lists() {
        let mut lists = Lists::new();
        let first = lists.answer("144d:a80c").unwrap();
        assert!(first.starts_with(b"vendor Samsung"));
        lists.forget();
        assert!(lists.built_in.is_none() && lists.newest.is_none());
        assert_eq!(lists.answer("144d:a80c").unwrap(), first);
        assert!(lists.built_in.is_none() && lists.newest.is_none(), "no list is read for it");
        assert!(lists.answer("class-0108").unwrap().starts_with(b"class Non-Volatile"), "read again");
    }

    #[test]
    fn a_vendor_of_an_ambiguous_name_is_not_guessed() {
        for (text, vendor, device) in [
            ("Samsung Electronics Co Ltd Device a8ff", Some(0x144d), Some(0xa8ff)),
            ("Western Digital Ultrastar SN200 Series NVMe SSD", None, None),
            ("Marvell Technology Group Ltd. Device 9235", Some(0x1b4b), Some(0x9235)),
            ("Marvell Technology Group Ltd. Device ffee", None, None),
            ("Adaptec Device 028f", Some(0x9005), Some(0x028f)),
            ("Broadcom Corporation Device 16d7", None, None),
            ("LSI Logic / Symbios Logic Device 00ab", None, None),
            ("LSI Logic / Symbios Logic MegaRAID SAS-3 3108 [Invader]", None, None),
            ("Toshiba America Info Systems Device 0115", None, None),
            ("Hynix Semiconductor Device 1527", None, None),
            ("SK hynix Device 1527", Some(0x1c5c), Some(0x1527)),
            ("Intel Corporation of no such name", Some(0x8086), None),
            ("Broadcom / LSI MegaRAID SAS-3 3108 [Invader]", Some(0x1000), Some(0x005d)),
        ] {
            assert_eq!(of_name(text), (vendor, device), "{text}");
        }
    }

    #[test]
    fn a_texts_own_names_come_before_those_of_the_list() {
        let list = || Names {
            vendor: Some(Label::new("KIOXIA Corporation")),
            device: Some(Label::new("NVMe SSD Controller BG4")),
            class: Some(Label::new("Non-Volatile memory controller")),
        };
        for (text, vendor, device) in [
            ("KIOXIA Corporation NVMe SSD BG4 (old)", Some("KIOXIA Corporation"), "NVMe SSD BG4 (old)"),
            ("Toshiba America NVMe SSD Controller BG4", Some("Toshiba America"), "NVMe SSD Controller BG4"),
            ("Toshiba America Info Systems BG4", None, "Toshiba America Info Systems BG4"),
            ("KIOXIA Corporation Device 0001", Some("KIOXIA Corporation"), "NVMe SSD Controller BG4"),
            ("Toshiba Unknown device 0001", Some("Toshiba"), "NVMe SSD Controller BG4"),
            ("Device 0001", Some("KIOXIA Corporation"), "NVMe SSD Controller BG4"),
            ("KIOXIA Corporation", Some("KIOXIA Corporation"), "NVMe SSD Controller BG4"),
        ] {
            let mut names = list();
            complete(&mut names, format!("device {text}\nclass Mass storage\n").as_bytes());
            assert_eq!(names.vendor.as_ref().map(Label::as_str), vendor, "{text}");
            assert_eq!(names.device.unwrap(), device, "{text}");
            assert_eq!(names.class.unwrap(), "Mass storage");
        }
        let mut unknown = Names::default();
        complete(&mut unknown, b"device SpacemiT Device 0002\n");
        assert_eq!(
            (unknown.vendor.unwrap(), unknown.device.unwrap()),
            ("SpacemiT".into(), "Device 0002".into())
        );
        let mut names = list();
        complete(&mut names, b"");
        assert_eq!(names, list());
    }

    proptest! {
        #[test]
        fn any_text_is_a_list(text in prop::collection::vec(any::<u8>(), 0..600), vendor: u16, device: u16) {
            let list = Database::new(text.clone());
            let named = [list.vendor(vendor), list.device(vendor, device), list.class(u32::from(device) << 8)];
            prop_assert!(named.iter().flatten().all(|name| name.as_str().len() <= 3 * text.len()));
        }
    }
}
