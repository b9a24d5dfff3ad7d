//! The cost model of HTTP servers: sizes and numbers of requests.

/// Largest gap that is cheaper to read than to skip if several ranges fit in one request: another range costs a
/// header in the answer, and the server a look-up.
pub(super) const GAP: u64 = 4 << 10;

/// Bytes in one request. Larger ones would gain nothing and lose more when a connection breaks.
pub(super) const LARGEST_REQUEST: u64 = 16 << 20;

/// The same if every range is a separate request, which occupies one of the requests in flight.
pub(super) const GAP_OF_SINGLE_RANGES: u64 = 64 << 10;

/// Requests of one file in flight together, if several ranges fit in one.
pub(super) const CONCURRENCY: usize = 16;

/// The same if every range is a separate request.
pub(super) const CONCURRENCY_OF_SINGLE_RANGES: usize = 48;
