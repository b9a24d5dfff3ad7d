//! Makes text of unknown origin safe for errors, logs and terminals: on one line, with nothing hidden.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::RangeInclusive;

/// Format characters (Unicode's category Cf) and separators of lines and paragraphs: invisible, and some of them
/// change the order in which the rest of the line is shown.
const INVISIBLE: [RangeInclusive<char>; 21] = [
    '\u{ad}'..='\u{ad}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{2064}',
    '\u{2066}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0001}'..='\u{e0001}',
    '\u{e0020}'..='\u{e007f}',
];

/// Escapes control characters, line breaks and invisible characters, as in `\x1b` and `\u202e`. Letters,
/// signs and spaces of all languages stay; escaped text stays unchanged.
///
/// Only for display: names that programs compare stay exact.
///
/// ```
/// use sapwood_core::printable;
/// assert_eq!(printable("p\u{e9}t \u{b5}"), "p\u{e9}t \u{b5}");
/// assert_eq!(printable("\u{1b}[2J\r\n\u{202e}txt"), r"\x1b[2J\r\n\u202etxt");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    // Writing to a String cannot fail.
    let _ = Escaping(&mut shown).write_str(text);
    Cow::Owned(shown)
}

/// Writes text through [`printable`].
pub(crate) struct Escaping<'a, W: Write>(pub(crate) &'a mut W);

impl<W: Write> Write for Escaping<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((before, hidden, after)) = split_at_hidden(rest) {
            self.0.write_str(before)?;
            match (hidden, u32::from(hidden)) {
                ('\n', _) => self.0.write_str("\\n")?,
                ('\r', _) => self.0.write_str("\\r")?,
                ('\t', _) => self.0.write_str("\\t")?,
                (_, code @ ..=0xff) => write!(self.0, "\\x{code:02x}")?,
                (_, code @ ..=0xffff) => write!(self.0, "\\u{code:04x}")?,
                (_, code) => write!(self.0, "\\U{code:08x}")?,
            }
            rest = after;
        }
        self.0.write_str(rest)
    }
}

/// The text before the first hidden character, that character, and the text after it.
fn split_at_hidden(text: &str) -> Option<(&str, char, &str)> {
    let (before, hidden) = text.char_indices().find(|&(_, c)| is_hidden(c))?;
    let (before, rest) = text.split_at_checked(before)?;
    Some((before, hidden, rest.get(hidden.len_utf8()..)?))
}

fn is_hidden(c: char) -> bool {
    c.is_control() || (!c.is_ascii() && INVISIBLE.iter().any(|range| range.contains(&c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_sequences_are_escaped() {
        let shown = printable("\u{1b}]0;pwned\u{7}\0\u{8}\u{7f}\u{85}\u{9b}2J");
        assert_eq!(shown, r"\x1b]0;pwned\x07\x00\x08\x7f\x85\x9b2J");
    }

    #[test]
    fn a_text_stays_on_one_line() {
        assert_eq!(printable("a\nb\r\nc\td\u{2028}e\u{2029}"), r"a\nb\r\nc\td\u2028e\u2029");
    }

    #[test]
    fn invisible_and_reordering_characters_are_escaped() {
        let all = "\u{202a}\u{202e}\u{2066}\u{2069}\u{200b}\u{200e}\u{200f}\u{61c}\u{feff}\u{ad}\u{e0041}";
        let shown = r"\u202a\u202e\u2066\u2069\u200b\u200e\u200f\u061c\ufeff\xad\U000e0041";
        assert_eq!(printable(all), shown);
    }

    #[test]
    fn ordinary_text_is_neither_changed_nor_copied() {
        let ordinary =
            "Muon_pt, \u{b5} \u{e9} e\u{301} \u{4e2d}\u{6587} \u{3b1}\u{2192}\u{3b2} \\x1b 'q' <b>";
        assert!(matches!(printable(ordinary), Cow::Borrowed(text) if text == ordinary));
    }

    #[test]
    fn escaping_is_idempotent() {
        let once = printable("\u{1b}[2J\n\u{202e}").into_owned();
        assert_eq!(printable(&once), once);
    }
}
