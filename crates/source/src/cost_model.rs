//! The cost model of a source, from which the planner chooses the cheapest requests.

use std::time::Duration;

/// The round trip from which on windows and lost packets limit what one connection carries.
pub(crate) const WINDOWS_LIMIT_FROM: Duration = Duration::from_millis(5);

/// The cost model of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostModel {
    /// Largest gap in bytes between two wanted ranges that is cheaper to read than to skip. For network sources, this
    /// is for a link of the [nominal bandwidth](CostModel::NOMINAL_BANDWIDTH): the planner scales it to that measured.
    pub gap: u64,
    /// Most bytes in one request.
    pub largest_request: u64,
    /// Most ranges in one request.
    pub ranges_per_request: usize,
    /// How many requests are worth having in flight together.
    pub concurrency: usize,
    /// True if a read never waits for anything but the local machine, so that a computing task can read directly.
    pub immediate: bool,
    /// True if others use the underlying object, so that it may only be read while its own user waits for it.
    pub tied: bool,
    /// True if the source deals each request out to several connections, so that few large ones are as fast as many.
    pub deals_out: bool,
}

impl CostModel {
    /// Bytes per second of a link for which network sources state what is cheaper: 1 Gbit/s.
    pub const NOMINAL_BANDWIDTH: u64 = 125_000_000;

    /// Bytes that are in memory already.
    pub const MEMORY: CostModel = CostModel {
        gap: 0,
        largest_request: u64::MAX,
        ranges_per_request: usize::MAX,
        concurrency: 1,
        immediate: true,
        tied: false,
        deals_out: false,
    };

    /// A local file: a system call costs about as much as copying some 16 kB.
    pub const LOCAL: CostModel = CostModel {
        gap: 16 << 10,
        largest_request: 64 << 20,
        ranges_per_request: usize::MAX,
        concurrency: 4,
        immediate: true,
        tied: false,
        deals_out: false,
    };
}
