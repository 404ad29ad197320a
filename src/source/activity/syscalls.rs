//! Names of system calls, and the file that has their numbers: `/proc/PID/syscall` (`proc_pid_syscall(5)`).

use syscalls::{aarch64, x86_64};

use super::names::Names;
use crate::{
    source::{
        SysRoot,
        fields::{number, words},
    },
    text::Label,
};

/// Whose numbers they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    X86,
    Arm,
    /// Numbers are shown.
    Other,
}

impl Numbering {
    /// Of this kernel (`/proc/sys/kernel/arch`, since Linux 6.1), or of the one that this program was built for.
    pub(super) fn of(root: &dyn SysRoot) -> Self {
        let mut text = [0; 32];
        let length = root.read_short("/proc/sys/kernel/arch", &mut text).unwrap_or(0);
        match text[..length].trim_ascii() {
            b"x86_64" => Self::X86,
            b"aarch64" => Self::Arm,
            b"" if cfg!(target_arch = "x86_64") => Self::X86,
            b"" if cfg!(target_arch = "aarch64") => Self::Arm,
            _ => Self::Other,
        }
    }

    /// The call that a thread is in; `None` while it runs (`running`) or was stopped outside of a call (`-1`).
    pub(super) fn name(self, text: &[u8], names: &mut Names) -> Option<Label> {
        let mut fields = words(text);
        let call = number(fields.next()?)?;
        let known =
            usize::try_from(call).ok().filter(|_| !Self::is_compat(text)).and_then(|call| match self {
                Self::X86 => x86_64::Sysno::new(call).map(|call| call.name()),
                Self::Arm => aarch64::Sysno::new(call).map(|call| call.name()),
                Self::Other => None,
            });
        Some(
            known.map_or_else(|| Label::new(&format!("syscall {call}")), |name| names.label(name.as_bytes())),
        )
    }

    /// Whether this is a 32-bit program, which has other numbers: stack and program counter (the last two fields) lie below 4 GiB.
    fn is_compat(text: &[u8]) -> bool {
        let is_low = |word: &[u8]| {
            let digits = word.strip_prefix(b"0x").unwrap_or(word);
            digits.len() <= 8
        };
        let mut last = [&b""[..]; 2];
        let mut count = 0;
        for word in words(text) {
            last = [last[1], word];
            count += 1;
        }
        count == 9 && last.into_iter().all(is_low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(numbering: Numbering, text: &str) -> Option<String> {
        numbering.name(text.as_bytes(), &mut Names::default()).map(|name| name.to_string())
    }

    #[test]
    fn calls_have_the_names_of_their_architecture() {
        let text = "426 0x3 0x0 0x1 0x1 0x0 0x8 0x7ffd2c1f8e10 0x7f0f2c3d5e4d\n";
        assert_eq!(name(Numbering::X86, text).as_deref(), Some("io_uring_enter"));
        assert_eq!(name(Numbering::Arm, text).as_deref(), Some("io_uring_enter"));
        assert_eq!(name(Numbering::Other, text).as_deref(), Some("syscall 426"));
        let text = "17 0x3 0x0 0x1 0x1 0x0 0x8 0x7ffd2c1f8e10 0x7f0f2c3d5e4d\n";
        assert_eq!(name(Numbering::X86, text).as_deref(), Some("pread64"));
        assert_eq!(name(Numbering::Arm, text).as_deref(), Some("getcwd"));
        assert_eq!(name(Numbering::X86, "99999 0x0 0x0\n").as_deref(), Some("syscall 99999"));
    }

    #[test]
    fn a_thread_outside_of_a_call_has_none() {
        for text in ["running\n", "-1 0x7ffd2c1f8e10 0x7f0f2c3d5e4d\n", "", "x"] {
            assert_eq!(name(Numbering::X86, text), None, "{text}");
        }
    }

    #[test]
    fn programs_of_32_bits_have_other_numbers() {
        let text = "3 0x3 0x0 0x1 0x1 0x0 0x8 0xffd2c1f8 0xf7f3d5e4\n";
        assert_eq!(name(Numbering::X86, text).as_deref(), Some("syscall 3"));
        let wide = "3 0x3 0x0 0x1 0x1 0x0 0x8 0x7ffd2c1f8e10 0x401000\n";
        assert_eq!(name(Numbering::X86, wide).as_deref(), Some("close"));
    }
}
