//! [`Worker`]: carries requests out in order, on a thread or, without a screen, at once.

use std::{
    io,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::JoinHandle,
    time::Duration,
};

use super::{beside, run::LOOK};

/// Carries out a request, or continues without one; whether it wants to continue.
type CarryOut<R> = Box<dyn FnMut(Option<R>) -> bool>;

pub(super) enum Worker<R> {
    Thread(Option<(Sender<R>, JoinHandle<()>)>),
    Inline(CarryOut<R>),
}

impl<R: Send + 'static> Worker<R> {
    /// `make` is called on the thread of the requests.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn start<C>(inline: bool, make: impl FnOnce() -> C + Send + 'static) -> io::Result<Self>
    where
        C: FnMut(Option<R>) -> bool + 'static,
    {
        if inline {
            return Ok(Self::Inline(Box::new(make())));
        }
        let (sender, requests) = mpsc::channel();
        let thread = beside::start(move || {
            let (mut carry_out, mut busy) = (make(), false);
            loop {
                let wait = if busy { LOOK } else { Duration::MAX };
                busy = match requests.recv_timeout(wait) {
                    Ok(request) => carry_out(Some(request)),
                    Err(RecvTimeoutError::Timeout) => carry_out(None),
                    Err(RecvTimeoutError::Disconnected) => return,
                };
            }
        })?;
        Ok(Self::Thread(Some((sender, thread))))
    }

    pub(super) fn ask(&mut self, request: R) {
        match self {
            // A panic of the thread has ended the program.
            Self::Thread(Some((sender, _))) => drop(sender.send(request)),
            Self::Thread(None) => {}
            Self::Inline(carry_out) => drop(carry_out(Some(request))),
        }
    }

    /// Continues, without a thread.
    pub(super) fn look(&mut self) {
        if let Self::Inline(carry_out) = self {
            carry_out(None);
        }
    }
}

impl<R> Worker<R> {
    /// Waits for the request in progress and ends.
    pub(super) fn end(&mut self) {
        match self {
            Self::Thread(running) => {
                if let Some((sender, thread)) = running.take() {
                    drop(sender);
                    // A panic there has restored settings by drop.
                    let _ = thread.join();
                }
            }
            Self::Inline(carry_out) => *carry_out = Box::new(|_| false),
        }
    }
}

impl<R> Drop for Worker<R> {
    fn drop(&mut self) {
        self.end();
    }
}
