//! What all drives of a machine could read at once, and which place holds each of them back.
//!
//! ```sh
//! cargo run --example bottleneck                      # the workstation of `--demo`
//! cargo run --example bottleneck threadripper-after   # the same with one card moved
//! ```

use std::{env, error::Error, io::Write};

use iodyno::{
    capacity,
    model::{Pattern, Target, Workload},
    source::{self, origin::Origin},
    units::{Bytes, UnitSystem},
};

fn main() -> Result<(), Box<dyn Error>> {
    let demo = env::args().nth(1).unwrap_or_else(|| "threadripper-before".to_owned());
    let root = Origin::Demo(demo).open()?;
    let (machine, _) = source::read_machine(root.as_ref());
    let limits = capacity::limits(&machine);

    let drives: Vec<_> = machine.hardware_drives().map(|drive| drive.name.clone()).collect();
    let target = |name: &iodyno::model::DriveName| Target {
        path: name.device_file().into(),
        drive: Some(name.clone()),
    };
    let workload = Workload {
        targets: drives.iter().map(target).collect(),
        pattern: Pattern::Sequential,
        block_size: Bytes(1 << 20),
        ..Workload::default()
    };

    let mut out = std::io::stdout().lock();
    for (drive, expected) in drives.iter().zip(capacity::expected(&machine, &limits, &workload)) {
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
