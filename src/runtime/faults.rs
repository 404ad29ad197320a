//! Signals of program errors: the terminal is restored, then the program dies of the signal.
#![expect(unsafe_code, reason = "sigaction has no safe wrapper that takes SIGSEGV, SIGILL and SIGFPE")]

use std::{
    io, mem, ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP, c_int, c_void, siginfo_t};
use signal_hook::low_level::emulate_default_handler;

/// The signals; behind those of faults, the instruction runs again.
const ERRORS: [c_int; 7] = [SIGABRT, SIGSYS, SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE];

/// The function that restores the terminal.
static RESTORE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// The actions before, of [`ERRORS`]: Rust's reports an overflow of the stack.
static BEFORE: [AtomicPtr<libc::sigaction>; ERRORS.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; ERRORS.len()];

/// Calls `restore` when one of these signals comes. It may do only what signal-safety(7) allows.
///
/// # Errors
/// Those of sigaction(2).
pub(super) fn watch(restore: fn()) -> io::Result<()> {
    RESTORE.store(restore as *mut (), Ordering::SeqCst);
    for (signal, before) in ERRORS.into_iter().zip(&BEFORE) {
        // SAFETY: the structure consists of integers, a set of bits and an optional function, so that zeros are a value of it.
        let [mut action, mut found]: [libc::sigaction; 2] = unsafe { mem::zeroed() };
        action.sa_sigaction = on_error as *const () as usize;
        // An overflow of the stack leaves no room on it.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: both structures outlive the calls, which read the one and write the other; `on_error` has the type that
        // SA_SIGINFO asks for and does what signal-safety(7) allows.
        let set = unsafe {
            match libc::sigaction(signal, ptr::null(), &raw mut found) {
                0 => {
                    before.store(Box::into_raw(Box::new(found)), Ordering::SeqCst);
                    libc::sigaction(signal, &raw const action, ptr::null_mut())
                }
                failed => failed,
            }
        };
        if set != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn on_error(signal: c_int, info: *const siginfo_t, _: *mut c_void) {
    let restore = RESTORE.load(Ordering::SeqCst);
    if !restore.is_null() {
        // SAFETY: only `watch` stores there, a function of this type.
        unsafe { mem::transmute::<*mut (), fn()>(restore)() };
    }
    // SAFETY: the kernel gives a handler with SA_SIGINFO the address of this structure.
    let is_fault = unsafe { (*info).si_code > 0 } && [SIGSEGV, SIGBUS, SIGILL, SIGFPE].contains(&signal);
    let before = ERRORS.iter().position(|error| *error == signal).and_then(|at| BEFORE.get(at));
    let before = before.map_or(ptr::null_mut(), |before| before.load(Ordering::SeqCst));
    if is_fault && !before.is_null() {
        // SAFETY: the structure was stored by `watch` and is never freed.
        let set = unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
        if set == 0 {
            return;
        }
    }
    // Where this fails the signal comes again.
    let _ = emulate_default_handler(signal);
}
