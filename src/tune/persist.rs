//! Taking changes home: udev rules and kernel arguments, as text a reviewer would accept. Nothing is installed here.

mod arguments;
mod udev;

pub use arguments::kernel_arguments;
pub use udev::udev_rules;

/// What an export holds, and what it had to leave out, a sentence each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Export {
    /// The text.
    pub text: String,
    /// What could not be expressed, and why.
    pub left_out: Vec<String>,
}
