//! The pointer to a file of XrdCl, and the library that made it.
#![expect(unsafe_code, reason = "a pointer of C++ that threads share")]

use super::library::Library;
use std::ffi::c_void;

/// The pointer to an `XrdCl::File`.
#[derive(Clone, Copy)]
pub(super) struct Raw {
    library: &'static Library,
    pointer: *mut c_void,
}

// SAFETY: `XrdCl::File` locks by itself; any thread may call it.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Raw {
    /// # Safety
    /// The pointer must come from `new` of the library, and must not be freed while this is used.
    pub(super) unsafe fn new(library: &'static Library, pointer: *mut c_void) -> Raw {
        Raw { library, pointer }
    }

    pub(super) fn library(self) -> &'static Library {
        self.library
    }

    pub(super) fn pointer(self) -> *mut c_void {
        self.pointer
    }

    pub(super) fn address(self) -> usize {
        self.pointer.addr()
    }
}
