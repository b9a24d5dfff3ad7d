//! Numbers in environment variables: a wrong one is refused, not ignored.

use sapwood_core::{Error, Result};
use std::ops::RangeInclusive;

/// The text of a variable; `None` if it is not set.
pub(crate) fn text(variable: &str) -> Option<String> {
    std::env::var_os(variable).map(|value| value.to_string_lossy().into_owned())
}

/// The number that a variable holds as `text`.
///
/// # Errors
/// `Usage` if it is not a number in the range, with what is `expected`.
pub(crate) fn number(
    variable: &str,
    text: Option<&str>,
    range: RangeInclusive<usize>,
    expected: &str,
) -> Result<Option<usize>> {
    let Some(text) = text else { return Ok(None) };
    let number = text.trim().parse().ok().filter(|number| range.contains(number));
    number.map(Some).ok_or_else(|| Error::usage(format!("{variable} is '{text}': {expected} is expected")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        let number = |text| number("X", text, 1..=16, "a number from 1 to 16");
        assert_eq!([number(None).unwrap(), number(Some(" 16 ")).unwrap()], [None, Some(16)]);
        for wrong in ["0", "17", "", "many", "-1", "1.5"] {
            let message = number(Some(wrong)).unwrap_err().message().to_owned();
            assert_eq!(message, format!("X is '{wrong}': a number from 1 to 16 is expected"));
        }
    }
}
