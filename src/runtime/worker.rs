//! [`Worker`]: carries requests out in their order, on a thread beside the screen, or at once where there is no screen.

use std::{
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use super::run::LOOK;

/// Carries out a request, or goes on with what is in progress; whether it wants to be called again without a request.
type CarryOut<R> = Box<dyn FnMut(Option<R>) -> bool>;

pub(super) enum Worker<R> {
    Thread(Option<(Sender<R>, JoinHandle<()>)>),
    Inline(CarryOut<R>),
}

impl<R: Send + 'static> Worker<R> {
    /// Starts it; `make` is called where the requests are carried out.
    pub(super) fn start<C>(inline: bool, make: impl FnOnce() -> C + Send + 'static) -> Self
    where
        C: FnMut(Option<R>) -> bool + 'static,
    {
        if inline {
            return Self::Inline(Box::new(make()));
        }
        let (sender, requests) = mpsc::channel();
        let thread = thread::spawn(move || {
            let (mut carry_out, mut busy) = (make(), false);
            loop {
                let wait = if busy { LOOK } else { Duration::MAX };
                busy = match requests.recv_timeout(wait) {
                    Ok(request) => carry_out(Some(request)),
                    Err(RecvTimeoutError::Timeout) => carry_out(None),
                    Err(RecvTimeoutError::Disconnected) => return,
                };
            }
        });
        Self::Thread(Some((sender, thread)))
    }

    /// Asks for something.
    pub(super) fn ask(&mut self, request: R) {
        match self {
            // A thread that panicked has ended the program already.
            Self::Thread(Some((sender, _))) => drop(sender.send(request)),
            Self::Thread(None) => {}
            Self::Inline(carry_out) => drop(carry_out(Some(request))),
        }
    }

    /// Goes on with what is in progress; a thread does so by itself.
    pub(super) fn look(&mut self) {
        if let Self::Inline(carry_out) = self {
            carry_out(None);
        }
    }
}

impl<R> Worker<R> {
    /// Ends what is in progress and waits for it.
    pub(super) fn end(&mut self) {
        match self {
            Self::Thread(running) => {
                if let Some((sender, thread)) = running.take() {
                    drop(sender);
                    // A panic there has restored everything on its way out.
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
