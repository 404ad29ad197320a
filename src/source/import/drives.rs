//! Drives of several listings: names, sizes, and the PCI function that each belongs to.

use std::collections::{BTreeMap, BTreeSet};

pub(super) use super::facts::Size;
use super::{
    facts::{DriveFacts, Facts, Known, Rounding, learn},
    makers::{Makers, is_sold_as},
};
use crate::{model::PciAddress, text::Label};

/// Class of NVMe controllers.
const NVM: u32 = 0x0108;

/// Its programming interface.
const NVM_EXPRESS: u32 = 0x02;

/// Controllers and functions that are compared: large texts have too many pairs, and no unambiguous ones.
const MOST_COMPARED: usize = 64;

/// Without `/dev/`, which people also type as `dev/`.
pub(super) fn short(word: &str) -> &str {
    word.strip_prefix('/').unwrap_or(word).strip_prefix("dev/").unwrap_or(word)
}

/// `nvme0`.
pub(super) fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(is_number)
}

/// `nvme0n1`, also the path device `nvme0c0n1`.
pub(super) fn is_namespace(name: &str) -> bool {
    let Some((controller, space)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) else {
        return false;
    };
    let is_numbers = |text: &str| {
        text.split_once('c').map_or_else(|| is_number(text), |(a, b)| is_number(a) && is_number(b))
    };
    is_numbers(controller) && is_number(space)
}

fn is_number(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A kernel name of a block device, which becomes a folder's name.
pub(super) fn drive_name(name: &str) -> Option<String> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    (starts && is_plain && name.len() <= 32).then(|| name.to_owned())
}

/// `1.00 TB`, `931,5 GiB`, `512 B`.
pub(super) fn size_of(number: &str, unit: &str) -> Option<Size> {
    let (unit, _) = unit_of(unit.trim_end_matches([')', ',']))?;
    rounded(number, unit, 0)
}

/// The factor of a unit and the number of its letters: `TB` is 10^12, `TiB` 2^40.
fn unit_of(unit: &str) -> Option<(u64, usize)> {
    const LETTERS: &str = "KMGTPE";
    let rest = unit.strip_suffix('B')?;
    let (letter, base) = match rest.strip_suffix('i') {
        Some(letter) => (letter, 1024_u64),
        None => (rest, 1000),
    };
    if letter.is_empty() {
        return (base == 1000).then_some((1, 0));
    }
    let power = LETTERS.find(&letter.to_ascii_uppercase()).filter(|_| letter.len() == 1)?;
    Some((base.pow(u32::try_from(power).ok()? + 1), letter.len()))
}

/// `931.5G` of lsblk: powers of two, rounded to one digit behind the point, which is not printed if it is zero.
pub(super) fn lsblk_size(word: &str) -> Option<Size> {
    if let Ok(bytes) = word.parse() {
        return Some(Size { bytes, rounding: None });
    }
    let at = word.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = word.split_at(at);
    let power = "BKMGTPE".find(unit).filter(|_| unit.len() == 1)?;
    rounded(number, 1024_u64.pow(u32::try_from(power).ok()?), 1)
}

/// A number of units with at least that many digits behind the point.
fn rounded(number: &str, unit: u64, least: u8) -> Option<Size> {
    let printed = number.split_once(['.', ',']).map_or(0, |(_, digits)| digits.len());
    let digits = u8::try_from(printed).ok()?.max(least);
    Some(Size { bytes: scaled(number, unit)?, rounding: (unit > 1).then_some(Rounding { unit, digits }) })
}

/// A number with a decimal point or comma times a factor.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let is_plain =
        number.len() <= 20 && number.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
    let value: f64 = number.replace(',', ".").parse().ok().filter(|_| is_plain)?;
    let bytes = (value * factor as f64).round();
    // 2^60 bytes, more than any drive has.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in range")]
    let whole = (bytes < 1_152_921_504_606_846_976.0).then_some(bytes as u64);
    whole
}

/// Sets a file of a drive's folder; an empty one is not stated.
pub(super) fn put(facts: &mut Facts, drive: &str, file: &str, content: String, line: usize) {
    if !content.trim().is_empty() {
        facts.drive(drive, line).files.entry(file.to_owned()).or_insert(Known { value: content, line });
    }
}

