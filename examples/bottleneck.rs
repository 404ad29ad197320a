//! What all drives of a machine could read at once, and which place holds each of them back.
//!
//! ```sh
//! cargo run --example bottleneck                      # the workstation of `--demo`
//! cargo run --example bottleneck threadripper-after   # the same with one card moved
//! ```

use std::{env, error::Error, io::Write};

use iodyno::{
    capacity,
    machine::Drive,
    model::{Pattern, Workload},
    source::{self, origin::Origin},
    units::{Bytes, UnitSystem},
};

fn main() -> Result<(), Box<dyn Error>> {
    let demo = env::args().nth(1).unwrap_or_else(|| "threadripper-before".to_owned());
    let root = Origin::Demo(demo).open()?;
    let (machine, _) = source::read_machine(root.as_ref());
    let limits = capacity::limits(&machine);

    let workload = Workload {
        targets: machine.hardware_drives().map(Drive::target).collect(),
        pattern: Pattern::Sequential,
        block_size: Bytes(1 << 20),
        ..Workload::default()
    };

    let mut out = std::io::stdout().lock();
    let drives = machine.hardware_drives().map(|drive| &drive.name);
    for (drive, expected) in drives.zip(capacity::expected(&machine, &limits, &workload)) {
        match expected {
            Some(expected) => {
                let rate = UnitSystem::Decimal.rate(expected.bytes_per_second);
                writeln!(out, "{drive}  {rate}  {}", expected.because)?;
            }
            None => writeln!(out, "{drive}  no limit is known")?,
        }
    }
    Ok(())
}
