//! Compression settings: an algorithm and a level, as ROOT's number and as text.

use crate::Algorithm;
use crate::algorithm::Constants;
use sapwood_core::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The highest level with a meaning of its own; ROOT treats higher ones like this one.
pub(crate) const MAX_LEVEL: u8 = 9;

/// An algorithm and a level, as ROOT understands them.
///
/// ```
/// use sapwood_codec::{Algorithm, Compression};
/// let compression: Compression = "zstd:5".parse()?;
/// assert_eq!(compression, Compression::from_number(505)?);
/// assert_eq!((compression.algorithm(), compression.level()), (Algorithm::Zstd, 5));
/// assert_eq!(compression.to_string(), "zstd:5");
/// assert!(Compression::from_number(0)?.is_none());
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compression {
    algorithm: Algorithm,
    level: u8,
}

impl Compression {
    /// No compression.
    pub const NONE: Compression = Compression { algorithm: Algorithm::Zlib, level: 0 };

    /// An algorithm with a level from 0 (no compression) to 9.
    ///
    /// # Errors
    /// `Usage` for other levels.
    pub fn new(algorithm: Algorithm, level: u8) -> Result<Self> {
        if level > MAX_LEVEL {
            return Err(Error::usage(format!("unknown compression level {level}"))
                .hint("levels go from 0, which is none, to 9; zstd's own levels are twice these"));
        }
        Ok(Compression { algorithm, level })
    }

    /// From ROOT's number: algorithm × 100 + level, as in `fCompress` of files and branches. Numbers below 100
    /// mean ZLIB; levels above 9 mean 9, as in ROOT.
    ///
    /// # Errors
    /// `Usage` if there is no such algorithm.
    pub fn from_number(number: i32) -> Result<Self> {
        let (algorithm, level) = (number / 100, number % 100);
        let level = u8::try_from(level).ok().map(|level| level.min(MAX_LEVEL));
        // 0 is "the default of the process", which is ZLIB.
        let algorithm = find(|one| one.hundreds == algorithm.max(1));
        match (algorithm, level) {
            (Some(algorithm), Some(level)) => Ok(Compression { algorithm, level }),
            _ => Err(Error::usage(format!("{number} is not a compression setting of ROOT")).hint(
                "it is algorithm × 100 + level, where 1 is ZLIB, 2 LZMA, 4 LZ4, 5 ZSTD: 505, for example",
            )),
        }
    }

    /// ROOT's number; 0 for no compression.
    pub fn number(self) -> i32 {
        if self.is_none() {
            return 0;
        }
        self.algorithm.hundreds() * 100 + i32::from(self.level)
    }

    /// The algorithm; meaningless without compression.
    pub fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// The level, from 0 to 9.
    pub fn level(self) -> u8 {
        self.level
    }

    /// True if nothing is compressed.
    pub fn is_none(self) -> bool {
        self.level == 0
    }
}

impl Default for Compression {
    /// `zstd:5`: the choice of CERN's experiments.
    fn default() -> Self {
        Compression { algorithm: Algorithm::Zstd, level: 5 }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        write!(f, "{}:{}", self.algorithm.setting(), self.level)
    }
}

impl FromStr for Compression {
    type Err = Error;

    /// Parses `zstd:5`, `ZSTD-5`, `lz4` (with ROOT's level for it), `none`, or ROOT's number.
    fn from_str(text: &str) -> Result<Self> {
        if let Ok(number) = text.parse() {
            return Compression::from_number(number);
        }
        let lower = text.to_ascii_lowercase();
        if lower == "none" {
            return Ok(Compression::NONE);
        }
        let (name, level) = match lower.split_once([':', '-']) {
            Some((name, level)) => (name, Some(level)),
            None => (lower.as_str(), None),
        };
        let algorithm = find(|one| one.setting == name).ok_or_else(|| no_compression(text))?;
        let default = algorithm.usual_level();
        let level =
            level.map_or(Some(default), |level| level.parse().ok()).ok_or_else(|| no_compression(text))?;
        Compression::new(algorithm, level)
    }
}

fn find(wanted: impl Fn(&Constants) -> bool) -> Option<Algorithm> {
    Algorithm::ALL.into_iter().find(|algorithm| wanted(&algorithm.constants()))
}

fn no_compression(text: &str) -> Error {
    Error::usage(format!("'{text}' is not a compression")).hint(
        "use zlib, lzma, lz4 or zstd with a level from 1 to 9, as in zstd:5; none; or ROOT's number, as 505",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_there_and_back() {
        for number in [0, 101, 109, 207, 301, 404, 409, 505] {
            assert_eq!(Compression::from_number(number).unwrap().number(), number);
        }
        assert_eq!(Compression::from_number(1).unwrap().number(), 101);
        assert_eq!(Compression::from_number(522).unwrap().number(), 509);
        assert_eq!(Compression::from_number(500).unwrap().number(), 0);
        for number in [-1, 605, 700] {
            assert!(Compression::from_number(number).is_err(), "{number}");
        }
    }

    #[test]
    fn texts_there_and_back() {
        for text in ["none", "zlib:1", "lzma:9", "cs:6", "lz4:4", "zstd:5"] {
            assert_eq!(text.parse::<Compression>().unwrap().to_string(), text);
        }
        assert_eq!("ZSTD-7".parse::<Compression>().unwrap().number(), 507);
        assert_eq!("lz4".parse::<Compression>().unwrap().number(), 404);
        assert_eq!("207".parse::<Compression>().unwrap().number(), 207);
        for text in ["", "zip", "zstd:", "zstd:10", "zstd:-1", "lz4:x"] {
            assert!(text.parse::<Compression>().is_err(), "{text}");
        }
    }
}
