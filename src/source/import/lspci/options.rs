//! [`Seen`]: the options of lspci that a listing shows.

use std::borrow::Cow;

/// The options with which a listing was made.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "options of a command")]
pub(super) struct Seen {
    pub body: bool,
    pub registers: bool,
    pub numbers: bool,
    pub both: bool,
    pub drivers: bool,
    pub machine: bool,
    pub hex: usize,
}

impl Seen {
    pub fn command(&self) -> Cow<'static, str> {
        let mut options = String::new();
        match (self.registers, self.body) {
            (true, _) => options.push_str(" -vv"),
            (false, true) => options.push_str(" -v"),
            (false, false) if self.drivers => options.push_str(" -k"),
            _ => {}
        }
        if self.machine {
            options.push_str(" -mm");
        }
        if self.both {
            options.push_str(" -nn");
        } else if self.numbers {
            options.push_str(" -n");
        }
        options.push_str(match self.hex {
            0 => "",
            1..=64 => " -x",
            65..=256 => " -xxx",
            _ => " -xxxx",
        });
        format!("lspci{options}").into()
    }
}
