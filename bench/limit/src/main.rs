//! The limit of reading a tree: only reads baskets, decompresses them, and byte-swaps them into new memory.
//!
//! `limit LIST THREADS [--sums]` reads the baskets in LIST (see `list.rs`), which contains all positions and uncompressed
//! sizes. It verifies no checksum and merges no reads. It prints what `measure` says; with `--sums` then a line per column
//! with the sums of its bytes.

mod list;
mod swap;

use limits::decompress::Decompressor;
use limits::{Output, Result, measure};
use list::{Basket, Column, List};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::{env, fs};

/// Memory that a thread reuses for each basket.
#[derive(Default)]
struct Scratch {
    raw: Vec<u8>,
    object: Vec<u8>,
    decompressor: Decompressor,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [list, threads, rest @ ..] = arguments.as_slice() else {
        return Err("usage: limit LIST THREADS [--sums]".into());
    };
    let list = List::parse(&fs::read_to_string(list)?)?;
    let file = File::open(&list.path)?;
    let read = |index: usize, scratch: &mut Scratch| read_column(&file, &list.columns[index], scratch);
    let outputs = measure(list.columns.len(), threads.parse()?, read)?;
    if rest.iter().any(|argument| argument == "--sums") {
        for (column, output) in list.columns.iter().zip(&outputs) {
            let values: u64 = output.values.iter().map(|&byte| u64::from(byte)).sum();
            println!("{} {values} {}", column.name, output.offsets.iter().sum::<i64>());
        }
    }
    Ok(())
}

fn read_column(file: &File, column: &Column, scratch: &mut Scratch) -> Result<Output> {
    let bytes: usize = column.baskets.iter().map(Basket::data_len).sum();
    let mut output = Output { values: Vec::with_capacity(bytes), offsets: Vec::new() };
    if column.jagged {
        let entries: usize = column.baskets.iter().map(|basket| basket.entries).sum();
        output.offsets.reserve_exact(entries + 1);
        output.offsets.push(0);
    }
    for basket in &column.baskets {
        read_basket(file, column, basket, scratch, &mut output)?;
    }
    Ok(output)
}

fn read_basket(
    file: &File,
    column: &Column,
    basket: &Basket,
    scratch: &mut Scratch,
    output: &mut Output,
) -> Result<()> {
    scratch.raw.resize(basket.nbytes - basket.keylen, 0);
    file.read_exact_at(&mut scratch.raw, basket.offset + basket.keylen as u64)?;
    let object = if basket.objlen > scratch.raw.len() {
        scratch.object.resize(basket.objlen, 0);
        scratch.decompressor.decompress(&scratch.raw, &mut scratch.object)?;
        &scratch.object
    } else {
        &scratch.raw
    };
    let (data, table) = object.split_at(basket.data_len());
    let base = output.values.len() / column.item_size;
    swap::append(data, column.item_size, &mut output.values);
    if column.jagged {
        // The table: a count, then the offset of each entry in bytes from the key; the last entry ends with the data.
        let begins = &table[4..4 * (1 + basket.entries)];
        swap::append_offsets(&begins[4..], basket.keylen, column.item_size, base, &mut output.offsets);
        output.offsets.push((base + data.len() / column.item_size) as i64);
    }
    Ok(())
}

