//! The shim over libXrdCl: found and loaded at the first `root://` URL, and never unloaded.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::call::{Done, RawChunk};
use super::{closing, settings};
use libloading::{Library as Loaded, Symbol};
use sapwood_core::{Error, Result};
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Names the shim, where it is not beside this library.
const VARIABLE: &str = "SAPWOOD_XRDCL";

/// The shim by the version of XRootD that it was built for; the first that can be loaded is taken.
const NAMES: [&str; 2] = ["_xrdcl6.so", "_xrdcl5.so"];

/// `SWX_ABI` of `native/xrdcl/shim.h`.
const ABI: c_int = 3;

const INSTALL: &str =
    "on Debian and Ubuntu: apt install libxrootd-client-dev g++, then build sapwood again (make build)";

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

/// The shim, loaded and set up.
///
/// # Errors
/// `Unsupported` if it is missing, with what to install.
pub(super) fn library() -> Result<&'static Library> {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    static LOADING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let library = load()?;
    settings::apply(&library);
    closing::at_exit();
    Ok(LIBRARY.get_or_init(|| library))
}

fn load() -> Result<Library> {
    let mut failures = Vec::new();
    for place in places() {
        match load_one(&place) {
            Ok(library) => return Ok(library),
            Err(failure) => failures.push(format!("{}: {failure}", place.display())),
        }
    }
    let message = match failures.is_empty() {
        true => "root:// needs XRootD's client, which sapwood was built without".to_owned(),
        false => format!("XRootD's client cannot be loaded: {}", failures.join("; ")),
    };
    Err(Error::unsupported(message).hint(INSTALL))
}

/// Where the shim may be.
fn places() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    let folder = own_path().and_then(|path| Some(path.parent()?.to_owned())).unwrap_or_default();
    NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}

/// The file of the library or program that this code is in.
fn own_path() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let here: fn() -> Option<PathBuf> = own_path;
    // SAFETY: `dladdr` looks an address up, and fills what it is given where it answers other than 0.
    let name = unsafe {
        if libc::dladdr(here as *const c_void, found.as_mut_ptr()) == 0 {
            return None;
        }
        found.assume_init().dli_fname
    };
    if name.is_null() {
        return None;
    }
    // SAFETY: it is a C string that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(name) };
    PathBuf::from(OsStr::from_bytes(name.to_bytes())).canonicalize().ok()
}

fn load_one(place: &Path) -> Result<Library, String> {
    // SAFETY: loading runs the initialisers of libXrdCl, which may run at any time.
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