/// Sets a file of a drive's device or controller; one that contradicts an earlier listing is noted.
pub(super) fn put_device(facts: &mut Facts, drive: &str, file: &str, content: &str, line: usize) {
    let content = content.trim();
    if content.is_empty() {
        return;
    }
    let files = &mut facts.drive(drive, line).device_files;
    let Some(known) = files.get(file) else {
        files.insert(file.to_owned(), Known { value: content.to_owned(), line });
        return;
    };
    if agrees(&known.value, content) {
        return;
    }
    let (first, value) = (known.line, known.value.clone());
    let word = match file {
        "model" => "model",
        "serial" => "serial number",
        _ => "firmware",
    };
    facts.notes.unused(line, &format!("its {word} contradicts line {first}"));
    // Serial numbers are not repeated.
    facts.contradiction(if file == "serial" {
        format!("{drive} has another {word} in line {line} than in line {first}: line {first} is used.")
    } else {
        let [known, stated] = [&value, content].map(Label::new);
        format!("{drive} has the {word} {known} in line {first} and {stated} in line {line}: line {first} is used.")
    });
}

/// Whether two words may be the same: listings cut them, leave the vendor out, or write `_` for blanks, and people mask them.
pub(super) fn agrees(known: &str, stated: &str) -> bool {
    let is_masked = |text: &str| ["xxx", "redacted"].iter().any(|mask| text.contains(mask));
    let [known, stated] = [known, stated].map(squeezed);
    let is_part = known.contains(&stated) || stated.contains(&known);
    is_part || is_masked(&known) || is_masked(&stated)
}

impl Facts {
    /// Notes that listings contradict each other about a drive; the first of them are named.
    pub fn contradiction(&mut self, sentence: String) {
        const MOST: usize = 8;
        if self.contradictions.len() < MOST {
            self.contradictions.push(sentence);
        }
    }

    /// The drive of that name, made if it is new.
    pub fn drive(&mut self, name: &str, line: usize) -> &mut DriveFacts {
        self.drives.entry(name.to_owned()).or_insert_with(|| DriveFacts { line, ..DriveFacts::default() })
    }
}

/// `nvme0` of `nvme0n1`.
fn before_number(namespace: &str) -> Option<&str> {
    Some(namespace.rsplit_once('n')?.0)
}

/// Whether a drive is a namespace of this controller.
pub(super) fn is_of_controller(facts: &Facts, drive: &str, controller: &str) -> bool {
    facts.controller_of.get(drive).map_or_else(
        || is_namespace(drive) && before_number(drive) == Some(controller),
        |of| of == controller,
    )
}

/// Joins drives with functions: by the controller's address, else where one candidate is left on both sides. What could not
/// be joined is said.
pub(super) fn join(facts: &mut Facts) {
    // The driver nvme binds to this class alone, so a text without lspci has these functions too.
    for (address, line) in facts.controllers.values().copied().collect::<Vec<_>>() {
        learn(&mut facts.function(address, line).class, (NVM << 8) | NVM_EXPRESS, line);
    }
    let renamed = by_subsystem(facts);
    let controllers: BTreeMap<String, PciAddress> =
        facts.controllers.iter().map(|(name, (address, _))| (name.clone(), *address)).collect();
    for (name, drive) in &mut facts.drives {
        let number =
            |name: &str| Some(name.split_once('n').and_then(|_| name.rsplit_once('n'))?.0.to_owned());
        let controller =
            facts.controller_of.get(name).cloned().or_else(|| number(name).filter(|_| is_namespace(name)));
        let controller = controller.filter(|_| !renamed.contains(name));
        let by_address = controller.and_then(|controller| controllers.get(&controller).copied());
        drive.address = drive.address.or(by_address);
    }
    let is_nvme = |name: &String| is_namespace(name);
    let controller_of = |name: &str| before_number(name).unwrap_or(name).to_owned();
    let open: BTreeSet<String> = facts
        .drives
        .iter()
        .filter(|(name, drive)| is_nvme(name) && drive.address.is_none())
        .map(|(name, _)| controller_of(name))
        .collect();
    if open.is_empty() {
        return;
    }
    let taken: BTreeSet<PciAddress> = facts.drives.values().filter_map(|drive| drive.address).collect();
    let free: Vec<PciAddress> = facts
        .functions
        .iter()
        .filter(|(address, function)| {
            function.class.is_some_and(|class| class.value >> 8 == NVM) && !taken.contains(address)
        })
        .map(|(address, _)| *address)
        .collect();
    let mut joined: BTreeMap<String, PciAddress> = BTreeMap::new();
    by_model(facts, &open, &free, &mut joined);
    by_maker(facts, &open, &free, &mut joined);
    for (name, drive) in &mut facts.drives {
        if drive.address.is_none() && is_namespace(name) {
            drive.address = joined.get(&controller_of(name)).copied();
        }
    }
    let lost: Vec<&String> = open.iter().filter(|controller| !joined.contains_key(*controller)).collect();
    let used: BTreeSet<PciAddress> = joined.values().copied().collect();
    let left: Vec<PciAddress> = free.into_iter().filter(|address| !used.contains(address)).collect();
    if lost.is_empty() || left.is_empty() {
        return;
    }
    let names: Vec<&str> = lost.iter().take(8).map(|name| name.as_str()).collect();
    let more = if lost.len() > names.len() { ", ..." } else { "" };
    let names = format!("{}{more}", names.join(", "));
    let lost: BTreeSet<String> = lost.into_iter().cloned().collect();
    let is_same_number = lost.len() == left.len() && may_be_all(facts, &lost, &left);
    if is_same_number && merge(facts, &lost) {
        facts.lacks.push(format!(
            "Drives {names} are shown by their address: `nvme list -v` or `ls -l /sys/block` shows which is which."
        ));
    } else if is_same_number && in_order(facts, &lost, &left) {
        facts.lacks.push(format!(
            "Drives {names} are matched in order of address, which is not certain: `nvme list -v` or `ls -l /sys/block` shows which is which."
        ));
    } else {
        let mut sentence = format!(
            "No text states the PCI address of {names}: `nvme list -v` or `ls -l /sys/block` shows it."
        );
        sentence.extend(listed_twice(facts, &lost, left));
        facts.lacks.push(sentence);
    }
}

