//! Which device a function is: listings of several machines, or of several times, may name different ones at one address.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    drives::{agrees, squeezed},
    facts::{DriveFacts, Facts, Function, Line},
    lspci::four,
};
use crate::{model::PciAddress, source::ids, text::Label};

/// What a line states of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Identity<'a> {
    /// Base class, if the text states it: that of a drawing is derived.
    pub class: Option<u32>,
    /// A list states the class with a name.
    pub is_listed: bool,
    /// As printed; empty: not stated.
    pub name: &'a str,
    pub vendor: Option<u16>,
    pub device: Option<u16>,
    /// The ids stand in the text, not found by the name.
    pub is_exact: bool,
}

impl<'a> Identity<'a> {
    fn of(function: &'a Function) -> Self {
        let is_listed = function.class_name.is_some();
        let is_stated = is_listed || function.name.is_none() && function.has_exact_ids;
        let class = function.class.filter(|_| is_stated);
        Self {
            class: class.map(|class| class.value >> 16),
            is_listed,
            name: function.name.as_ref().map_or("", |name| name.value.as_str()),
            vendor: function.vendor.map(|vendor| vendor.value),
            device: function.device.map(|device| device.value),
            is_exact: function.has_exact_ids,
        }
    }

    /// Whether both cannot be one device. Ids may be found by a name, which lists of other versions and wrapped lines have in
    /// part.
    fn contradicts(self, other: Self) -> bool {
        if let (true, Some(one), Some(two)) = (self.is_exact && other.is_exact, self.ids(), other.ids()) {
            return one != two;
        }
        let numbers = self.device_number().zip(other.device_number());
        if numbers.is_some_and(|(one, two)| one != two) {
            return true;
        }
        let [one, two] = [self.name, other.name].map(squeezed);
        let is_part = !one.is_empty() && !two.is_empty() && (one.contains(&two) || two.contains(&one));
        // A device that does not respond has ones for ids.
        let id = |id: Option<u16>| id.filter(|id| *id != u16::MAX);
        let differ = |one: Option<u16>, two| id(one).zip(id(two)).is_some_and(|(one, two)| one != two);
        let is_other_class = self.class.zip(other.class).is_some_and(|(one, two)| one != two);
        // A drawing's device is found by its name: the ids of a list are more exact.
        let is_alike = self.is_listed == other.is_listed;
        let is_other_device = is_alike && differ(self.device, other.device);
        !is_part
            && (is_other_class
                || is_other_device
                || differ(self.vendor, other.vendor)
                || self.has_other_name(other)
                || self.is_known_otherwise(other)
                || other.is_known_otherwise(self))
    }

    /// The device's id as the text has it, also in place of a name: `Device 3566`.
    fn device_number(self) -> Option<u16> {
        let digits = || self.name.rsplit_once("Device ").map(|(_, digits)| digits);
        let number = self.device.filter(|_| self.is_exact).or_else(|| four(digits()?));
        number.filter(|number| *number != u16::MAX)
    }

    /// Both ids of a device that responds: others have ones.
    fn ids(self) -> Option<(u16, u16)> {
        let id = |id: Option<u16>| id.filter(|id| *id != u16::MAX);
        id(self.vendor).zip(id(self.device))
    }

    /// Whether names are those of two devices: both in the list of ids, or of vendors one of which is not in it.
    fn has_other_name(self, other: Self) -> bool {
        /// Words in place of a vendor's name.
        const NO_NAME: [&str; 3] = ["device", "vendor", "unknown"];
        if self.ids().is_some() && self.ids() == other.ids() {
            return false;
        }
        let first = |it: Self| it.name.split(' ').next().unwrap_or_default().to_ascii_lowercase();
        let firsts = [first(self), first(other)];
        let is_name = |word: &String| !word.is_empty() && !NO_NAME.contains(&word.as_str());
        if !firsts.iter().all(is_name) {
            return false;
        }
        // A drawing may have a person's words behind a device.
        let are_listed = self.is_listed && other.is_listed;
        let is_other_vendor =
            are_listed && firsts[0] != firsts[1] && (self.vendor.is_none() || other.vendor.is_none());
        is_other_vendor || self.vendor == other.vendor && ids::is_name(self.name) && ids::is_name(other.name)
    }

