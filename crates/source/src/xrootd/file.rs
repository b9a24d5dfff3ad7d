//! A file of XrdCl and its operations.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::call::{RawChunk, Reply, begin, end, seconds};
use super::closing;
use super::library::Library;
use super::raw::Raw;
use super::status::Status;
use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use std::ffi::{CStr, CString};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot::Receiver;

/// Longest property that is read.
const PROPERTY: usize = 4096;

/// An `XrdCl::File`. Every operation keeps it alive until its answer; then it is closed in the background.
pub(super) struct File {
    raw: Raw,
    opened: Arc<AtomicBool>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("opened", &self.is_opened()).finish_non_exhaustive()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        closing::retire(self.raw, self.is_opened());
    }
}

impl File {
    /// A file that is not open yet.
    pub(super) fn new(library: &'static Library) -> Result<Arc<File>> {
        // SAFETY: it has no conditions.
        let pointer = unsafe { (library.new)() };
        if pointer.is_null() {
            return Err(Error::new(ErrorKind::Io, "XRootD's client is out of memory"));
        }
        // SAFETY: it was just made, and `closing` frees it once this file is dropped.
        let (raw, opened) = (unsafe { Raw::new(library, pointer) }, Arc::new(AtomicBool::new(false)));
        closing::register(raw, Arc::clone(&opened));
        Ok(Arc::new(File { raw, opened }))
    }

    #[cfg(test)]
    pub(super) fn raw(&self) -> Raw {
        self.raw
    }

    fn is_opened(&self) -> bool {
        self.opened.load(Ordering::Acquire)
    }

    /// Opens the file for reading.
    pub(super) async fn open(self: &Arc<Self>, url: CString, deadline: Deadline) -> Reply {
        let file = Arc::clone(self);
        // This may look up the address of the host, which takes time.
        let begun = tokio::task::spawn_blocking(move || {
            let held = Opening(Arc::clone(&file));
            begin(held, |done, context| {
                let (library, pointer) = (file.raw.library(), file.raw.pointer());
                // SAFETY: the file is held until it is open; the URL is a C string.
                unsafe { (library.open)(pointer, url.as_ptr(), seconds(deadline), done, context) };
            })
        });
        match begun.await {
            Ok(receiver) => end(receiver).await,
            Err(_) => Err(Status::unanswered()),
        }
    }

    /// Size and modification time as they were when the file was opened, without asking the server.
    pub(super) fn stat(self: &Arc<Self>, deadline: Deadline) -> impl Future<Output = Reply> + Send + use<> {
        end(self.begin_stat(false, deadline))
    }

    /// Vector reads of pieces into `buffer`, followed by a request for size and modification time. `None` if no
    /// thread can be started.
    ///
    /// A broken connection may be made again first, which looks up the address of the host and takes time.
    pub(super) async fn read_and_stat(
        self: &Arc<Self>,
        requests: Vec<Vec<BufferRange>>,
        buffer: Arc<Buffer>,
        deadline: Deadline,
    ) -> Option<(Vec<Receiver<Reply>>, Receiver<Reply>)> {
        let file = Arc::clone(self);
        let begun = tokio::task::spawn_blocking(move || {
            let reads = requests.iter().map(|pieces| file.begin_read(pieces, &buffer, deadline)).collect();
            (reads, file.begin_stat(true, deadline))
        });
        begun.await.ok()
    }

    fn begin_stat(self: &Arc<Self>, fresh: bool, deadline: Deadline) -> Receiver<Reply> {
        let (library, pointer) = (self.raw.library(), self.raw.pointer());
        begin(Arc::clone(self), |done, context| {
            // SAFETY: the file is held until the answer is there.
            unsafe { (library.stat)(pointer, fresh.into(), seconds(deadline), done, context) };
        })
    }

    fn begin_read(
        self: &Arc<Self>,
        pieces: &[BufferRange],
        buffer: &Arc<Buffer>,
        deadline: Deadline,
    ) -> Receiver<Reply> {
        let (library, pointer) = (self.raw.library(), self.raw.pointer());
        let chunks = buffer.chunks(pieces);
        let held = (Arc::clone(self), Arc::clone(buffer));
        begin(held, |done, context| {
            let (first, count, time) = (chunks.as_ptr(), chunks.len(), seconds(deadline));
            // SAFETY: the file and the memory that the chunks point into are held until the answer is there.
            unsafe { (library.vector_read)(pointer, first, count, time, done, context) };
        })
    }

    /// A property, such as `DataServer`; empty if it is not known.
    pub(super) fn property(&self, name: &CStr) -> String {
        let (library, pointer) = (self.raw.library(), self.raw.pointer());
        let mut value = vec![0_u8; PROPERTY];
        // SAFETY: the name is a C string, and no more is written than there is room for.
        let len =
            unsafe { (library.property)(pointer, name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
        value.truncate(if len < PROPERTY { len } else { 0 });
        String::from_utf8_lossy(&value).into_owned()
    }
}

/// Kept while a file is being opened; dropping it marks the file as open. (If opening failed, closing is answered at
/// once.)
struct Opening(Arc<File>);

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.opened.store(true, Ordering::Release);
    }
}

/// A range of a file, and the position of its bytes in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BufferRange {
    pub(super) range: ByteRange,
    pub(super) at: usize,
}

/// Uninitialized memory that vector reads write into.
pub(super) struct Buffer {
    memory: Vec<u8>,
    start: *mut u8,
}

// SAFETY: XrdCl writes through `start`, to parts that do not overlap; `memory` is not looked at until it has ended.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Room for `len` bytes.
    pub(super) fn new(len: u64) -> Result<Arc<Buffer>> {
        let mut memory = Vec::new();
        let room = usize::try_from(len).ok().and_then(|len| memory.try_reserve_exact(len).ok());
        room.ok_or_else(|| {
            Error::new(ErrorKind::Limit, format!("not enough memory for {len} bytes"))
                .hint("read fewer branches or entries at once")
        })?;
        let start = memory.as_mut_ptr();
        Ok(Arc::new(Buffer { memory, start }))
    }

    /// The chunks of pieces.
    fn chunks(&self, pieces: &[BufferRange]) -> Vec<RawChunk> {
        let chunk = |BufferRange { range, at }: &BufferRange| {
            let len = range.len as usize;
            assert!(len <= self.memory.capacity().saturating_sub(*at), "chunks lie in the buffer");
            // SAFETY: it lies in the memory, as was just checked.
            let into = unsafe { self.start.add(*at) };
            RawChunk { offset: range.start, length: range.len as u32, into }
        };
        pieces.iter().map(chunk).collect()
    }

    /// The first `len` bytes.
    ///
    /// # Safety
    /// Vector reads must have filled them.
    pub(super) unsafe fn into_bytes(self, len: usize) -> Bytes {
        let mut memory = self.memory;
        // SAFETY: as the caller states.
        unsafe { memory.set_len(len) };
        memory.into()
    }
}
