//! Parses `/proc/PID/stat` and `/proc/PID/task/TID/stat` (`proc_pid_stat(5)`).

use crate::source::fields::{number, words};

/// `PF_KTHREAD` of the flags (include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The fields used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    /// `comm`, which may contain blanks and parentheses.
    pub(super) command: &'a [u8],
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) is_kernel: bool,
    /// `utime`, ticks.
    pub(super) user: u64,
    /// `utime` and `stime`, ticks.
    pub(super) cpu: u64,
    /// `cminflt`: page faults of children that it has waited for; 0 as long as there were none.
    pub(super) child_faults: u64,
    /// `cutime` and `cstime` of these, ticks.
    pub(super) child_cpu: u64,
    /// `nice`, -20 to 19.
    pub(super) nice: i64,
    pub(super) threads: u64,
    /// Ticks after boot.
    pub(super) started: u64,
}

impl<'a> Stat<'a> {
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let (open, close) = (text.iter().position(|b| *b == b'(')?, text.iter().rposition(|b| *b == b')')?);
        let command = text.get(open + 1..close)?;
        // Field 3 comes first behind the command.
        let mut fields = words(&text[close + 1..]);
        let [state, ..] = fields.next()? else { return None };
        let mut skip = |count: usize| number(fields.nth(count)?);
        let parent = u32::try_from(skip(0)?).ok()?;
        let flags = skip(4)?;
        let child_faults = skip(1)?;
        let user = skip(2)?;
        let cpu = user.checked_add(skip(0)?)?;
        let child_cpu = skip(0)?.saturating_add(skip(0)?);
        // Priority and nice may be negative.
        let nice = str::from_utf8(fields.nth(1)?).ok()?.parse().ok()?;
        let mut skip = |count: usize| number(fields.nth(count)?);
        let (threads, started) = (skip(0)?, skip(1)?);
        Some(Self {
            command,
            state: char::from(*state),
            parent,
            is_kernel: flags & KERNEL_THREAD != 0,
            user,
            cpu,
            child_faults,
            child_cpu,
            nice,
            threads,
            started,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_command_may_contain_what_delimits_it() {
        let text = b"42 (a) R (b) c) D 1 42 42 0 -1 4194304 9 0 0 0 120 30 0 0 20 -5 7 0 5555 16 1 2\n";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.command, stat.state, stat.is_kernel), (&b"a) R (b) c"[..], 'D', false));
        assert_eq!((stat.parent, stat.cpu, stat.nice, stat.threads, stat.started), (1, 150, -5, 7, 5555));
    }

    #[test]
    fn kernel_threads_have_their_flag() {
        let text = b"12 (kworker/0:1H-kblockd) I 2 0 0 0 -1 69238880 0 0 0 0 0 3 0 0 0 -20 1 0 27 0\n";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.command, stat.is_kernel, stat.cpu), (&b"kworker/0:1H-kblockd"[..], true, 3));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(text in prop::collection::vec(prop::sample::select(b"() 019RS-\n\xff".to_vec()), 0..160)) {
            if let Some(stat) = Stat::parse(&text) {
                prop_assert!(text.contains(&b')') && stat.command.len() < text.len());
            }
        }

        #[test]
        fn fields_stand_where_the_manual_says(command in "[ -~]{0,15}", fields in prop::array::uniform16(any::<u32>())) {
            let [ppid, group, session, tty, flags, f1, f2, f3, f4, user, system, c1, c2, threads, old, started] = fields;
            let text = format!(
                "7 ({command}) S {ppid} {group} {session} {tty} -1 {flags} {f1} {f2} {f3} {f4} {user} {system} {c1} {c2} -3 -20 \
                 {threads} {old} {started} 0 0\n"
            );
            let stat = Stat::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(stat.command, command.as_bytes());
            prop_assert_eq!((stat.user, stat.cpu), (u64::from(user), u64::from(user) + u64::from(system)));
            prop_assert_eq!((stat.child_faults, stat.child_cpu), (u64::from(f2), u64::from(c1) + u64::from(c2)));
            prop_assert_eq!((stat.threads, stat.started), (u64::from(threads), u64::from(started)));
            prop_assert_eq!(stat.parent, ppid);
            prop_assert_eq!(stat.is_kernel, flags & 0x0020_0000 != 0);
        }
    }
}
