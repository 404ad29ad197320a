//! [`Effect`]: what the world is asked to do, as data.
//!
//! Carried out by `runtime::effects`; the answer, if there is one, comes back as a message.

use crate::model::Workload;

/// Something to be done outside the state.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Start a read test; answered by samples and a result.
    StartRun(Box<Workload>),
    /// Hold the test under way.
    PauseRun,
    /// Let it go on.
    ResumeRun,
    /// End it; its result comes all the same.
    StopRun,
    /// Read the machine again.
    ReadMachine,
    /// Draw everything afresh: something else wrote on the terminal.
    Redraw,
    /// Give the terminal back to the shell until it lets us go on (Ctrl-Z).
    Suspend,
    /// Leave.
    Quit,
    /// Leave as if interrupted: Ctrl-C.
    Interrupt,
}