    /// Whether the list of ids has another name for the ids of this line than the other line, whose name is in it too.
    fn is_known_otherwise(self, other: Self) -> bool {
        let listed = self.ids().filter(|_| self.is_exact && self.name.is_empty());
        let listed = listed.and_then(|(vendor, device)| ids::built_in_name(vendor, device));
        listed.is_some_and(|listed| {
            // Its end may stand in the next line.
            let mut ends = other.name.match_indices(' ').map(|(at, _)| &other.name[at + 1..]);
            let is_cut = ends.any(|end| end.contains(' ') && listed.as_str().starts_with(end));
            let is_part = is_cut || squeezed(other.name).contains(&squeezed(listed.as_str()));
            !other.is_exact && !is_part && ids::is_name(other.name)
        })
    }

    fn words(self) -> String {
        match (self.name, self.vendor, self.device) {
            ("", Some(vendor), Some(device)) => format!("{vendor:04x}:{device:04x}"),
            ("", ..) => "another device".to_owned(),
            (name, ..) => Label::new(name).to_string(),
        }
    }
}

/// The first function of most machines, its host bridge.
const FIRST: &str = "0000:00:00.0";

impl Facts {
    /// Whether a line is of another device than the text has at that address already; that is noted, and the first one used.
    pub fn is_another(&mut self, address: PciAddress, stated: Identity, line: usize) -> bool {
        let Some(known) = self.functions.get(&address) else { return false };
        let first = Identity::of(known);
        if !first.contradicts(stated) {
            return false;
        }
        let at = known.name.as_ref().map(|name| name.line).or(known.vendor.map(|vendor| vendor.line));
        let at = at.unwrap_or(known.line);
        let sentence = format!(
            "{address} is {} in line {at} and {} in line {line}: line {at} is used.",
            first.words(),
            stated.words()
        );
        self.notes.unused(line, &format!("{address} is another device in line {at}"));
        self.contradiction(sentence);
        true
    }

    /// What a listing states otherwise than the lines before it: other devices and drives, other buses behind a bridge, and what
    /// is drawn behind these.
    pub fn others(&self, stated: &Facts) -> Option<Others> {
        let known = Above::new(self);
        let has_other_buses = |address: &PciAddress, function: &Function| {
            // Ports for hotplug, as those of Thunderbolt, get further buses while the kernel runs.
            let are_of_log = self.of_log.contains(address) && stated.of_log.contains(address);
            let is_of_log = self.of_log.contains(address) || stated.of_log.contains(address);
            let first = self.functions.get(address).and_then(|known| known.buses);
            let is_other = first.zip(function.buses).is_some_and(|(first, second)| {
                let (first, second) = (first.value, second.value);
                let is_other_end = first.1 != second.1 && first.1 != OPEN && second.1 != OPEN;
                first.0 != second.0 || is_other_end && !is_of_log
            });
            let is_others = || function.buses.is_some_and(|buses| known.is_other(*address, buses.value.0));
            !are_of_log && (is_other || is_others())
        };
        let is_other_itself = |address: &PciAddress, function: &Function| {
            let first = self.functions.get(address);
            first.is_some_and(|known| Identity::of(known).contradicts(Identity::of(function)))
                || has_other_buses(address, function)
        };
        let is_other_function = |address: &PciAddress, function: &Function| {
            let parent = |at: PciAddress| {
                let bridge = stated.functions.get(&at)?.parent?;
                (bridge.bus < at.bus).then_some(bridge)
            };
            let mut above = std::iter::successors(parent(*address), |bridge| parent(*bridge));
            is_other_itself(address, function)
                || function.parent.is_some_and(|bridge| known.is_behind_other(bridge, address.bus, self))
                || above.any(|bridge| {
                    stated.functions.get(&bridge).is_some_and(|it| is_other_itself(&bridge, it))
                })
        };
        let is_other_drive = |name: &String, drive: &DriveFacts| {
            let word = |drive: &DriveFacts, file: &str| {
                drive.device_files.get(file).map(|known| known.value.clone())
            };
            let pair = |file: &str| word(self.drives.get(name)?, file).zip(word(drive, file));
            ["model", "serial"]
                .iter()
                .any(|file| pair(file).is_some_and(|(known, stated)| !agrees(&known, &stated)))
        };
        let functions = stated.functions.iter().filter(|(address, it)| is_other_function(address, it));
        let drives = stated.drives.iter().filter(|(name, drive)| is_other_drive(name, drive));
        let functions: Vec<(PciAddress, usize)> =
            functions.map(|(address, function)| (*address, function.line)).collect();
        let drives: Vec<&String> = drives.map(|(name, _)| name).collect();
        let lines: BTreeSet<usize> = functions.iter().map(|(_, line)| *line).collect();
        let count = lines.len() + drives.len();
        // One that the lines before it have too says more.
        let is_shared = |(address, _): &&(PciAddress, usize)| self.functions.contains_key(address);
        let first = functions.iter().find(is_shared).or(functions.first());
        let first = first.map(|(address, _)| address.to_string());
        let first = first.or_else(|| drives.first().map(ToString::to_string))?;
        Some(Others { first, lines, count })
    }

