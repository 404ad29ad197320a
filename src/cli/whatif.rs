//! `iodyno whatif`: a drive, card or port moved in thought.

use clap::Args;

use super::{Complaint, Failure, Status, columns, print};
use crate::{
    capacity,
    report::{
        json,
        whatif::{self as text, Answer, WhatifDocument},
    },
    source::{self, origin::Origin},
    units::UnitSystem,
    whatif::{self, Move, MoveError},
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

/// Columns when nobody says how many there are.
const WIDE: usize = 120;

/// Reads the machine, moves, prints what would be.
pub(super) fn run(args: &WhatifArgs, origin: &Origin) -> Result<Status, Failure> {
    let root = origin.open()?;
    let (machine, problems) = source::read_or_refuse(&*root)?;
    let limits = capacity::limits(&machine);
    let asked = Move::parse(&machine, &args.devices, &args.under)?;
    let prediction = whatif::predict(&machine, &limits, &asked, UnitSystem::Decimal)?;
    let answer = Answer {
        machine: &machine,
        limits: &limits,
        under: &args.under,
        prediction: &prediction,
        problems: &problems,
    };
    print(&if args.json {
        json::text(&WhatifDocument::new(&answer))
    } else {
        text::text(&answer, columns().unwrap_or(WIDE))
    })
}

impl From<MoveError> for Failure {
    fn from(error: MoveError) -> Self {
        Self::Said(Complaint::new(format!("{} {}", error.option, error.about), error.wrong, error.fix))
    }
}
