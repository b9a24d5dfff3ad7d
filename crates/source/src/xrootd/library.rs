//! The functions of the shim over libXrdCl.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::call::{Done, RawChunk};
use libloading::{Library as Loaded, Symbol};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

/// `SWX_ABI` of `native/xrdcl/shim.h`.
const ABI: c_int = 3;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $answer:ty)?;)+) => {
        /// The functions of the shim; see `native/xrdcl/shim.h` for what they do.
        pub(super) struct Library {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)+
        }

        impl Library {
            /// # Safety
            /// The library must be a shim of this [`ABI`].
            unsafe fn resolve(loaded: &Loaded) -> Result<Library, libloading::Error> {
                // SAFETY: functions of these names have these types in this ABI.
                Ok(Library { $($name: *unsafe { loaded.get(concat!("swx_", stringify!($name)))? },)+ })
            }
        }
    };
}

functions! {
    get_int: fn(*const c_char, *mut c_int) -> c_int;
    set_int: fn(*const c_char, c_int) -> c_int;
    set_string: fn(*const c_char, *const c_char) -> c_int;
    new: fn() -> *mut c_void;
    free: fn(*mut c_void);
    open: fn(*mut c_void, *const c_char, u16, Done, *mut c_void);
    stat: fn(*mut c_void, c_int, u16, Done, *mut c_void);
    vector_read: fn(*mut c_void, *const RawChunk, usize, u16, Done, *mut c_void);
    close: fn(*mut c_void, u16, Done, *mut c_void);
    property: fn(*mut c_void, *const c_char, *mut c_char, usize) -> usize;
    query_config: fn(*const c_char, *const c_char, u16, Done, *mut c_void);
    query_stats: fn(*const c_char, *const c_char, u16, Done, *mut c_void);
    query_checksum: fn(*const c_char, u16, Done, *mut c_void);
    role: fn(*const c_char, u16, Done, *mut c_void);
    locate: fn(*const c_char, u16, Done, *mut c_void);
    list: fn(*const c_char, u16, Done, *mut c_void);
}

/// Loads a shim for the life of the process, or returns why that failed.
pub(super) fn load(place: &Path) -> Result<Library, String> {
    // SAFETY: loading runs the initializers of libXrdCl, which may run at any time.
    let loaded = unsafe { Loaded::new(place) }.map_err(|error| error.to_string())?;
    // SAFETY: every version of the shim has this function in this form.
    let abi = unsafe {
        let abi: Symbol<'_, unsafe extern "C" fn() -> c_int> =
            loaded.get("swx_abi").map_err(|error| error.to_string())?;
        abi()
    };
    if abi != ABI {
        return Err(format!("it has version {abi}, where {ABI} is needed; build sapwood again"));
    }
    // SAFETY: the version is that of the table.
    let library = unsafe { Library::resolve(&loaded) }.map_err(|error| error.to_string())?;
    // Threads of XrdCl run in it until the process ends.
    std::mem::forget(loaded);
    Ok(library)
}
