//! A shim for tests: vector reads stay outstanding until the test answers them.
#![expect(unsafe_code, reason = "the other side of the C border")]

use super::call::{Done, RawChunk, RawResult};
use super::file::File;
use super::library::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;

/// Size of every file.
pub(super) const SIZE: u64 = 1000;

/// A connection that broke: `XrdCl::errSocketError`.
pub(super) const SOCKET_ERROR: u16 = 102;

/// A vector read that has no answer yet.
pub(super) struct PendingCalls {
    chunks: Vec<(u64, u32, *mut u8)>,
    done: Done,
    context: *mut c_void,
}

// SAFETY: only one thread at a time has it.
unsafe impl Send for PendingCalls {}

type FakeFile = Mutex<Vec<PendingCalls>>;

impl PendingCalls {
    /// The offsets that it requests.
    pub(super) fn offsets(&self) -> Vec<u64> {
        self.chunks.iter().map(|(offset, ..)| *offset).collect()
    }

    /// Answers; every byte is the last of its offset.
    pub(super) fn succeed(self) {
        let mut value = 0;
        for &(offset, length, into) in &self.chunks {
            for i in 0..length as usize {
                // SAFETY: whoever asked keeps the memory until the answer.
                unsafe { into.add(i).write((offset as usize + i) as u8) };
            }
            value += u64::from(length);
        }
        self.complete(0, 0, value);
    }

    /// Answers with a failure.
    pub(super) fn fail(self, code: u16) {
        self.complete(1, code, 0);
    }

    fn complete(self, status: u16, code: u16, value: u64) {
        // SAFETY: the context is that which came with `done`, and is used once.
        unsafe { complete(self.done, self.context, status, code, value) };
    }
}

/// Takes the vector reads of a file that have no answer yet.
pub(super) fn outstanding(file: &File) -> Vec<PendingCalls> {
    // SAFETY: `new` made it, and the file is there.
    let fake = unsafe { &*file.raw().pointer().cast::<FakeFile>() };
    std::mem::take(&mut *fake.lock().unwrap())
}

pub(super) fn library() -> &'static Library {
    Box::leak(Box::new(Library {
        get_int,
        set_int,
        set_string,
        new,
        free,
        open,
        stat,
        vector_read,
        close,
        property,
        query_config,
        query_stats: query_config,
        query_checksum: list,
        role: list,
        locate: list,
        list,
    }))
}

unsafe fn complete(done: Done, context: *mut c_void, status: u16, code: u16, value: u64) {
    let text: &CStr = c"";
    let result = RawResult { status, code, server_number: 0, value, modified: 1, text: text.as_ptr() };
    // SAFETY: as the caller states.
    unsafe { done(context, &raw const result) };
}

unsafe extern "C" fn get_int(_: *const c_char, _: *mut c_int) -> c_int {
    0
}

unsafe extern "C" fn set_int(_: *const c_char, _: c_int) -> c_int {
    0
}

unsafe extern "C" fn set_string(_: *const c_char, _: *const c_char) -> c_int {
    0
}

unsafe extern "C" fn new() -> *mut c_void {
    Box::into_raw(Box::new(FakeFile::default())).cast()
}

unsafe extern "C" fn free(file: *mut c_void) {
    // SAFETY: `new` made it, and nobody uses it any more.
    drop(unsafe { Box::from_raw(file.cast::<FakeFile>()) });
}

unsafe extern "C" fn open(_: *mut c_void, _: *const c_char, _: u16, done: Done, context: *mut c_void) {
    // SAFETY: the context is that of `done`.
    unsafe { complete(done, context, 0, 0, 0) };
}

unsafe extern "C" fn stat(_: *mut c_void, _: c_int, _: u16, done: Done, context: *mut c_void) {
    // SAFETY: the context is that of `done`.
    unsafe { complete(done, context, 0, 0, SIZE) };
}

unsafe extern "C" fn vector_read(
    file: *mut c_void,
    chunks: *const RawChunk,
    count: usize,
    _: u16,
    done: Done,
    context: *mut c_void,
) {
    // SAFETY: the array has `count` chunks.
    let chunks = unsafe { std::slice::from_raw_parts(chunks, count) };
    let chunks = chunks.iter().map(|chunk| (chunk.offset, chunk.length, chunk.into)).collect();
    // SAFETY: `new` made it, and the file is there.
    let fake = unsafe { &*file.cast::<FakeFile>() };
    fake.lock().unwrap().push(PendingCalls { chunks, done, context });
}

unsafe extern "C" fn close(_: *mut c_void, _: u16, done: Done, context: *mut c_void) {
    // SAFETY: the context is that of `done`.
    unsafe { complete(done, context, 0, 0, 0) };
}

unsafe extern "C" fn property(_: *mut c_void, _: *const c_char, _: *mut c_char, _: usize) -> usize {
    0
}

unsafe extern "C" fn query_config(
    _: *const c_char,
    _: *const c_char,
    _: u16,
    done: Done,
    context: *mut c_void,
) {
    // SAFETY: the context is that of `done`.
    unsafe { complete(done, context, 0, 0, 0) };
}

unsafe extern "C" fn list(_: *const c_char, _: u16, done: Done, context: *mut c_void) {
    // SAFETY: the context is that of `done`.
    unsafe { complete(done, context, 0, 0, 0) };
}
