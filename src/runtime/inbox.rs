//! What the screen's thread receives, in order; but a signal that ends the program overtakes all, and keys wait in the terminal
//! while many of them are not taken yet.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SendError, Sender, TryRecvError},
    },
    thread,
    time::Duration,
};

use crate::app::Message;

/// A message or a signal.
#[derive(Debug)]
pub(super) enum Outside {
    Message(Message),
    /// A message of the thread that reads the terminal.
    Typed(Message),
    /// A signal that ends the program.
    Signal(i32),
    /// SIGTSTP of job control.
    Stop,
}

/// Weight of typed messages that wait at most, a key has 1: more are left to the terminal, which stops its writer.
const MOST_TYPED: usize = 1024;
/// Bytes of a paste that weigh as much as a key.
const BYTES: usize = 1024;
/// Interval at which the reader of the terminal looks whether keys were taken.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
struct Ahead {
    /// Weight of the typed messages that wait.
    typed: AtomicUsize,
    /// The signal that ends the program; 0 without one.
    ending: AtomicI32,
}

/// Where the threads that read the terminal and signals put what they get.
#[derive(Debug, Clone)]
pub(super) struct Outlet {
    sender: Sender<Outside>,
    ahead: Arc<Ahead>,
}

/// Where the screen's thread takes it.
#[derive(Debug)]
pub(super) struct Inbox {
    receiver: Receiver<Outside>,
    ahead: Arc<Ahead>,
}

pub(super) fn inbox() -> (Outlet, Inbox) {
    let (sender, receiver) = mpsc::channel();
    let ahead = Arc::<Ahead>::default();
    (Outlet { sender, ahead: Arc::clone(&ahead) }, Inbox { receiver, ahead })
}

impl Outlet {
    /// For all other threads.
    pub(super) fn sender(&self) -> Sender<Outside> {
        self.sender.clone()
    }

    /// Puts a message of the terminal; waits while many wait, unless `over` is set.
    ///
    /// # Errors
    /// Nothing takes messages any more.
    pub(super) fn typed(&self, message: Message, over: &AtomicBool) -> Result<(), SendError<Outside>> {
        while self.ahead.typed.load(Ordering::Relaxed) >= MOST_TYPED && !over.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        self.ahead.typed.fetch_add(weight(&message), Ordering::Relaxed);
        self.sender.send(Outside::Typed(message))
    }

    /// Puts a signal that ends the program before everything else.
    ///
    /// # Errors
    /// Nothing takes messages any more.
    pub(super) fn end(&self, signal: i32) -> Result<(), SendError<Outside>> {
        self.ahead.ending.store(signal, Ordering::Relaxed);
        self.sender.send(Outside::Signal(signal))
    }
}

impl Inbox {
    /// The next message or signal.
    ///
    /// # Errors
    /// There is none within the time, or all outlets are gone.
    pub(super) fn next(&self, most: Duration) -> Result<Outside, RecvTimeoutError> {
        match self.ahead.ending.load(Ordering::Relaxed) {
            0 => self.next_at_end(most),
            signal => Ok(Outside::Signal(signal)),
        }
    }

    /// The same where the signal that ends the program is known: what else there is.
    ///
    /// # Errors
    /// As those of [`Self::next`].
    pub(super) fn next_at_end(&self, most: Duration) -> Result<Outside, RecvTimeoutError> {
        self.receiver.recv_timeout(most).map(|outside| self.taken(outside))
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// There is none now, or all outlets are gone.
    pub(super) fn try_next(&self) -> Result<Outside, TryRecvError> {
        self.receiver.try_recv().map(|outside| self.taken(outside))
    }

    fn taken(&self, outside: Outside) -> Outside {
        if let Outside::Typed(message) = &outside {
            self.ahead.typed.fetch_sub(weight(message), Ordering::Relaxed);
        }
        outside
    }
}

fn weight(message: &Message) -> usize {
    match message {
        Message::Paste(text) => 1 + text.len() / BYTES,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::keymap::Key;

    #[test]
    fn a_signal_overtakes_keys() {
        let (outlet, inbox) = inbox();
        let over = AtomicBool::new(false);
        for _ in 0..10 {
            outlet.typed(Message::Key(Key::Char('k')), &over).unwrap();
        }
        outlet.end(15).unwrap();
        assert!(matches!(inbox.next(Duration::ZERO), Ok(Outside::Signal(15))));
        assert!(matches!(inbox.next(Duration::ZERO), Ok(Outside::Signal(15))), "it goes on to");
        assert!(matches!(inbox.next_at_end(Duration::ZERO), Ok(Outside::Typed(_))));
    }

    #[test]
    fn keys_wait_in_the_terminal_while_many_are_not_taken() {
        let (outlet, inbox) = inbox();
        let over = Arc::new(AtomicBool::new(false));
        let writer = {
            let over = Arc::clone(&over);
            thread::spawn(move || {
                (0..3 * MOST_TYPED).all(|_| outlet.typed(Message::Key(Key::Char('k')), &over).is_ok())
            })
        };
        let mut most = 0;
        for _ in 0..3 * MOST_TYPED {
            assert!(matches!(inbox.next(Duration::from_secs(30)), Ok(Outside::Typed(_))));
            most = most.max(inbox.ahead.typed.load(Ordering::Relaxed));
        }
        assert!(writer.join().unwrap() && most <= MOST_TYPED, "{most}");
        assert_eq!(inbox.ahead.typed.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_long_paste_weighs_as_much_as_many_keys() {
        let (outlet, inbox) = inbox();
        let paste = Message::Paste("x".repeat(MOST_TYPED * BYTES));
        outlet.typed(paste, &AtomicBool::new(false)).unwrap();
        assert!(inbox.ahead.typed.load(Ordering::Relaxed) > MOST_TYPED);
        assert!(matches!(inbox.try_next(), Ok(Outside::Typed(_))));
        assert_eq!(inbox.ahead.typed.load(Ordering::Relaxed), 0);
        // At the end the reader waits for nothing.
        outlet.typed(Message::Paste("x".repeat(MOST_TYPED * BYTES)), &AtomicBool::new(true)).unwrap();
        outlet.typed(Message::Key(Key::Char('k')), &AtomicBool::new(true)).unwrap();
    }
}
