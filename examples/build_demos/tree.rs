//! The tree of a description: one function a line, two spaces of indentation a level.
//!
//! ```text
//! 0000:40
//!   01.1 1022:1483 bus=41 link=16x4
//!     00.0 144d:a80a nvme=0 model=980-pro-1tb
//! ```

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use iodyno::{model::PciAddress, units::TransferRate};

/// One function.
#[derive(Debug)]
pub struct Function {
    pub address: PciAddress,
    pub id: (u16, u16),
    /// Its folder.
    pub path: String,
    /// Secondary and subordinate bus of a bridge.
    pub buses: Option<(u8, u8)>,
    pub link: Option<Width>,
    pub max: Option<Width>,
    /// Correctable errors counted.
    pub errors: u64,
    /// Controller number and model of a drive.
    pub drive: Option<(u32, String)>,
}

/// Speed and width, written `16x4`.
#[derive(Debug, Clone, Copy)]
pub struct Width {
    pub speed: TransferRate,
    pub lanes: u8,
}

/// Reads a tree; functions in the order of the lines.
pub fn parse(text: &str) -> anyhow::Result<Vec<Function>> {
    let mut functions: Vec<Function> = Vec::new();
    let mut root = None;
    // For each level: the folder of the function last seen there, and the bus below it.
    let mut above: Vec<(String, u8)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        if indent == 0 {
            let (domain, bus) = line.split_once(':').context("a root complex is written 0000:40")?;
            let bus = u8::from_str_radix(bus, 16)?;
            root = Some(u32::from_str_radix(domain, 16)?);
            above = vec![(format!("/sys/devices/pci{line}"), bus)];
            continue;
        }
        ensure!(indent % 2 == 0 && indent / 2 <= above.len(), "{line:?}: indented wrongly");
        above.truncate(indent / 2);
        let (folder, bus) = above.last().context("a function before any root complex")?;
        let function = function(line, root.context("no root complex")?, *bus, folder)
            .with_context(|| line.to_owned())?;
        let below = function.buses.map_or(0, |(secondary, _)| secondary);
        above.push((function.path.clone(), below));
        functions.push(function);
    }
    Ok(functions)
}

fn function(line: &str, domain: u32, bus: u8, folder: &str) -> anyhow::Result<Function> {
    let mut words = line.split_whitespace();
    let slot = words.next().context("no address")?;
    let id = id(words.next().context("no id")?)?;
    let address: PciAddress = format!("{domain:04x}:{bus:02x}:{slot}").parse()?;
    let mut options: BTreeMap<&str, &str> = BTreeMap::new();
    for word in words {
        let (name, value) = word.split_once('=').context("an option is written name=value")?;
        options.insert(name, value);
    }
    let mut take = |name: &str| options.remove(name);
    let buses = take("bus").map(|buses| {
        let (first, last) = buses.split_once('-').unwrap_or((buses, buses));
        anyhow::Ok((u8::from_str_radix(first, 16)?, u8::from_str_radix(last, 16)?))
    });
    let function = Function {
        address,
        id,
        path: format!("{folder}/{address}"),
        buses: buses.transpose()?,
        link: take("link").map(Width::parse).transpose()?,
        max: take("max").map(Width::parse).transpose()?,
        errors: take("errors").map(str::parse).transpose()?.unwrap_or(0),
        drive: match (take("nvme"), take("model")) {
            (Some(number), Some(model)) => Some((number.parse()?, model.to_owned())),
            _ => None,
        },
    };
    if let Some(name) = options.keys().next() {
        bail!("no option is called {name}");
    }
    Ok(function)
}

/// `1022:1480` as two numbers.
pub fn id(text: &str) -> anyhow::Result<(u16, u16)> {
    let (vendor, device) = text.split_once(':').context("an id is written 1022:1480")?;
    Ok((u16::from_str_radix(vendor, 16)?, u16::from_str_radix(device, 16)?))
}

impl Width {
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let (speed, lanes) = text.split_once('x').context("a link is written 16x4")?;
        let speed = TransferRate::parse(&format!("{speed} GT/s")).context("no speed PCI Express knows")?;
        Ok(Self { speed, lanes: lanes.parse()? })
    }

    /// The code of the speed in Link Capabilities and Link Status.
    pub fn code(self) -> u8 {
        self.speed.generation()
    }
}
