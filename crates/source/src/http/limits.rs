//! How HTTP servers want to be asked: sizes and numbers of requests.

/// Largest gap that is cheaper to read than to skip, where several ranges travel in one request: one more range costs a
/// header in the answer, and the server a look into its memory.
pub(super) const GAP: u64 = 4 << 10;

/// Bytes in one request. Larger ones would gain nothing and lose more when a connection breaks.
pub(super) const LARGEST_REQUEST: u64 = 16 << 20;

/// The same where every range is a request of its own: a request costs a place among those in flight.
pub(super) const GAP_OF_SINGLE_RANGES: u64 = 64 << 10;

/// Requests of one file that are in flight together, if several ranges travel in one.
pub(super) const CONCURRENCY: usize = 16;

/// The same where every range is a request of its own.
pub(super) const CONCURRENCY_OF_SINGLE_RANGES: usize = 48;
