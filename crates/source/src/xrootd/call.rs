//! One operation of XrdCl as a future, and the data that crosses the C border.
#![expect(unsafe_code, reason = "memory passes through C and back")]

use super::status::Status;
use sapwood_core::Deadline;
use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use tokio::sync::oneshot;

/// `struct swx_chunk`.
#[repr(C)]
pub(super) struct RawChunk {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) into: *mut u8,
}

/// `struct swx_result`.
#[repr(C)]
pub(super) struct RawResult {
    pub(super) status: u16,
    pub(super) code: u16,
    pub(super) server_number: u32,
    pub(super) value: u64,
    pub(super) modified: u64,
    pub(super) text: *const c_char,
}

/// `swx_done`.
pub(super) type Done = unsafe extern "C" fn(*mut c_void, *const RawResult);

/// The answer to an operation.
#[derive(Debug, Clone, Default)]
pub(super) struct OperationAnswer {
    /// The number of bytes that were read, or the size of the file.
    pub(super) value: u64,
    /// When the file was modified, in seconds since 1970.
    pub(super) modified: u64,
    pub(super) text: String,
}

/// The result of an operation.
pub(super) type Reply = Result<OperationAnswer, Status>;

/// What an operation needs until XrdCl answers: where the answer goes, and the memory that XrdCl works on.
///
/// If nothing waits for the answer any more, a late answer still finds and frees this.
struct PendingOperation {
    reply: oneshot::Sender<Reply>,
    held: Box<dyn Any + Send>,
}

/// Starts an operation. `start` passes its two arguments on to the shim, as `done` and `context`, and
/// `held` is kept until the operation is over.
pub(super) fn begin(
    held: impl Any + Send,
    start: impl FnOnce(Done, *mut c_void),
) -> oneshot::Receiver<Reply> {
    let (reply, receiver) = oneshot::channel();
    start(done, Box::into_raw(Box::new(PendingOperation { reply, held: Box::new(held) })).cast());
    receiver
}

/// Waits for the end of an operation.
pub(super) async fn end(receiver: oneshot::Receiver<Reply>) -> Reply {
    // The sender is dropped only after it has sent.
    receiver.await.unwrap_or_else(|_| Err(Status::unanswered()))
}

/// XrdCl's own time limit for an operation: a second safety net behind the deadline.
pub(super) fn seconds(deadline: Deadline) -> u16 {
    u16::try_from(deadline.remaining().as_secs().saturating_add(2)).unwrap_or(u16::MAX)
}

/// Completes all operations. Called by threads of XrdCl: it does not wait and does not panic.
unsafe extern "C" fn done(context: *mut c_void, result: *const RawResult) {
    // SAFETY: `context` is what `begin` gave, and the shim completes an operation once.
    let pending = unsafe { Box::from_raw(context.cast::<PendingOperation>()) };
    // SAFETY: the shim passes a result whose text is a C string, both valid during this call.
    let reply = unsafe { read(&*result) };
    let PendingOperation { reply: sender, held } = *pending;
    // Before the answer is sent: the receiver may then take what was shared.
    drop(held);
    let _ = sender.send(reply);
}

/// # Safety
/// The text must be a C string.
unsafe fn read(result: &RawResult) -> Reply {
    // SAFETY: as the caller states.
    let text = unsafe { CStr::from_ptr(result.text) }.to_string_lossy().into_owned();
    match result.status {
        0 => Ok(OperationAnswer { value: result.value, modified: result.modified, text }),
        _ => Err(Status { code: result.code, number: result.server_number, text, server: String::new() }),
    }
}
