//! ROOT's compression blocks: from the bytes of a record to the object that was compressed, and back.
//!
//! A compressed payload is one block, or several of at most 16 MiB each; a block is nine bytes of header and a
//! stream of one of five algorithms (root-io-spec Compression §2-7). Nothing in a payload says that it is
//! compressed: [`is_compressed`] decides from the lengths in the key.
//!
//! - [`Decoder`], [`with_decoder`]: payload → bytes; one per worker thread, its contexts are reused.
//! - [`Encoder`], [`with_encoder`]: bytes → payload, by a [`Compression`]: algorithm and level; by a [`Search`], where these
//!   leave open how far to search.
//! - Blocks of further [`BlockEncoding`]s, which are smaller, and which ROOT does not read: for stripes of datasets
//!   ([`Encoder::compress_stripe`], [`is_of_stripes`]).
//! - [`BlockHeader`], [`blocks`]: what a payload consists of, without decompressing it.
//! - [`uncompressed_len`]: how long a payload claims to be, checked for plausibility before memory is taken.

mod block;
mod compression;
mod decoder;
mod encoder;
mod lz4;
mod lzma;
mod planes;
mod steps;
mod table;
mod zstd;

pub use block::{
    Algorithm, Block, BlockEncoding, BlockHeader, Blocks, HEADER_LEN, begins_block, blocks, checksummed_len,
    is_compressed, is_of_stripes, uncompressed_len,
};
pub use compression::Compression;
pub use decoder::{Decoder, with_decoder};
pub use encoder::{BLOCK_MAX, Encoder, with_encoder};
pub use zstd::Search;
