//! What every screen speaks: messages, effects, keys, commands, the theme, and the data that several screens see.

pub mod key;
pub(crate) mod key_names;
pub mod text_field;
pub mod message;
pub(crate) mod effect;
pub(crate) mod answer;
pub(crate) mod screen;
pub(crate) mod command;
pub(crate) mod ask;
pub mod theme;
pub mod glyphs;
pub mod picture;
pub(crate) mod series;
pub(crate) mod load;
pub mod opening;
pub(crate) mod judged;
pub(crate) mod test;
pub(crate) mod experiments;
pub(crate) mod pull;
pub(crate) mod inquiry;
pub(crate) mod settings;
pub(crate) mod shared;
pub(crate) mod marks;

pub use self::text_field::TextField;
pub use self::{
    ask::{Ask, Asks, Notice, SharedChange, Subject},
    command::Command,
    effect::Effect,
    key::Key,
    message::{MachineRead, Message, Opened},
    opening::Opening,
    screen::{About, ScreenId},
    shared::{Look, Shared},
};
pub use crate::report::dossier::Mode;
