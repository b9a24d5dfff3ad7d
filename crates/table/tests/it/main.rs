//! Tests of the readers on a synthetic format.

mod cached;
mod paged;
