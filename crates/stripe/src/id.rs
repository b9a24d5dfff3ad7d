//! Names of objects: random, so that no two writers choose the same.

use sapwood_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Crockford's base 32: no letters that look like digits.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Length as text: 96 bits, five in a letter.
const LETTERS: u32 = 20;

/// A random number of 96 bits; as text, 20 letters and digits.
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
    /// A new one.
    pub fn random() -> Id {
        Id(fastrand::u128(..1 << 96))
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
    fn names_are_read_as_they_were_written() {
        for id in [Id(0), Id((1 << 96) - 1), Id(1 << 64), Id::random()] {
            assert_eq!(id.to_string().parse::<Id>().unwrap(), id);
        }
        for wrong in ["", "0", "zzzzzzzzzzzzzzzzzzzz", "0000000000000000000u", "../../../../../../x"] {
            assert!(wrong.parse::<Id>().is_err(), "{wrong}");
        }
    }
}
