//! The limits of a call that blocks: its deadline, and how to interrupt it.

use crate::{Deadline, Error, ErrorKind};
use std::fmt;
use std::time::Duration;

/// Called about ten times a second during a wait. If it returns true, the call fails with `Cancelled`.
pub type Interrupt<'a> = &'a mut dyn FnMut() -> bool;

/// The limits of a call that blocks. Every function that may wait takes one.
///
/// ```
/// use sapwood_core::{Call, Deadline};
/// use std::time::Duration;
///
/// let mut never = || false;
/// let mut call = Call::new(Deadline::after(Duration::from_secs(10)), &mut never);
/// assert!(!call.is_interrupted());
/// ```
pub struct Call<'a> {
    deadline: Deadline,
    interrupt: Interrupt<'a>,
}

impl<'a> Call<'a> {
    /// A call that fails at `deadline`, or as soon as `interrupt` returns true.
    pub fn new(deadline: Deadline, interrupt: Interrupt<'a>) -> Call<'a> {
        Call { deadline, interrupt }
    }

    /// The same call for one step of it, with at most an hour from now.
    pub fn step(&mut self) -> Call<'_> {
        self.within(Deadline::DEFAULT)
    }

    /// The same call with at most `time` from now.
    pub fn within(&mut self, time: Duration) -> Call<'_> {
        Call { deadline: self.deadline.within(time), interrupt: &mut *self.interrupt }
    }

    /// The same call with another deadline.
    pub fn until(&mut self, deadline: Deadline) -> Call<'_> {
        Call { deadline, interrupt: &mut *self.interrupt }
    }

    /// Its deadline.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// True if the caller interrupts the call.
    pub fn is_interrupted(&mut self) -> bool {
        (self.interrupt)()
    }

    /// Fails if the call is interrupted.
    ///
    /// # Errors
    /// `Cancelled` if it is interrupted.
    pub fn check(&mut self) -> Result<(), Error> {
        if self.is_interrupted() { Err(Call::interrupted()) } else { Ok(()) }
    }

    /// The error of an interrupted call.
    pub fn interrupted() -> Error {
        Error::new(ErrorKind::Cancelled, "the read was interrupted")
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
