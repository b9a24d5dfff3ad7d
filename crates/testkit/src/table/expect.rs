//! What the checks have in common: calls, expected parts of columns, and comparisons.

use sapwood_core::{Call, Column, Deadline, Interrupt, Result};
use std::ops::Range;

/// Enough that work is shared, and the same on any machine.
pub(super) const THREADS: Option<usize> = Some(2);

/// A call with much time.
pub(super) fn call(interrupt: Interrupt<'_>) -> Call<'_> {
    Call::new(Deadline::default(), interrupt)
}

/// Some entries of a whole column; fewer where it has fewer.
pub(super) fn part(whole: &Column, entries: &Range<u64>) -> Column {
    let length = whole.length as u64;
    taken(whole, entries.start.min(length)..entries.end.min(length))
}

pub(super) fn taken(whole: &Column, entries: impl IntoIterator<Item = u64>) -> Column {
    unwrapped(whole.take(entries.into_iter().map(|entry| entry as usize)), "the expected column")
}

/// What must not fail.
#[expect(clippy::panic, reason = "so a check fails")]
pub(super) fn unwrapped<T>(outcome: Result<T>, what: &str) -> T {
    outcome.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}

/// What only the data show of a form may be less where there are fewer of them.
pub(super) fn is_same(read: &Column, expected: &Column) -> bool {
    let form = expected.take([]).and_then(|form| Column::concat(vec![form, read.clone()]));
    form.is_ok_and(|read| read == *expected)
}

pub(super) fn assert_same(read: &Column, expected: &Column, what: &str) {
    assert!(is_same(read, expected), "{what}: {read:?} was read, not {expected:?}");
}