/// Gives namespaces the controller of their subsystem, whose number they have in their names; that of its controller may be another.
/// The answer are those of several such controllers, of which none is known to be the one.
fn by_subsystem(facts: &mut Facts) -> BTreeSet<String> {
    let mut unknown = BTreeSet::new();
    for name in facts.drives.keys().filter(|name| is_namespace(name)) {
        let number = before_number(name).and_then(|controller| controller.strip_prefix("nvme")?.parse().ok());
        let Some(controllers) = number.and_then(|number: u32| facts.subsystems.get(&number)) else {
            continue;
        };
        let mut others = controllers.iter();
        match (others.next(), others.next()) {
            _ if controllers.iter().any(|controller| before_number(name) == Some(controller)) => {}
            _ if facts.controller_of.contains_key(name) => {}
            (Some(only), None) => _ = facts.controller_of.insert(name.clone(), only.clone()),
            _ => _ = unknown.insert(name.clone()),
        }
    }
    unknown
}

/// Gives these controllers these functions in the order of numbers and addresses, in which the kernel mostly finds them. Not where
/// a known controller is out of order, or where a pair has different makers.
fn in_order(facts: &mut Facts, lost: &BTreeSet<String>, left: &[PciAddress]) -> bool {
    // `nvme0c0`, a path of a subsystem, has none.
    let number = |controller: &str| controller.strip_prefix("nvme")?.parse::<u32>().ok();
    let Some(lost) = lost.iter().map(|name| number(name)).collect::<Option<BTreeSet<u32>>>() else {
        return false;
    };
    let found: BTreeMap<u32, PciAddress> = lost.into_iter().zip(left.iter().copied()).collect();
    let named = facts.controllers.iter().filter_map(|(name, (address, _))| Some((number(name)?, *address)));
    let of_drive =
        |(name, drive): (&String, &DriveFacts)| Some((number(before_number(name)?)?, drive.address?));
    let known = named.chain(facts.drives.iter().filter_map(of_drive));
    let all: BTreeMap<u32, PciAddress> = known.chain(found.clone()).collect();
    let fits = |(number, address): (&u32, &PciAddress)| may_be(facts, &format!("nvme{number}"), *address);
    if !all.values().is_sorted() || !found.iter().all(fits) {
        return false;
    }
    for (name, drive) in &mut facts.drives {
        let controller = before_number(name).and_then(number);
        let address = controller.and_then(|number| found.get(&number).copied());
        drive.address = drive.address.or(address);
    }
    true
}

