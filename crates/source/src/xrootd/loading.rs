//! The shim over libXrdCl: found and loaded at the first `root://` URL, and never unloaded.
#![expect(unsafe_code, reason = "functions of C")]

use super::library::{Library, load};
use super::{closing, settings};
use sapwood_core::{Error, Result};
use std::ffi::{CStr, OsStr, c_void};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The variable that names the shim, if it is not beside this library.
const VARIABLE: &str = "SAPWOOD_XRDCL";

/// The shims, by the version of XRootD they were built for; the first one that loads is used.
const NAMES: [&str; 2] = ["_xrdcl6.so", "_xrdcl5.so"];

const INSTALL: &str = "pip install 'sapwood[xrootd]'; if you build sapwood yourself, on Debian and Ubuntu: \
                       apt install libxrootd-client-dev g++, then make build";

/// The shim, loaded and configured.
///
/// # Errors
/// `Unsupported` if it is missing, with installation instructions.
pub(super) fn library() -> Result<&'static Library> {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    static LOADING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let library = find()?;
    settings::apply(&library);
    closing::at_exit();
    Ok(LIBRARY.get_or_init(|| library))
}

fn find() -> Result<Library> {
    let mut failures = Vec::new();
    for place in places() {
        match load(&place) {
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
