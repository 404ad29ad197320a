//! Configuration space: the first 256 bytes of a function, with the capabilities that matter for links.
//!
//! PCI Local Bus Specification 3.0, section 6.1; PCI Express Base Specification, section 7.5.

use super::{
    description::{Kind, Part},
    tree::{Function, Width},
};

/// Negotiated values of a link and its path.
pub struct Registers<'a> {
    pub function: &'a Function,
    pub part: &'a Part,
    pub now: Option<Width>,
    pub max: Option<Width>,
    pub payload: u16,
    pub multifunction: bool,
    pub subsystem: (u16, u16),
}

const POWER_MANAGEMENT: u8 = 0x01;
const MSI: u8 = 0x05;
const SUBSYSTEM: u8 = 0x0d;
const EXPRESS: u8 = 0x10;
const MSI_X: u8 = 0x11;

/// The bytes.
pub fn bytes(registers: &Registers) -> Vec<u8> {
    let mut space = Space(vec![0; 256]);
    let bridge = registers.function.buses.is_some();
    header(&mut space, registers, bridge);
    if let Some(kind) = registers.part.kind {
        capabilities(&mut space, registers, kind, bridge);
    }
    space.0
}

struct Space(Vec<u8>);

impl Space {
    fn put8(&mut self, at: usize, value: u8) {
        self.0[at] = value;
    }

    fn put16(&mut self, at: usize, value: u16) {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    fn put32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

fn header(space: &mut Space, registers: &Registers, bridge: bool) {
    let Registers { function, part, .. } = registers;
    space.put16(0x00, function.id.0);
    space.put16(0x02, function.id.1);
    // Memory Space and Bus Master enabled, INTx disabled where a driver took over.
    space.put16(0x04, if part.driver.is_some() { 0x0406 } else { 0x0006 });
    space.put16(0x06, if part.kind.is_some() { 0x0010 } else { 0x0000 });
    space.put8(0x08, part.revision);
    space.0[0x09..0x0c].copy_from_slice(&part.class.to_le_bytes()[..3]);
    space.put8(0x0c, 0x10);
    space.put8(0x0e, u8::from(bridge) | u8::from(registers.multifunction) << 7);
    if let Some((secondary, subordinate)) = function.buses {
        space.put8(0x18, function.address.bus);
        space.put8(0x19, secondary);
        space.put8(0x1a, subordinate);
    } else {
        space.put16(0x2c, registers.subsystem.0);
        space.put16(0x2e, registers.subsystem.1);
    }
}

fn capabilities(space: &mut Space, registers: &Registers, kind: Kind, bridge: bool) {
    // Offsets of AMD's ports and most NVMe drives.
    let chain: &[(usize, u8)] = if bridge {
        &[(0x50, POWER_MANAGEMENT), (0x58, EXPRESS), (0xa0, MSI), (0xc0, SUBSYSTEM)]
    } else {
        &[(0x40, POWER_MANAGEMENT), (0x50, MSI), (0x70, EXPRESS), (0xb0, MSI_X)]
    };
    space.put8(0x34, low_byte(chain[0].0));
    for (index, (at, id)) in chain.iter().enumerate() {
        space.put8(*at, *id);
        space.put8(at + 1, chain.get(index + 1).map_or(0, |(next, _)| low_byte(*next)));
        match *id {
            POWER_MANAGEMENT => space.put16(at + 2, 0x0003),
            SUBSYSTEM => {
                space.put16(at + 4, registers.subsystem.0);
                space.put16(at + 6, registers.subsystem.1);
            }
            EXPRESS => express(space, *at, registers, kind),
            _ => {}
        }
    }
}

fn low_byte(offset: usize) -> u8 {
    u8::try_from(offset).unwrap_or(0)
}

fn express(space: &mut Space, at: usize, registers: &Registers, kind: Kind) {
    let port = matches!(kind, Kind::RootPort | Kind::Downstream);
    let slot = port && registers.part.slot;
    space.put16(at + 0x02, 0x0002 | (kind as u16) << 4 | u16::from(slot) << 8);
    // Device Capabilities: payload supported, extended tags, role-based error reporting.
    space.put32(at + 0x04, u32::from(size_code(registers.part.payload)) | 1 << 5 | 1 << 15);
    // Device Control: relaxed ordering, payload, extended tags, no snoop, read requests of 512 B.
    let control = 1 << 4 | u16::from(size_code(registers.payload)) << 5 | 1 << 8 | 1 << 11 | 2 << 12;
    space.put16(at + 0x08, control);
    let (Some(now), Some(max)) = (registers.now, registers.max) else { return };
    // Link Capabilities: speed, width, L1, and for ports that the data link layer's state is reported.
    space.put32(
        at + 0x0c,
        u32::from(max.code()) | u32::from(max.lanes) << 4 | 2 << 10 | u32::from(port) << 20,
    );
    space.put16(at + 0x10, 0x0040);
    let active = u16::from(port && slot) << 13;
    space.put16(at + 0x12, u16::from(now.code()) | u16::from(now.lanes) << 4 | 1 << 12 | active);
    if slot {
        // Slot Status: presence detected.
        space.put16(at + 0x1a, 1 << 6);
    }
    // Link Capabilities 2: every speed up to the highest; Link Control 2: that one as target.
    space.put32(at + 0x2c, ((1_u32 << max.code()) - 1) << 1);
    space.put16(at + 0x30, u16::from(max.code()));
}

/// 128 B is 0, 256 B is 1, 512 B is 2.
fn size_code(bytes: u16) -> u8 {
    u8::try_from((bytes.max(128) / 128).ilog2()).unwrap_or(0)
}
