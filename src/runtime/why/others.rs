//! CPU time of other programs during a test: that of all CPUs without this process and without kernel threads, which work for
//! the test too.

use std::collections::{BTreeMap, BTreeSet};

use procfs::{FromRead, process::Stat};

use crate::source::{SysRoot, root::text};

/// `PF_KTHREAD` of the flags (include/linux/sched.h).
const KERNEL_THREAD: u32 = 0x0020_0000;

/// CPU time in ticks since the system started, read at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Moment {
    /// Of programs and kernel threads, without interrupts.
    busy: u64,
    /// Of all CPUs, idle or not.
    all: u64,
    /// Of this process.
    own: u64,
    /// Of each kernel thread.
    kernel: BTreeMap<String, u64>,
}

/// Reads moments; remembers which processes are programs.
#[derive(Debug, Clone, Default)]
pub(super) struct CpuWatch {
    programs: BTreeSet<String>,
}

impl CpuWatch {
    /// The CPU time of now; `None` where /proc/stat cannot be read.
    pub(super) fn look(&mut self, root: &dyn SysRoot) -> Option<Moment> {
        let [busy, all] = cpu_times(text(root, "/proc/stat").value()?)?;
        let own = ticks(&stat(root, "self")?);
        let mut kernel = BTreeMap::new();
        let names = root.list("/proc").unwrap_or_default();
        for name in names.into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            if self.programs.contains(&name) {
                continue;
            }
            match stat(root, &name) {
                Some(stat) if stat.flags & KERNEL_THREAD != 0 => {
                    kernel.insert(name, ticks(&stat));
                }
                Some(_) => {
                    self.programs.insert(name);
                }
                None => {}
            }
        }
        Some(Moment { busy, all, own, kernel })
    }
}

impl Moment {
    /// Ticks that other programs used since `before`, and ticks of all CPUs.
    pub(super) fn others_since(&self, before: &Self) -> [u64; 2] {
        let busy = self.busy.saturating_sub(before.busy);
        let own = self.own.saturating_sub(before.own);
        let since = |(name, ticks): (&String, &u64)| {
            before.kernel.get(name).map_or(0, |earlier| ticks.saturating_sub(*earlier))
        };
        let kernel: u64 = self.kernel.iter().map(since).sum();
        let all = self.all.saturating_sub(before.all);
        [busy.saturating_sub(own).saturating_sub(kernel).min(all), all]
    }
}

/// Busy ticks and all ticks, by the first line of /proc/stat: `cpu user nice system idle iowait irq softirq steal ..`.
fn cpu_times(content: &str) -> Option<[u64; 2]> {
    let mut words = content.lines().next()?.split_ascii_whitespace();
    words.next().filter(|word| *word == "cpu")?;
    // Time of guests is part of that of users.
    let times: Vec<u64> = words.map_while(|word| word.parse().ok()).take(8).collect();
    let [user, nice, system, _idle, ..] = times[..] else { return None };
    let sum = |times: &[u64]| times.iter().fold(0_u64, |sum, time| sum.saturating_add(*time));
    Some([sum(&[user, nice, system]), sum(&times)])
}

fn stat(root: &dyn SysRoot, process: &str) -> Option<Stat> {
    let content = root.read(&format!("/proc/{process}/stat")).ok()?;
    Stat::from_read(&content[..]).ok()
}

const fn ticks(stat: &Stat) -> u64 {
    stat.utime.saturating_add(stat.stime)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::{capture::TextRoot, origin::Origin};

    /// /proc with a kernel thread, this process and another program, by their ticks.
    fn root(cpu: [u64; 4], kernel: u64, own: u64) -> TextRoot {
        let stat = |id: u32, flags: u32, ticks: u64| {
            format!(
                "{id} (name) S 1 1 1 0 -1 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \
                 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
            )
        };
        let [user, system, idle, irq] = cpu;
        let files = [
            ("/proc/stat", format!("cpu  {user} 0 {system} {idle} 0 {irq} 0 0 0 0")),
            ("/proc/self/stat", stat(9, 0, own)),
            ("/proc/9/stat", stat(9, 0, own)),
            ("/proc/7/stat", stat(7, KERNEL_THREAD, kernel)),
        ];
        let files = files.map(|(path, content)| format!("file {path} {content}\n")).concat();
        TextRoot::parse(&format!("iodyno capture 1\n\ndir /proc\n  7\n  9\n  self\n  stat\n{files}")).unwrap()
    }

    #[test]
    fn other_programs_are_what_neither_this_process_nor_the_kernel_used() {
        let mut watch = CpuWatch::default();
        let before = watch.look(&root([1000, 500, 8000, 10], 40, 100)).unwrap();
        let after = watch.look(&root([1100, 550, 8040, 20], 60, 130)).unwrap();
        // 150 busy, of which 30 own and 20 of the kernel thread; 200 in all.
        assert_eq!(after.others_since(&before), [100, 200]);
        assert_eq!(before.others_since(&after), [0, 0], "counters that went back");
        assert_eq!(watch.programs.iter().collect::<Vec<_>>(), ["9"]);
    }

    #[test]
    fn this_process_is_no_other_program() {
        let root = Origin::Live.open().unwrap();
        let mut watch = CpuWatch::default();
        let before = watch.look(&*root).unwrap();
        let own = || watch.clone().look(&*root).unwrap().own;
        let mut spun = 0_u64;
        while own() < before.own + 5 {
            spun = (0..100_000).fold(spun, u64::wrapping_add);
        }
        let after = watch.look(&*root).unwrap();
        let [others, all] = after.others_since(&before);
        // The kernel counts a process's time exactly and a CPU's by ticks, so that a process can be ahead of its CPU.
        let (busy, own) = (after.busy - before.busy, after.own - before.own);
        assert!(
            own >= 5 && others <= busy.saturating_sub(own),
            "{others} others of {busy} busy ticks, {own} own"
        );
        assert!(others <= all);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_parts_are_never_more_than_all(text in "(cpu )?[0-9 ]{0,80}", a in any::<[u64; 4]>(), b in any::<[u64; 4]>()) {
            if let Some([busy, all]) = cpu_times(&text) {
                prop_assert!(busy <= all);
            }
            let moment = |[busy, all, own, kernel]: [u64; 4]| Moment {
                busy, all, own, kernel: [("7".to_owned(), kernel)].into()
            };
            let [others, all] = moment(a).others_since(&moment(b));
            prop_assert!(others <= all);
        }
    }
}
