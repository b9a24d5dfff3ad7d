//! Names of objects: random, or following a random one, so that no two writers choose the same.

use sapwood_core::{Error, Result, random_bytes};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Crockford's base 32: no letters that look like digits.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Length as text: 96 bits, five per letter.
const LETTERS: u32 = 20;

/// The number of names.
const LIMIT: u128 = 1 << 96;

/// A number of 96 bits; as text, 20 letters and digits.
///
/// ```
/// use sapwood_stripe::Id;
/// let id = Id::random();
/// assert_eq!(id.to_string().parse::<Id>().unwrap(), id);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Id(u128);

impl Id {
    /// A random name.
    pub fn random() -> Id {
        Id(u128::from_le_bytes(random_bytes()) % LIMIT)
    }

    /// The lowest 64 bits, and the remaining ones.
    pub(crate) fn halves(self) -> (u64, u32) {
        (self.0 as u64, (self.0 >> 64) as u32)
    }

    pub(crate) fn from_halves(low: u64, high: u32) -> Id {
        Id(u128::from(low) | u128::from(high) << 64)
    }

    /// The distance from another name, on the circle of all names; [`Id::plus`] is the inverse.
    pub(crate) fn minus(self, other: Id) -> Id {
        Id((self.0 + LIMIT - other.0) % LIMIT)
    }

    pub(crate) fn plus(self, distance: Id) -> Id {
        Id((self.0 + distance.0) % LIMIT)
    }

    /// Length in bytes, in binary objects.
    pub(crate) const LEN: usize = 12;
    /// The smallest name.
    pub(crate) const ZERO: Id = Id(0);
}

/// Names for the objects of one writer: a random one, and its successors. Lists of them compress well.
///
/// ```
/// use sapwood_stripe::Ids;
/// let ids = Ids::new();
/// assert_ne!(ids.next(), ids.next());
/// ```
#[derive(Debug)]
pub struct Ids {
    first: Id,
    given: AtomicU64,
}

impl Ids {
    /// Starts at a random name.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Ids {
        Ids { first: Id::random(), given: AtomicU64::new(0) }
    }

    /// The next name; can be called from any thread.
    pub fn next(&self) -> Id {
        self.first.plus(Id(u128::from(self.given.fetch_add(1, Ordering::Relaxed))))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in (0..LETTERS).rev() {
            let digit = usize::try_from((self.0 >> (5 * place)) & 31).unwrap_or(0);
            write!(f, "{}", char::from(*DIGITS.get(digit).unwrap_or(&b'0')))?;
        }
        Ok(())
    }
}

impl FromStr for Id {
    type Err = Error;

    fn from_str(text: &str) -> Result<Id> {
        let digit = |byte: u8| DIGITS.iter().position(|digit| *digit == byte).map(|digit| digit as u128);
        let number = text.bytes().try_fold(0u128, |sum, byte| Some((sum << 5) | digit(byte)?));
        let legal = text.len() == LETTERS as usize;
        number
            .filter(|number| legal && number >> 96 == 0)
            .map(Id)
            .ok_or_else(|| Error::corrupt(format!("'{text}' is not the name of an object of a dataset")))
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for Id {
    type Error = Error;

    fn try_from(text: String) -> Result<Id> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_binary_and_their_distances() {
        let (low, high) = (Id(5), Id(LIMIT - 1));
        for (one, other) in [(low, high), (high, low), (low, low), (Id::random(), Id::random())] {
            assert_eq!(other.plus(one.minus(other)), one);
            let (low, high) = one.halves();
            assert_eq!(Id::from_halves(low, high), one);
        }
        assert_eq!(low.minus(high), Id(6));
    }

    #[test]
    fn names_are_read_as_they_were_written() {
        for id in [Id(0), Id((1 << 96) - 1), Id(1 << 64), Id::random()] {
            assert_eq!(id.to_string().parse::<Id>().unwrap(), id);
        }
        for wrong in ["", "0", "zzzzzzzzzzzzzzzzzzzz", "0000000000000000000u", "../../../../../../x"] {
            assert!(wrong.parse::<Id>().is_err(), "{wrong}");
        }
    }
}
