//! What every screen speaks: messages, effects, keys, commands, the theme, and the data that several screens see.

pub mod key;
pub mod message;
pub mod effect;
pub mod answer;
pub mod screen;
pub mod command;
pub mod ask;
pub mod theme;
pub mod picture;
pub mod series;
pub mod load;
pub mod judged;
pub mod test;
pub mod history;
pub mod experiments;
pub mod settings;
pub mod shared;

pub use self::{
    ask::{Ask, Asks, Notice, SharedChange, Subject},
    command::Command,
    effect::Effect,
    key::Key,
    message::{MachineRead, Message},
    screen::{About, ScreenId},
    shared::Shared,
};
pub use crate::report::dossier::Mode;
