//! How a job is replayed: over which links, and with which policy.

use crate::plan::Merging;
use sapwood_core::{Error, Result};
use std::time::Duration;

/// A model of the link to a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkModel {
    /// Time from a small request to its answer.
    pub round_trip: Duration,
    /// Bytes per second, of all requests together.
    pub bandwidth: u64,
    /// Additional time that the server takes for each request.
    pub request_cost: Duration,
    /// Requests that the server answers at the same time.
    pub concurrency: usize,
}

impl Default for LinkModel {
    /// 100 ms, 1 Gbit/s, and a server that takes no time.
    fn default() -> Self {
        let (round_trip, request_cost) = (Duration::from_millis(100), Duration::ZERO);
        LinkModel { round_trip, bandwidth: 125_000_000, request_cost, concurrency: usize::MAX }
    }
}

/// The policy of a replay. `None` keeps the current behavior.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Gaps of at most this many bytes are read, whatever the link.
    pub gap: Option<u64>,
    /// True: every chunk is a request of its own.
    pub unmerged: bool,
    /// Most ranges in one request.
    pub ranges: Option<usize>,
    /// Most requests of one file in flight together.
    pub concurrency: Option<usize>,
    /// Most bytes in one request.
    pub request: Option<u64>,
    /// Compressed bytes that are fetched together.
    pub window: Option<u64>,
    /// Windows to fetch ahead, whatever the link.
    pub ahead: Option<usize>,
    /// Lazy download in blocks of this many bytes.
    pub block: Option<u64>,
    /// Replicas to read a file from at once, if it has several.
    pub sources: Option<usize>,
}

impl Policy {
    /// Names of policies.
    pub const PRESETS: [&'static str; 7] =
        ["default", "unmerged", "gap-64k", "gap-1M", "shallow", "blocks", "replicas"];

    /// A policy by its name, by settings such as `gap=64k,ahead=4`, or by a name and settings.
    ///
    /// # Errors
    /// `Usage` for an unknown name or setting.
    pub fn parse(text: &str) -> Result<Policy> {
        let mut policy = Policy { name: text.to_owned(), ..Policy::default() };
        for part in text.split(',').map(str::trim) {
            match part.split_once('=') {
                Some((name, value)) => policy.set(name.trim(), value.trim())?,
                None => policy.follow(part)?,
            }
        }
        Ok(policy)
    }

    fn follow(&mut self, preset: &str) -> Result<()> {
        match preset {
            "default" => {}
            "unmerged" => self.unmerged = true,
            "gap-64k" => self.gap = Some(64 << 10),
            "gap-1M" => self.gap = Some(1 << 20),
            "shallow" => self.ahead = Some(1),
            "blocks" => self.block = Some(16 << 20),
            "replicas" => self.sources = Some(2),
            other => {
                let message = format!("unknown policy '{other}'");
                return Err(Error::usage(message).hint(format!(
                    "name one of {}, or settings: gap, ranges, concurrency, request, window, ahead, block, sources",
                    Self::PRESETS.join(", ")
                )));
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let wrong = || Error::usage(format!("invalid setting of a policy: {name}={value}"));
        let bytes = bytes(value).ok_or_else(wrong)?;
        let count = || usize::try_from(bytes).ok().filter(|count| *count > 0).ok_or_else(wrong);
        let size = || Some(bytes).filter(|bytes| *bytes > 0).ok_or_else(wrong);
        match name {
            "gap" => self.gap = Some(bytes),
            "ranges" => self.ranges = Some(count()?),
            "concurrency" => self.concurrency = Some(count()?),
            "request" => self.request = Some(size()?),
            "window" => self.window = Some(size()?),
            "ahead" => self.ahead = Some(count()?),
            "sources" => self.sources = Some(count()?),
            "block" => self.block = Some(bytes.max(64 << 10)),
            _ => {
                let names = "gap, ranges, concurrency, request, window, ahead, block and sources";
                let message = format!("unknown setting of a policy: '{name}'");
                return Err(Error::usage(message).hint(format!("it has {names}")));
            }
        }
        Ok(())
    }

    pub(super) fn merging(&self) -> Merging {
        match (self.unmerged, self.gap) {
            (true, _) => Merging::Never,
            (false, Some(gap)) => Merging::Gap(gap),
            (false, None) => Merging::Cheapest,
        }
    }
}

/// A number of bytes: `4096`, `64k`, `16M` or `1G`, in powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['B', 'b']).unwrap_or(text);
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let scale = match text.get(digits.len()..)? {
        "" => 1,
        "k" | "K" | "Ki" => 1 << 10,
        "M" | "Mi" => 1 << 20,
        "G" | "Gi" => 1 << 30,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_names_and_settings() {
        let policy = Policy::parse("unmerged, ahead=4,window=8MiB,concurrency=2").unwrap();
        assert!(policy.unmerged);
        assert_eq!((policy.ahead, policy.window, policy.concurrency), (Some(4), Some(8 << 20), Some(2)));
        assert_eq!(Policy::parse("gap=0").unwrap().merging(), Merging::Gap(0));
        for preset in Policy::PRESETS {
            assert_eq!(Policy::parse(preset).unwrap().name, preset);
        }
        for wrong in ["", "fastest", "gap=", "gap=-1", "ahead=0", "depth=3", "gap=1T", "window=0"] {
            assert!(Policy::parse(wrong).is_err(), "{wrong}");
        }
    }
}
