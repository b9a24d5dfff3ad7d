//! ROOT's compression blocks: decompression and compression of record payloads.
//!
//! A compressed payload is one block, or several of at most 16 MiB each; a block is a nine-byte header and a
//! stream of one of five algorithms (root-io-spec Compression §2-7). A payload does not state that it is
//! compressed: [`is_compressed`] decides from the lengths in the key.
//!
//! - [`Decoder`], [`with_decoder`]: payload → bytes; one per worker thread, its contexts are reused.
//! - [`Encoder`], [`with_encoder`]: bytes → payload, with a [`Compression`] (algorithm and level), and with a
//!   [`Search`] where that leaves open how far to search.
//! - Blocks of further [`BlockEncoding`]s, which are smaller, and which ROOT does not read: for stripes of
//!   datasets ([`Encoder::compress_stripe`], [`is_of_stripes`]).
//! - [`BlockHeader`], [`blocks`]: the structure of a payload, without decompression.
//! - [`uncompressed_len`]: the length that a payload claims, checked for plausibility before memory is
//!   allocated.

mod algorithm;
mod block;
mod compression;
mod decoder;
mod encoder;
mod lz4;
mod lzma;
mod planes;
mod search;
mod steps;
mod table;
mod zstd;

pub use algorithm::Algorithm;
pub use block::{
    Block, BlockEncoding, BlockHeader, BlockIter, HEADER_LEN, begins_block, blocks, checksummed_len,
    is_compressed, is_of_stripes, uncompressed_len,
};
pub use compression::Compression;
pub use decoder::{Decoder, with_decoder};
pub use encoder::{BLOCK_MAX, Encoder, with_encoder};
pub use search::Search;
