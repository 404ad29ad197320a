//! Binary records: what Identify, the SMART log and SMBIOS answer.
//!
//! NVM Express Base Specification 2.0, figures 275 and 93; NVM Command Set Specification 1.0, figure 97; SMBIOS
//! Reference Specification 3.6, section 7.18.

use super::description::{Model, Modules};

fn put(record: &mut [u8], at: usize, bytes: &[u8]) {
    record[at..at + bytes.len()].copy_from_slice(bytes);
}

fn padded(text: &str, length: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(length, b' ');
    bytes
}

/// Identify Namespace, with the LBA format `in_use` in use.
pub fn identify_namespace(model: &Model, in_use: u8) -> Vec<u8> {
    let mut record = vec![0; 4096];
    let (block, _) = model.formats[usize::from(in_use)];
    let blocks = (model.size / block).to_le_bytes();
    for at in [0, 8, 16] {
        put(&mut record, at, &blocks);
    }
    record[25] = u8::try_from(model.formats.len() - 1).unwrap_or(0);
    record[26] = in_use;
    for (index, (block, performance)) in model.formats.iter().enumerate() {
        let shift = u8::try_from(block.ilog2()).unwrap_or(0);
        put(&mut record, 128 + 4 * index, &[0, 0, shift, *performance]);
    }
    record
}

/// Identify Controller.
pub fn identify_controller(model: &Model, serial: &str, vendor: (u16, u16)) -> Vec<u8> {
    let mut record = vec![0; 4096];
    put(&mut record, 0, &vendor.0.to_le_bytes());
    put(&mut record, 2, &vendor.1.to_le_bytes());
    put(&mut record, 4, &padded(serial, 20));
    put(&mut record, 24, &padded(&model.name, 40));
    put(&mut record, 64, &padded(&model.firmware, 8));
    record[77] = model.mdts;
    put(&mut record, 80, &0x0001_0300_u32.to_le_bytes());
    // OACS: security, format, firmware download, self-test.
    put(&mut record, 256, &0x0017_u16.to_le_bytes());
    record[263] = 4;
    record[265] = 1;
    put(&mut record, 266, &(model.warning + 273).to_le_bytes());
    put(&mut record, 268, &(model.critical + 273).to_le_bytes());
    put(&mut record, 512, &[0x66, 0x44]);
    put(&mut record, 516, &1_u32.to_le_bytes());
    record[525] = 1;
    put(&mut record, 768, subsystem_name(serial).as_bytes());
    record
}

/// The NVMe qualified name of a drive.
pub fn subsystem_name(serial: &str) -> String {
    format!("nqn.2014.08.org.nvmexpress:demo:{serial}")
}

/// The SMART / Health Information log page of a healthy drive.
pub fn smart_log(celsius: u16, number: u32) -> Vec<u8> {
    let mut record = vec![0; 512];
    put(&mut record, 1, &(celsius + 273).to_le_bytes());
    put(&mut record, 3, &[100, 10, 1]);
    let count = u128::from(number) + 1;
    for (at, value) in [
        (32, 14_204_311 + 80_021 * count),
        (48, 9_120_022 + 10_007 * count),
        (64, 3_301_222_801 + 7_000_111 * count),
        (80, 402_118_220 + 1_000_003 * count),
        (96, 812),
        (112, 63),
        (128, 1_240),
        (144, 21),
    ] {
        put(&mut record, at, &value.to_le_bytes());
    }
    put(&mut record, 200, &(celsius + 273).to_le_bytes());
    record
}

/// An SMBIOS table of memory modules, one a channel.
pub fn smbios(modules: &Modules) -> Vec<u8> {
    let mut table = Vec::new();
    for index in 0..modules.count {
        let mut device = vec![0_u8; 0x28];
        put(&mut device, 0, &[17, 0x28, index, 0x11]);
        put(&mut device, 0x04, &[0x00, 0x10, 0xfe, 0xff]);
        put(&mut device, 0x08, &64_u16.to_le_bytes());
        put(&mut device, 0x0a, &64_u16.to_le_bytes());
        // Sizes from 32 GiB - 1 MiB on are in the extended field.
        if modules.mib < 0x7fff {
            put(&mut device, 0x0c, &u16::try_from(modules.mib).unwrap_or(0).to_le_bytes());
        } else {
            put(&mut device, 0x0c, &0x7fff_u16.to_le_bytes());
            put(&mut device, 0x1c, &modules.mib.to_le_bytes());
        }
        put(&mut device, 0x0e, &[0x09, 0, 1, 2, modules.r#type]);
        put(&mut device, 0x15, &modules.mts.to_le_bytes());
        put(&mut device, 0x20, &modules.mts.to_le_bytes());
        table.extend(device);
        let channel = char::from(b'A' + index);
        table.extend(format!("DIMM {}\0P0 CHANNEL {channel}\0\0", index + 1).into_bytes());
    }
    // End-of-table.
    table.extend([127, 4, 0xff, 0xfe, 0, 0]);
    table
}
