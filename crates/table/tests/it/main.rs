//! Tests of the readers on a synthetic format.

mod paged;
