//! The conformance suite on tables with a cache of decoded columns.

use crate::paged::subject;
use sapwood_testkit::table::check_cached;

#[test]
fn a_local_table_with_a_cache_keeps_the_contract() {
    check_cached(subject(&[7, 0, 33, 1, 20, 11], 9, false));
}

#[test]
fn a_distant_table_with_a_cache_keeps_the_contract() {
    check_cached(subject(&[12, 0, 9], 5, true));
}

#[test]
fn small_tables_with_a_cache_are_read_in_every_range() {
    check_cached(subject(&[3, 0, 0, 8, 1], 4, false));
    check_cached(subject(&[], 4, false));
}
