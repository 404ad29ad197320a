//! Experiments: a question, arms that answer it, and a verdict that is not afraid to say "no difference".
//!
//! Here: [`EXPERIMENTS`], what an arm is, the driver that decides what happens next, the statistics and the words of a
//! verdict. All of it is pure: what is decided here is carried out by `runtime`. Not here: changing a setting, reading a
//! drive, the clock.

pub(crate) mod shuffle;
pub mod statistics;
pub mod plan;
pub(crate) mod arms;
pub mod table;
pub mod own;
pub mod account;
pub mod verdict;
pub(crate) mod driver;
pub(crate) mod record;
pub(crate) mod worth;

pub use crate::model::experiment::{Run, ThrownOut};
pub use account::{Account, ArmAccount, Phase};
pub(crate) use driver::{Action, Driver, Event};
pub use plan::{Arm, Assignment, Experiment, Plan, Scene, Terms};
pub use table::EXPERIMENTS;
