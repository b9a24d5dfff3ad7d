//! Times as the log keeps them.

use std::time::SystemTime;

pub(super) fn now_ms() -> u64 {
    ms_of(SystemTime::now())
}

/// Milliseconds since 1970.
pub(super) fn ms_of(moment: SystemTime) -> u64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
