//! Tests of the readers on a made format.

mod paged;
