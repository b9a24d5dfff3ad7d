//! What can be chosen about reading one file from several places.

use std::time::Duration;

/// How a file is read from several places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Most sources that are read from at once; at least 1. Default: 2.
    pub sources: usize,
    /// Bytes of the file that are wanted before further sources are looked for; of a smaller file, there is one source
    /// as long as it does not fail. Default: 8 MiB.
    pub large: u64,
    /// A request that takes so many times longer than was expected is sent to another source, too. Default: 4.
    pub straggler: f64,
    /// The same, but for sources that are silent for so long; it is this time that a source that dies costs.
    /// Default: 3 s.
    pub stall: Duration,
    /// How long a source is left alone after its first error; doubled with each that follows. Default: 1 s.
    pub rest: Duration,
    /// The longest time that a source is left alone. Default: 2 min.
    pub longest_rest: Duration,
    /// Part of the bytes that are read to keep knowing what sources can do that are not used. Default: 0.01.
    pub probes: f64,
    /// Whether what happens is logged; it is in the event log anyway. Default: true.
    pub logged: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            sources: 2,
            large: 8 << 20,
            straggler: 4.0,
            stall: Duration::from_secs(3),
            rest: Duration::from_secs(1),
            longest_rest: Duration::from_secs(120),
            probes: 0.01,
            logged: true,
        }
    }
}
