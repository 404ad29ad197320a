//! `iodyno whatif`: a hypothetical move of a drive, card or port.

use clap::Args;

use super::{Failure, Status, columns, read, show, units};
use crate::{
    report::whatif::{self as text, Answer, WhatifDocument},
    source::origin::Origin,
    whatif::{self, Move},
};

/// Options of `iodyno whatif`.
#[derive(Debug, Clone, Args)]
pub(super) struct WhatifArgs {
    /// What to move: addresses or drive names, comma-separated, or a range in bus order, 0000:41:00.0-0000:44:00.0.
    /// A drive moves with its card; a port moves only what is plugged into it
    #[arg(long = "move", value_name = "ADDRESSES")]
    devices: String,
    /// Target: a root complex, switch or port; or a link speed, gen3; or both, 0000:60@gen3. A card in the
    /// way is swapped
    #[arg(long, value_name = "ADDRESS")]
    under: String,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Columns without a terminal.
const WIDE: usize = 120;

pub(super) fn run(args: &WhatifArgs, origin: &Origin) -> Result<Status, Failure> {
    let read = read(origin)?;
    let asked = Move::parse(&read.machine, &args.devices, &args.under)?;
    let units = units(args.json);
    let prediction = whatif::predict(&read.machine, &read.limits, &asked, units)
        .map_err(|error| error.in_words(&read.machine, &args.devices, &args.under))?;
    let answer = Answer {
        machine: &read.machine,
        limits: &read.limits,
        under: &args.under,
        prediction: &prediction,
        units,
        problems: &read.problems,
    };
    show(args.json, &WhatifDocument::new(&answer), |_| text::text(&answer, columns().unwrap_or(WIDE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_words_of_the_user() {
        let refused = |devices: &str, under: &str| {
            let args = WhatifArgs { devices: devices.to_owned(), under: under.to_owned(), json: false };
            match run(&args, &Origin::Demo("threadripper-before".to_owned())) {
                Err(Failure::Said(complaint)) => complaint.to_string(),
                other => format!("{other:?}"),
            }
        };
        for (devices, under, about) in [
            ("nvme0n1", "nvme8n1", "--under nvme8n1: it is a device"),
            ("nvme0n1", "21:00.0", "--under 21:00.0: it is a device"),
            ("nvme0n1", "0000:21:00.0@gen3", "--under 0000:21:00.0@gen3: it is a device"),
            ("00:18.7", "0000:20", "--move 00:18.7: "),
            ("nvme8n1,20", "0000:40", "--move 20: "),
        ] {
            let said = refused(devices, under);
            assert!(said.starts_with(about), "{said}");
        }
    }
}
