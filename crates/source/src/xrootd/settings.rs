//! Settings of libXrdCl, made before it is first used.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::library::Library;
use std::ffi::CStr;

/// A setting, its default, and its value here.
///
/// A value other than the default was chosen elsewhere in this process, and stays. So does one that the environment
/// sets by a variable `XRD_<NAME>`.
const NUMBERS: [(&CStr, i32, i32); 5] = [
    // How often, in seconds, timeouts are checked: with 15, a limit of 4 s is noticed after 15.
    (c"TimeoutResolution", 15, 1),
    // A server that refuses connections fails after 15 s, not after 5 × 120. The retry policy tries again.
    (c"ConnectionWindow", 120, 15),
    (c"ConnectionRetry", 5, 1),
    // After a failure, the next request connects again instead of failing for half an hour.
    (c"StreamErrorWindow", 1800, 0),
    // With several event loops, a broken connection that is made again may move to another loop while the first one
    // still works on it: client 5.5.3 then follows a null pointer, 5.9.9 and 6.2.1 do not. The default is 10 since 5.6.
    (c"ParallelEvtLoop", 10, 1),
];

/// Applies the settings.
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
    // The name of the client in the logs of servers.
    // SAFETY: both are C strings.
    unsafe { (library.set_string)(c"AppName".as_ptr(), c"sapwood".as_ptr()) };
}