    /// Whether a listing is another machine's: several of its devices or drives are others than those of the lines before it, or the
    /// first function of a machine is. It is then named, and not to be used.
    pub fn is_another_machine(
        &mut self,
        listing: &str,
        lines: &[Line],
        read: impl FnOnce(&[Line], &mut Self),
    ) -> bool {
        if self.functions.is_empty() && self.drives.is_empty() {
            return false;
        }
        let mut alone = Self::default();
        read(lines, &mut alone);
        let is_other = |others: &Others| others.count > 1 || others.first == FIRST;
        let Some(Others { first, .. }) = self.others(&alone).filter(is_other) else {
            return false;
        };
        let of_listing = || lines.iter().filter(|line| !line.text.trim().is_empty());
        let at = of_listing().next().map_or(0, |line| line.number);
        self.contradiction(format!(
            "The {listing} in line {at} has other devices than the lines before it, as at {first}: it is not used; open it alone."
        ));
        let why = format!("a {listing} with other devices than the lines before it");
        of_listing().for_each(|line| self.notes.unused_text(line, &why));
        true
    }
}

/// Last bus of a range that the kernel had not ended yet.
const OPEN: u8 = u8::MAX;

/// The bridges above buses, as bus numbers, drawings and paths have them.
struct Above {
    /// By domain and bus.
    bridges: BTreeMap<(u32, u8), PciAddress>,
    /// The buses directly below each bridge.
    buses: BTreeMap<PciAddress, BTreeSet<u8>>,
}

impl Above {
    fn new(facts: &Facts) -> Self {
        let of_numbers =
            facts.functions.iter().filter_map(|(address, it)| Some((*address, it.buses?.value.0)));
        let of_paths = facts.functions.iter().filter_map(|(address, it)| Some((it.parent?, address.bus)));
        let mut above = Self { bridges: BTreeMap::new(), buses: BTreeMap::new() };
        for (bridge, bus) in of_numbers.chain(of_paths).filter(|(bridge, bus)| *bus > bridge.bus) {
            above.bridges.entry((bridge.domain, bus)).or_insert(bridge);
            above.buses.entry(bridge).or_default().insert(bus);
        }
        above
    }

    /// Whether the secondary bus of a bridge is another one, or another bridge's.
    fn is_other(&self, bridge: PciAddress, secondary: u8) -> bool {
        let has_others = || self.buses.get(&bridge).is_some_and(|buses| !buses.contains(&secondary));
        secondary > bridge.bus && (self.is_others(bridge, secondary) || has_others())
    }

    /// Whether a function below a bridge is on a bus of another one. SR-IOV has several buses behind one.
    fn is_behind_other(&self, bridge: PciAddress, bus: u8, known: &Facts) -> bool {
        let range = known.functions.get(&bridge).and_then(|known| known.buses);
        let is_outside = range.is_some_and(|range| !(range.value.0..=range.value.1).contains(&bus));
        bus > bridge.bus && (is_outside || self.is_others(bridge, bus))
    }

    fn is_others(&self, bridge: PciAddress, bus: u8) -> bool {
        self.bridges.get(&(bridge.domain, bus)).is_some_and(|known| *known != bridge)
    }
}

/// What a listing states otherwise than the lines before it.
pub(super) struct Others {
    /// The first function or drive.
    pub first: String,
    /// Lines of functions: a line of a drawing may have several.
    pub lines: BTreeSet<usize>,
    /// These lines, and drives.
    count: usize,
}

#[cfg(test)]
mod tests {
    use crate::source::import;

