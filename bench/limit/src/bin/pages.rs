//! The limit of reading an RNTuple: only reads pages, decompresses them, and undoes their encoding into new memory.
//!
//! `pages LIST THREADS [--sums]`. The first line of LIST is the path of the file. A line `column NAME ENCODING SIZE` begins a
//! column of elements of SIZE bytes; each line after it is a page: offset in the file, stored and uncompressed size,
//! elements, and 1 if it is the first of its cluster. ENCODING: `bit`, `plain`, `split`, `zigzag` (and split), or `ends`
//! (split differences, whose sums become offsets of 8 bytes). No checksum is verified, and no reads are merged.

use limits::decompress::Decompressor;
use limits::{Output, Result, measure};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::{env, fs};

struct Page {
    offset: u64,
    stored: usize,
    len: usize,
    elements: usize,
    begins_cluster: bool,
}

struct Column {
    name: String,
    encoding: String,
    size: usize,
    pages: Vec<Page>,
}

/// Memory that a thread reuses for each page.
#[derive(Default)]
struct Scratch {
    raw: Vec<u8>,
    page: Vec<u8>,
    decompressor: Decompressor,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [list, threads, rest @ ..] = arguments.as_slice() else {
        return Err("usage: pages LIST THREADS [--sums]".into());
    };
    let text = fs::read_to_string(list)?;
    let (path, columns) = parse(&text)?;
    let file = File::open(path)?;
    let read = |index: usize, scratch: &mut Scratch| read_column(&file, &columns[index], scratch);
    let outputs = measure(columns.len(), threads.parse()?, read)?;
    if rest.iter().any(|argument| argument == "--sums") {
        for (column, output) in columns.iter().zip(&outputs) {
            let values: u64 = output.values.iter().map(|&byte| u64::from(byte)).sum();
            println!("{} {values} {}", column.name, output.offsets.iter().sum::<i64>());
        }
    }
    Ok(())
}

fn parse(text: &str) -> Result<(&str, Vec<Column>)> {
    let mut lines = text.lines();
    let path = lines.next().ok_or("the list is empty")?;
    let mut columns: Vec<Column> = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["column", name, encoding, size] => columns.push(Column {
                name: (*name).into(),
                encoding: (*encoding).into(),
                size: size.parse()?,
                pages: Vec::new(),
            }),
            [offset, stored, len, elements, begins] => {
                let column = columns.last_mut().ok_or("a page before the first column")?;
                column.pages.push(Page {
                    offset: offset.parse()?,
                    stored: stored.parse()?,
                    len: len.parse()?,
                    elements: elements.parse()?,
                    begins_cluster: *begins == "1",
                });
            }
            _ => return Err(format!("not a line of a list: {line}").into()),
        }
    }
    Ok((path, columns))
}

fn read_column(file: &File, column: &Column, scratch: &mut Scratch) -> Result<Output> {
    let elements: usize = column.pages.iter().map(|page| page.elements).sum();
    let mut output = Output::default();
    let is_ends = column.encoding == "ends";
    if is_ends {
        output.offsets.reserve_exact(elements + 1);
        output.offsets.push(0);
    } else {
        output.values.reserve_exact(elements * column.size);
    }
    // Ends begin again with each cluster: the sum so far is that of the clusters before.
    let mut base = 0;
    for page in &column.pages {
        scratch.raw.resize(page.stored, 0);
        file.read_exact_at(&mut scratch.raw, page.offset)?;
        let bytes = if page.len > page.stored {
            scratch.page.resize(page.len, 0);
            scratch.decompressor.decompress(&scratch.raw, &mut scratch.page)?;
            &scratch.page
        } else {
            &scratch.raw
        };
        if is_ends {
            if page.begins_cluster {
                base = output.offsets.last().copied().unwrap_or(0);
            }
            append_ends(bytes, base, &mut output.offsets);
        } else {
            append(bytes, column, page.elements, &mut output.values)?;
        }
    }
    Ok(output)
}

fn append(bytes: &[u8], column: &Column, elements: usize, out: &mut Vec<u8>) -> Result<()> {
    match (column.encoding.as_str(), column.size) {
        ("bit", _) => out.extend((0..elements).map(|bit| bytes[bit / 8] >> (bit % 8) & 1)),
        ("plain", _) | (_, 1) => out.extend_from_slice(bytes),
        ("split", 2) => unsplit::<2>(bytes, out),
        ("split", 4) => unsplit::<4>(bytes, out),
        ("split", 8) => unsplit::<8>(bytes, out),
        ("zigzag", 2) => {
            let begin = out.len();
            unsplit::<2>(bytes, out);
            for word in out[begin..].as_chunks_mut::<2>().0 {
                let value = u16::from_le_bytes(*word);
                *word = ((value >> 1) ^ (value & 1).wrapping_neg()).to_le_bytes();
            }
        }
        ("zigzag", 4) => {
            let begin = out.len();
            unsplit::<4>(bytes, out);
            for word in out[begin..].as_chunks_mut::<4>().0 {
                let value = u32::from_le_bytes(*word);
                *word = ((value >> 1) ^ (value & 1).wrapping_neg()).to_le_bytes();
            }
        }
        ("zigzag", 8) => {
            let begin = out.len();
            unsplit::<8>(bytes, out);
            for word in out[begin..].as_chunks_mut::<8>().0 {
                let value = u64::from_le_bytes(*word);
                *word = ((value >> 1) ^ (value & 1).wrapping_neg()).to_le_bytes();
            }
        }
        (encoding, size) => return Err(format!("no encoding {encoding} of {size} bytes").into()),
    }
    Ok(())
}

/// Appends the words of `SIZE` bytes whose first bytes come first in `bytes`, then their second ones, and so on.
fn unsplit<const SIZE: usize>(bytes: &[u8], out: &mut Vec<u8>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has what the function is compiled for.
        return unsafe { unsplit_avx2::<SIZE>(bytes, out) };
    }
    unsplit_any::<SIZE>(bytes, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn unsplit_avx2<const SIZE: usize>(bytes: &[u8], out: &mut Vec<u8>) {
    unsplit_any::<SIZE>(bytes, out);
}

#[inline(always)]
fn unsplit_any<const SIZE: usize>(bytes: &[u8], out: &mut Vec<u8>) {
    let count = bytes.len() / SIZE;
    let planes: [&[u8]; SIZE] = std::array::from_fn(|plane| &bytes[plane * count..][..count]);
    let room = out.spare_capacity_mut()[..count * SIZE].as_chunks_mut::<SIZE>().0;
    for (index, word) in room.iter_mut().enumerate() {
        for (byte, plane) in word.iter_mut().zip(planes) {
            byte.write(plane[index]);
        }
    }
    // SAFETY: the loop wrote that many bytes.
    unsafe { out.set_len(out.len() + count * SIZE) };
}

fn append_ends(bytes: &[u8], base: i64, out: &mut Vec<i64>) {
    let count = bytes.len() / 8;
    let planes: [&[u8]; 8] = std::array::from_fn(|plane| &bytes[plane * count..][..count]);
    let mut sum = base;
    out.extend((0..count).map(|index| {
        sum += i64::from_le_bytes(planes.map(|plane| plane[index]));
        sum
    }));
}
