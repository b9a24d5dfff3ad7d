//! CPU time of compression: by the codec, as ROOT's blocks, and by the bare libraries that it calls.
//!
//! `encoders FILE BYTES` splits the first bytes of a file into pieces of 64 KiB, compresses them at each setting
//! in turns, three times, and prints a line for each: setting, seconds of the codec, seconds of the library,
//! bytes of each. `bench/write.py` runs it.
#![expect(unsafe_code, clippy::print_stdout, reason = "calls C libraries, and prints the result")]

use libdeflater::{CompressionLvl, Compressor};
use sapwood_codec::{Compression, Encoder, Search};
use std::error::Error;
use std::ffi::c_int;
use std::io::Read;
use std::time::Duration;
use std::{env, fs, mem};
use zstd_safe::{CCtx, CParameter, Strategy};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PIECE: usize = 65_536;
const REPEATS: usize = 3;
const SETTINGS: [&str; 8] = ["zlib:1", "zlib:6", "lzma:4", "lz4:1", "lz4:4", "zstd:1", "zstd:5", "zstd:8"];

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, bytes] = arguments.as_slice() else {
        return Err("usage: encoders FILE BYTES".into());
    };
    let mut input = Vec::new();
    fs::File::open(path)?.take(bytes.parse()?).read_to_end(&mut input)?;
    for setting in SETTINGS {
        let compression: Compression = setting.parse()?;
        let mut best = [Duration::MAX; 2];
        let mut sizes = [0; 2];
        for _ in 0..REPEATS {
            let begin = processor_time();
            sizes[0] = by_codec(&input, compression)?;
            let middle = processor_time();
            sizes[1] = by_library(&input, setting)?;
            best[0] = best[0].min(middle - begin);
            best[1] = best[1].min(processor_time() - middle);
        }
        let [codec, library] = best.map(|time| time.as_secs_f64());
        println!("{setting} {codec:.4} {library:.4} {} {}", sizes[0], sizes[1]);
    }
    Ok(())
}

fn by_codec(input: &[u8], compression: Compression) -> Result<usize> {
    let (mut encoder, mut payload, mut total) = (Encoder::default(), Vec::new(), 0);
    for piece in input.chunks(PIECE) {
        payload.clear();
        // As baskets: metadata are searched further.
        let smaller =
            encoder.compress_basket(Search::default(), piece, piece.len(), compression, &mut payload)?;
        total += if smaller { payload.len() } else { piece.len() };
    }
    Ok(total)
}

/// What the codec asks of each library, with its context kept where it has one.
fn by_library(input: &[u8], setting: &str) -> Result<usize> {
    let (name, level) = setting.split_once(':').ok_or("no level")?;
    let level: i32 = level.parse()?;
    let mut deflate = Compressor::new(CompressionLvl::new(level.max(2)).map_err(|_| "no such level")?);
    let mut zstd = CCtx::create();
    if level == 5 {
        zstd.set_parameter(CParameter::MinMatch(5)).map_err(|_| "no such parameter")?;
        zstd.set_parameter(CParameter::SearchLog(4)).map_err(|_| "no such parameter")?;
        zstd.set_parameter(CParameter::Strategy(Strategy::ZSTD_lazy)).map_err(|_| "no such parameter")?;
    }
    let library_level = if level == 5 { 7 } else { 2 * level };
    zstd.set_parameter(CParameter::CompressionLevel(library_level)).map_err(|_| "no such level")?;
    let mut out = vec![0; PIECE];
    let mut total = 0;
    for piece in input.chunks(PIECE) {
        let room = &mut out[..piece.len()];
        let written = match name {
            "zlib" => deflate.zlib_compress(piece, room).ok(),
            "lzma" => lzma(piece, level, room),
            "lz4" => lz4(piece, level, room),
            _ => zstd.compress2(room, piece).ok(),
        };
        total += written.unwrap_or(piece.len());
    }
    Ok(total)
}

fn lz4(piece: &[u8], level: c_int, out: &mut [u8]) -> Option<usize> {
    let (from, to) = (piece.as_ptr().cast(), out.as_mut_ptr().cast());
    let (from_len, to_len) = (piece.len() as c_int, out.len() as c_int);
    // SAFETY: both pointers are valid for the lengths given with them.
    let written = unsafe {
        if level < 4 {
            lz4_sys::LZ4_compress_default(from, to, from_len, to_len)
        } else {
            lz4_sys::LZ4_compress_HC(from, to, from_len, to_len, level)
        }
    };
    usize::try_from(written).ok().filter(|&written| written > 0)
}

fn lzma(piece: &[u8], level: i32, out: &mut [u8]) -> Option<usize> {
    use liblzma_sys as xz;
    let mut written = 0;
    // SAFETY: the structure may be zero, and the preset sets it; it lives until the call returns; the filters end with the
    // unknown one; the buffers are valid for the lengths given with them.
    let status = unsafe {
        let mut options: xz::lzma_options_lzma = mem::zeroed();
        xz::lzma_lzma_preset(&raw mut options, level as u32);
        options.dict_size = options.dict_size.min((piece.len() as u32 / 4).max(xz::LZMA_DICT_SIZE_MIN));
        let mut filters = [
            xz::lzma_filter { id: xz::LZMA_FILTER_LZMA2, options: (&raw mut options).cast() },
            xz::lzma_filter { id: xz::LZMA_VLI_UNKNOWN, options: std::ptr::null_mut() },
        ];
        xz::lzma_stream_buffer_encode(
            filters.as_mut_ptr(),
            xz::LZMA_CHECK_CRC32,
            std::ptr::null(),
            piece.as_ptr(),
            piece.len(),
            out.as_mut_ptr(),
            &raw mut written,
            out.len(),
        )
    };
    (status == xz::LZMA_OK).then_some(written)
}

fn processor_time() -> Duration {
    // SAFETY: the structure may be zero, and the call sets it.
    let time = unsafe {
        let mut time: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
        time
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