    fn read(text: &str) -> crate::machine::Machine {
        crate::source::read_machine(&import::read(text.as_bytes()).unwrap().unwrap()).0
    }

    fn contradictions(text: &str) -> Vec<String> {
        read(text).pasted.unwrap().contradictions.clone()
    }

    const GPU: &str = "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA104 [10de:2484]\n";
    const DRIVE: &str = "01:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller SM981 [144d:a808]\n";

    #[test]
    fn a_function_is_the_device_of_its_first_line_alone() {
        let text = format!("{GPU}\n$ lspci -nn   # other PC\n{DRIVE}");
        let machine = read(&text);
        let node = machine.pci.functions().next().unwrap();
        assert!(!node.is_nvme(), "{node:?}");
        assert_eq!(
            machine.pasted.unwrap().contradictions,
            [
                "0000:01:00.0 is NVIDIA Corporation GA104 in line 1 and Samsung Electronics Co Ltd NVMe SSD Controller SM981 in line 4: line 1 is used."
            ]
        );
    }

    #[test]
    fn other_forms_of_one_name_are_no_other_device() {
        let drawing = "-[0000:00]---01.0-[01]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983\n";
        let numbers = "01:00.0 0108: 144d:a808\n";
        let wrapped = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe\nSSD Controller SM981/PM981/PM983\n";
        let records = "Slot:\t01:00.0\nClass:\tNon-Volatile memory controller\nVendor:\tSamsung Electronics Co Ltd\nDevice:\tNVMe SSD Controller SM981/PM981/PM983\n";
        for parts in
            [[drawing, DRIVE], [DRIVE, drawing], [wrapped, DRIVE], [DRIVE, wrapped], [numbers, DRIVE]]
        {
            assert_eq!(contradictions(&parts.join("\n")), [""; 0], "{parts:?}");
        }
        assert_eq!(contradictions(&format!("{DRIVE}\n{records}")), [""; 0]);
        for text in [format!("{GPU}\n{records}"), format!("{GPU}\n{numbers}"), format!("{GPU}\n{wrapped}")] {
            assert_eq!(contradictions(&text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_drawing_of_another_machine_is_not_used() {
        let first = "-[0000:00]-+-00.0  Intel Corporation Device 9a04\n           \\-1d.0-[01]----00.0  Sandisk Corp WD Blue SN550 NVMe SSD\n";
        let other = "-[0000:00]-+-00.0  Intel Corporation Device 9a04\n           +-01.0-[01-02]----00.0  NVIDIA Corporation GA104\n           \\-1d.0-[03]----00.0  Samsung Electronics Co Ltd Device a80a\n";
        let text = format!("one:\n{first}\nother:\n$ lspci -tv\n{other}");
        let machine = read(&text);
        let pasted = machine.pasted.as_ref().unwrap();
        assert_eq!(machine.pci.functions().count(), 3);
        assert_eq!(
            pasted.contradictions,
            [
                "The drawing in line 7 has other devices than the lines before it, as at 0000:00:1d.0: it is not used; open it alone."
            ]
        );
        let lines: Vec<usize> = pasted.unused.iter().map(|unused| unused.line).collect();
        assert!(lines.ends_with(&[7, 8, 9]), "{lines:?}");
        let again = format!("{first}\n$ lspci -tv\n{first}");
        assert_eq!(contradictions(&again), [""; 0]);
    }

    #[test]
    fn a_drawing_with_one_other_line_is_used_without_it() {
        let list = "00:00.0 Host bridge [0600]: Intel Corporation Device [8086:9a04]\n00:1d.0 PCI bridge [0604]: Intel Corporation Device [8086:a0b0]\n01:00.0 Non-Volatile memory controller [0108]: Sandisk Corp WD Blue SN550 NVMe SSD [15b7:5009]\n02:00.0 Ethernet controller [0200]: Intel Corporation I210 [8086:1533]\n";
        let drawing = |card: &str, bus: &str| {
            format!(
                "-[0000:00]-+-00.0  Intel Corporation Device 9a04\n           +-1c.0-[02]----00.0  {card}\n           +-1d.0-[{bus}]----00.0  Sandisk Corp WD Blue SN550 NVMe SSD\n           \\-1f.0  Intel Corporation Device a0a3\n"
            )
        };
        let nvidia = "NVIDIA Corporation GA104";
        let machine = read(&format!("{list}\n{}", drawing(nvidia, "01")));
        let pasted = machine.pasted.as_ref().unwrap();
        assert_eq!(
            pasted.unused.iter().map(|unused| unused.line).collect::<Vec<_>>(),
            [7],
            "{:?}",
            pasted.unused
        );
        let has = |machine: &crate::machine::Machine, address: &str| {
            machine.pci.find(address.parse().unwrap()).is_some()
        };
        assert!(has(&machine, "0000:00:1f.0"), "the other lines are used");
        assert!(!has(&machine, "0000:00:1c.0"), "all of the line is left out");
        assert!(pasted.contradictions[0].contains("Line 7"), "{:?}", pasted.contradictions);
        // A second line with other buses.
        let list = list.replace("\n01:00.0", "\n\tBus: primary=00, secondary=01, subordinate=01\n01:00.0");
        let machine = read(&format!("{list}\n{}", drawing(nvidia, "05")));
        assert!(!has(&machine, "0000:00:1f.0"), "two other lines");
        let machine = read(&format!("{list}\n{}", drawing("Intel Corporation I210", "05")));
        assert!(has(&machine, "0000:00:1f.0") && !has(&machine, "0000:05:00.0"), "one other bus");
    }

    #[test]
    fn a_list_of_another_machine_is_not_merged() {
        let first = format!(
            "00:00.0 Host bridge [0600]: Intel Corporation Device [8086:9a04]\n{DRIVE}02:00.0 Ethernet controller [0200]: Intel Corporation I210 [8086:1533]\n"
        );
        let other = format!(
            "00:00.0 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Root Complex [1022:1480]\n{GPU}03:00.0 Non-Volatile memory controller [0108]: Micron Technology Inc 7450 [1344:51c3]\n"
        );
        let records = "Slot:\t00:00.0\nClass:\tHost bridge\nVendor:\tAdvanced Micro Devices, Inc. [AMD]\nDevice:\tStarship/Matisse Root Complex\n\nSlot:\t01:00.0\nClass:\tVGA compatible controller\nVendor:\tNVIDIA Corporation\nDevice:\tGA104\n\nSlot:\t03:00.0\nClass:\tNon-Volatile memory controller\nVendor:\tMicron Technology Inc\nDevice:\t7450\n";
        for (between, second) in [
            ("\n", &*other),
            ("", &other),
            ("$ lspci -nn   # other PC\n", &other),
            ("\nother PC:\n", &other),
            ("\n", records),
        ] {
            let machine = read(&format!("{first}{between}{second}"));
            let pasted = machine.pasted.as_ref().unwrap();
            assert_eq!(machine.pci.functions().count(), 3, "{between}{second}");
            assert_eq!(pasted.contradictions.len(), 1, "{:?}", pasted.contradictions);
            assert!(
                pasted.contradictions[0].contains("it is not used; open it alone"),
                "{:?}",
                pasted.contradictions
            );
            let why = "a list with other devices than the lines before it";
            let named = pasted.unused.iter().filter(|unused| unused.reason.as_str().ends_with(why));
            assert!(named.count() >= 3, "{:?}", pasted.unused);
        }
        let drives = |serial: &str, model: &str| {
            let row = |at: usize, size: &str| {
                format!(
                    "/dev/nvme{at}n1     {serial}{at}     {model} {at}    1    {size}  TB /   {size}  TB    512   B +  0 B   F1\n"
                )
            };
            [row(0, "1.00"), row(1, "2.00")].concat()
        };
        let other = format!(
            "{}{}",
            drives("T", "Micron 7450"),
            "/dev/nvme7n1     T7     Micron 7450 7    1    1.00  TB /   1.00  TB    512   B +  0 B   F1\n"
        );
        let machine = read(&format!("{}\nother PC:\n{other}", drives("S", "Samsung 980")));
        assert_eq!(machine.drives.len(), 2, "{:?}", machine.pasted);
        assert_eq!(machine.pasted.unwrap().contradictions.len(), 1);
        // The same list again, with more: it completes the first.
        let more =
            format!("{first}04:00.0 SATA controller [0106]: ASMedia Technology Inc. ASM1062 [1b21:0612]\n");
        assert_eq!(contradictions(&format!("{first}\n{more}")), [""; 0]);
        assert_eq!(read(&format!("{first}\n{more}")).pci.functions().count(), 4);
    }
}
