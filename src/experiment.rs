//! Experiments: questions, their arms, the pure driver of rounds, statistics and verdicts. `runtime` runs them.

pub mod shuffle;
pub mod statistics;
pub mod plan;
pub(crate) mod arms;
pub mod table;
pub mod custom_arms;
mod differences;
pub mod account;
pub mod looks;
pub mod verdict;
pub(crate) mod knee;
pub mod driver;
pub(crate) mod record;
pub(crate) mod measured_gain;

pub use crate::model::experiment::{Look, Run, Sample, Surroundings, ThrownOut};
pub use account::{Account, ArmAccount, Phase, StoppedBy};
pub use driver::{Action, Driver, Event, Ran};
pub use plan::{Arm, Assignment, Experiment, Needs, Plan, Scene, Terms};
pub use table::EXPERIMENTS;