/// Gives functions no drive of their own where each may be one of these controllers, and nothing but the name is known of
/// them; the answer is a sentence about them.
fn listed_twice(facts: &mut Facts, lost: &BTreeSet<String>, mut left: Vec<PciAddress>) -> Option<String> {
    const MOST_NAMED: usize = 8;
    left.retain(|address| lost.iter().any(|controller| may_be(facts, controller, *address)));
    let mut names: Vec<String> = left.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    if left.len() > MOST_NAMED {
        names.push("...".to_owned());
    }
    let names = names.join(", ");
    let has_link = |address: &PciAddress| {
        facts.functions.get(address).is_some_and(|it| it.express.is_some() || it.config.is_some())
    };
    if left.is_empty() {
        None
    } else if left.len() <= lost.len() && !left.iter().any(has_link) {
        facts.without_drive.extend(left);
        Some(format!(" They include the drives at {names}."))
    } else {
        Some(format!(" Drives at {names} may be listed twice: by name and by address."))
    }
}

/// The makers that the model of a controller's drive names.
fn makers_of_model(facts: &Facts, controller: &str) -> Makers {
    Makers::of_text(model_of(facts, controller).unwrap_or_default())
}

fn makers_at(facts: &Facts, address: PciAddress) -> Makers {
    facts.functions.get(&address).map_or_else(|| Makers::of_text(""), Makers::of_function)
}

fn model_of<'a>(facts: &'a Facts, controller: &str) -> Option<&'a str> {
    // The namespaces of `nvme1` begin with its name, and their names follow it.
    let mut drives =
        facts.drives.range(controller.to_owned()..).take_while(|(name, _)| name.starts_with(controller));
    let (_, drive) = drives.find(|(name, _)| before_number(name) == Some(controller))?;
    drive.device_files.get("model").map(|model| model.value.as_str())
}

/// Whether a controller may be this function: not one of another maker.
fn may_be(facts: &Facts, controller: &str, address: PciAddress) -> bool {
    !makers_of_model(facts, controller).contradicts(makers_at(facts, address))
}

/// Whether these drives may be those of these functions: each has one of the other side with no other maker.
fn may_be_all(facts: &Facts, lost: &BTreeSet<String>, left: &[PciAddress]) -> bool {
    let models: BTreeSet<Makers> = lost.iter().map(|controller| makers_of_model(facts, controller)).collect();
    let vendors: BTreeSet<Makers> = left.iter().map(|address| makers_at(facts, *address)).collect();
    let fits = |one: &BTreeSet<Makers>, other: &BTreeSet<Makers>| {
        one.iter().all(|makers| other.iter().any(|it| !makers.contradicts(*it)))
    };
    fits(&models, &vendors) && fits(&vendors, &models)
}

/// Takes away drives that are listed by function too, and keeps what they have in common. Drives with partitions and mounts
/// stay: it is not known at which function those would be.
fn merge(facts: &mut Facts, lost: &BTreeSet<String>) -> bool {
    let is_lost = |name: &str| {
        is_namespace(name) && before_number(name).is_some_and(|controller| lost.contains(controller))
    };
    let count = facts.drives.iter().filter(|(name, drive)| is_lost(name) && drive.address.is_none()).count();
    let is_used = facts
        .blocks
        .iter()
        .any(|(name, block)| is_lost(name) || block.below.iter().any(|name| is_lost(name)));
    // A controller with two namespaces is no single drive.
    if count != lost.len() || is_used {
        return false;
    }
    let mut common: Option<DriveFacts> = None;
    facts.drives.retain(|name, drive| {
        if !is_lost(name) || drive.address.is_some() {
            return true;
        }
        match &mut common {
            None => common = Some(std::mem::take(drive)),
            Some(common) => {
                let same = |known: &Known<String>, other: Option<&Known<String>>| {
                    other.is_some_and(|other| other.value == known.value)
                };
                common.files.retain(|file, known| same(known, drive.files.get(file)));
                common.device_files.retain(|file, known| same(known, drive.device_files.get(file)));
            }
        }
        false
    });
    if let Some(common) = &mut common {
        // One drive's serial number is no other's.
        common.device_files.remove("serial");
    }
    facts.like_all = common;
    true
}

