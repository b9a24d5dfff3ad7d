//! Options for reading one file from several replicas.

use std::time::Duration;

/// How a file is read from several replicas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicaReadOptions {
    /// Most sources to read from at once; at least 1. Default: 2.
    pub sources: usize,
    /// Wanted bytes of the file before further sources are searched for; a file with fewer has one source as
    /// long as it does not fail. Default: 8 MiB.
    pub large: u64,
    /// A request that takes this many times longer than expected is also sent to another source. Default: 4.
    pub straggler: f64,
    /// A request to a source that is silent for this long is also sent to another source; this is how long a
    /// dead source delays a read. Default: 3 s.
    pub read_timeout: Duration,
    /// How long a source rests after its first error; doubled with each further error. Default: 1 s.
    pub rest: Duration,
    /// The longest rest of a source. Default: 2 min.
    pub longest_rest: Duration,
    /// Share of the read bytes that may be spent on opening and measuring sources that are not read. Default: 0.01.
    pub probes: f64,
    /// While enough sources are read, when a further one is first opened and probed, so that slow ones do not
    /// hide a fast one; doubled with each further one. 0 for never. Default: 5 s.
    pub probe_interval: Duration,
    /// Whether events go to the logger; they are in the report in any case. Default: true.
    pub logged: bool,
}

impl Default for ReplicaReadOptions {
    fn default() -> Self {
        ReplicaReadOptions {
            sources: 2,
            large: 8 << 20,
            straggler: 4.0,
            read_timeout: Duration::from_secs(3),
            rest: Duration::from_secs(1),
            longest_rest: Duration::from_secs(120),
            probes: 0.01,
            probe_interval: Duration::from_secs(5),
            logged: true,
        }
    }
}
