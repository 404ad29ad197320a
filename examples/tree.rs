//! Every drive of a machine and its way up to the root complex, with what each link on the way can carry.
//!
//! ```sh
//! cargo run --example tree             # this machine
//! cargo run --example tree x570        # a built-in one
//! ```

use std::{env, error::Error, io::Write};

use iodyno::{
    capacity,
    source::{self, origin::Origin},
    units::UnitSystem,
};

fn main() -> Result<(), Box<dyn Error>> {
    let origin = env::args().nth(1).map_or(Origin::Live, Origin::Demo);
    let root = origin.open()?;
    let (machine, _) = source::read_machine(root.as_ref());
    let limits = capacity::limits(&machine);

    let mut out = std::io::stdout().lock();
    for drive in machine.hardware_drives() {
        let model = drive.model.value().map_or("no model name", |label| label.as_str());
        writeln!(out, "{}  {model}", drive.name)?;
        let Some(node) = drive.node else { continue };
        for hop in machine.pci.ancestry(node) {
            let limit = limits.hop(hop).map_or_else(String::new, |limit| {
                format!("{} ({})", UnitSystem::Decimal.rate(limit.bytes_per_second), limit.because)
            });
            writeln!(out, "  {:<14} {limit}", machine.pci.node(hop).address)?;
        }
    }
    Ok(())
}