/// Joins by model: one controller and one function that share a word with a digit, as `980PRO`, and no other one has it; never
/// those of different makers.
fn by_model(
    facts: &Facts,
    open: &BTreeSet<String>,
    free: &[PciAddress],
    joined: &mut BTreeMap<String, PciAddress>,
) {
    let mut pairs: Vec<(String, PciAddress)> = Vec::new();
    if open.len() > MOST_COMPARED || free.len() > MOST_COMPARED {
        return;
    }
    for controller in open {
        let Some(model) = model_of(facts, controller) else {
            continue;
        };
        let model = squeezed(model);
        for address in free {
            let name = facts.functions.get(address).and_then(|function| function.name.as_ref());
            let has_word = name.is_some_and(|name| {
                words_with_digits(name.value.as_str())
                    .any(|word| model.contains(&word) || is_sold_as(&word, &model))
            });
            if has_word && may_be(facts, controller, *address) {
                pairs.push((controller.clone(), *address));
            }
        }
    }
    for (controller, address) in &pairs {
        let is_only = pairs.iter().filter(|(a, b)| a == controller || b == address).count() == 1;
        if is_only {
            joined.insert(controller.clone(), *address);
        }
    }
}

/// Joins what is left by the maker: a controller and a function that are each other's only choice.
fn by_maker(
    facts: &Facts,
    open: &BTreeSet<String>,
    free: &[PciAddress],
    joined: &mut BTreeMap<String, PciAddress>,
) {
    let used: BTreeSet<PciAddress> = joined.values().copied().collect();
    let open: Vec<&String> = open.iter().filter(|controller| !joined.contains_key(*controller)).collect();
    let free: Vec<PciAddress> = free.iter().copied().filter(|address| !used.contains(address)).collect();
    if open.len() > MOST_COMPARED || free.len() > MOST_COMPARED {
        return;
    }
    for controller in &open {
        let mut choices = free.iter().filter(|address| may_be(facts, controller, **address));
        let (Some(address), None) = (choices.next(), choices.next()) else { continue };
        if open.iter().filter(|other| may_be(facts, other, *address)).count() == 1 {
            joined.insert((*controller).clone(), *address);
        }
    }
}

/// Letters and digits, in lower case.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// `PM9A1/PM9A3/980PRO` as `pm9a1`, `pm9a3`, `980pro`.
fn words_with_digits(name: &str) -> impl Iterator<Item = String> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            word.len() >= 4
                && word.bytes().any(|byte| byte.is_ascii_digit())
                && word.bytes().any(|byte| byte.is_ascii_alphabetic())
        })
        .map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_points_commas_and_both_kinds_of_units() {
        let rounded = |bytes, unit, digits| Some(Size { bytes, rounding: Some(Rounding { unit, digits }) });
        let exact = |bytes| Some(Size { bytes, rounding: None });
        assert_eq!(size_of("1.00", "TB"), rounded(1_000_000_000_000, 1_000_000_000_000, 2));
        assert_eq!(size_of("512,11", "GB"), rounded(512_110_000_000, 1_000_000_000, 2));
        assert_eq!(size_of("1.74", "TiB)"), rounded(1_913_150_232_330, 1 << 40, 2));
        assert_eq!(size_of("4", "KiB"), rounded(4096, 1024, 0));
        assert_eq!(size_of("512", "B"), exact(512));
        for (number, unit) in [
            ("x", "B"),
            ("1", "iB"),
            ("1e9", "TB"),
            ("9999999", "EB"),
            ("1", "TBB"),
            ("-1", "B"),
            ("1.2.3", "B"),
        ] {
            assert_eq!(size_of(number, unit), None, "{number} {unit}");
        }
        assert_eq!(lsblk_size("931.5G"), rounded(1_000_190_509_056, 1 << 30, 1));
        assert_eq!(lsblk_size("7T"), rounded(7 << 40, 1 << 40, 1));
        assert_eq!(lsblk_size("1000204886016"), exact(1_000_204_886_016));
        assert_eq!(lsblk_size("12GG"), None);
    }

    #[test]
    fn names_of_drives_make_no_paths() {
        for (name, is_plain) in [
            ("nvme0n1", true),
            ("sda", true),
            ("md127", true),
            ("dm-0", true),
            ("../x", false),
            ("a/b", false),
            ("\u{1b}[2J", false),
            ("", false),
            ("..", false),
        ] {
            assert_eq!(drive_name(name).is_some(), is_plain, "{name}");
        }
        assert_eq!(["/dev/sda", "dev/sda", "sda", "/sda"].map(short), ["sda", "sda", "sda", "/sda"]);
        assert!(
            is_namespace("nvme10n2")
                && is_namespace("nvme0c1n1")
                && !is_namespace("nvme0n1p1")
                && !is_namespace("nvme0")
        );
        assert!(is_controller("nvme0") && !is_controller("nvme0n1") && !is_controller("nvme"));
    }
}
