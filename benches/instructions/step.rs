//! Steps through a thread of another process with ptrace(2).

use std::{fs, process::Child, ptr, thread, time::Duration};

use super::Counted;

/// The instruction `syscall`, and the number of `io_uring_enter` (`arch/x86/entry/syscalls/syscall_64.tbl`).
const SYSCALL: i64 = 0x050f;
const ENTER: u64 = 426;
/// System calls before counting starts.
const BEFORE: u64 = 20;

/// Steps through the busiest thread of `child` for this many system calls, then ends it.
pub fn count(mut child: Child, calls: u64) -> Counted {
    let thread = busiest(child.id());
    seize(thread);
    let mut counted = Counted { instructions: 0, calls: 0, reads: 0 };
    let (mut seen, mut steps) = (0, 0);
    while counted.calls < calls {
        if let Some(handed_over) = enters(thread) {
            seen += 1;
            if seen > BEFORE {
                counted.instructions += steps;
                counted.calls += 1;
                counted.reads += handed_over;
            }
            steps = 0;
        }
        step(thread);
        steps += 1;
    }
    child.kill().unwrap();
    // A thread that is traced ends for its tracer first, and only then for its process.
    wait(thread);
    child.wait().unwrap();
    counted
}

/// The thread with the most CPU time after a second.
fn busiest(process: u32) -> i32 {
    thread::sleep(Duration::from_secs(1));
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let used = |id: &str| -> u64 {
        let stat = fs::read_to_string(format!("/proc/{process}/task/{id}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
    };
    let ids = tasks.map(|task| task.unwrap().file_name().into_string().unwrap());
    ids.max_by_key(|id| used(id)).unwrap().parse().unwrap()
}

fn ptrace(request: libc::c_uint, thread: i32, data: *mut libc::c_void) -> i64 {
    // SAFETY: requests about a thread that is traced; `data` is null or a structure that the request fills.
    let answer = unsafe { libc::ptrace(request, thread, ptr::null_mut::<libc::c_void>(), data) };
    assert!(answer != -1, "ptrace: {}", std::io::Error::last_os_error());
    answer
}

/// Waits until the thread stops or ends. Whether it still lives.
fn wait(thread: i32) -> bool {
    let mut status = 0;
    // SAFETY: `status` is an integer that outlives the call.
    let answer = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) };
    assert!(answer == thread, "waitpid: {}", std::io::Error::last_os_error());
    libc::WIFSTOPPED(status)
}

fn seize(thread: i32) {
    ptrace(libc::PTRACE_SEIZE, thread, ptr::null_mut());
    ptrace(libc::PTRACE_INTERRUPT, thread, ptr::null_mut());
    assert!(wait(thread), "the worker ended");
}

fn step(thread: i32) {
    ptrace(libc::PTRACE_SINGLESTEP, thread, ptr::null_mut());
    assert!(wait(thread), "the worker ended");
}

/// The reads that the thread submits, if it is about to call `io_uring_enter`.
fn enters(thread: i32) -> Option<u64> {
    // SAFETY: an all-zero structure of registers is a valid one.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    ptrace(libc::PTRACE_GETREGS, thread, (&raw mut registers).cast());
    if registers.rax != ENTER {
        return None;
    }
    // SAFETY: reads a word at the thread's instruction pointer; -1 is no text that matters here.
    let text = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, thread, registers.rip, 0) };
    (text & 0xffff == SYSCALL).then_some(registers.rsi & 0xffff_ffff)
}
