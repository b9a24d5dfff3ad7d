//! Settings of libXrdCl, made before it is first used.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::library::Library;
use std::ffi::CStr;

/// A setting, what it is by default, and what it is here.
///
/// Where its value is not the default, somebody else in this process chose it, and it stays. So it does where the
/// environment has a variable `XRD_<NAME>`.
const NUMBERS: [(&CStr, i32, i32); 5] = [
    // How often, in seconds, limits of time are looked after: with 15, a limit of 4 s is noticed after 15.
    (c"TimeoutResolution", 15, 1),
    // A server that cannot be connected to fails after 15 s, not after 5 × 120. `reading` tries again.
    (c"ConnectionWindow", 120, 15),
    (c"ConnectionRetry", 5, 1),
    // After a failure the next request connects again, instead of failing for half an hour.
    (c"StreamErrorWindow", 1800, 0),
    (c"ParallelEvtLoop", 1, 2),
];

/// Makes the settings.
pub(super) fn apply(library: &Library) {
    for (name, default, wanted) in NUMBERS {
        let mut value = default;
        // SAFETY: the name is a C string, the value a place for a number.
        unsafe {
            (library.get_int)(name.as_ptr(), &raw mut value);
            if value == default {
                (library.set_int)(name.as_ptr(), wanted);
            }
        }
    }
    // What servers write in their records.
    // SAFETY: both are C strings.
    unsafe { (library.set_string)(c"AppName".as_ptr(), c"sapwood".as_ptr()) };
}
