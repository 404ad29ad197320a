//! Experiments: questions, their arms, the pure driver of rounds, statistics and verdicts. `runtime` runs them.

pub(crate) mod shuffle;
pub mod statistics;
pub mod plan;
pub(crate) mod arms;
pub mod table;
pub mod custom_arms;
pub mod account;
pub mod verdict;
pub(crate) mod driver;
pub(crate) mod record;
pub(crate) mod measured_gain;

pub use crate::model::experiment::{Run, ThrownOut};
pub use account::{Account, ArmAccount, Phase};
pub(crate) use driver::{Action, Driver, Event};
pub use plan::{Arm, Assignment, Experiment, Needs, Plan, Scene, Terms};
pub use table::EXPERIMENTS;
