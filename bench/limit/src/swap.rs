//! Conversion from big-endian to the machine's byte order, with AVX2 if available.

/// Appends the numbers of `data`, of `size` bytes each; `out` has room for them.
pub fn append(data: &[u8], size: usize, out: &mut Vec<u8>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has what the function is compiled for.
        return unsafe { append_avx2(data, size, out) };
    }
    append_any(data, size, out);
}

/// Appends the offsets of entries, in items from the start of the column. `table` has them in bytes from the start of the
/// key, which has `keylen` bytes; `base` items came before.
pub fn append_offsets(table: &[u8], keylen: usize, size: usize, base: usize, out: &mut Vec<i64>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has what the function is compiled for.
        return unsafe { append_offsets_avx2(table, keylen, size, base, out) };
    }
    append_offsets_any(table, keylen, size, base, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn append_avx2(data: &[u8], size: usize, out: &mut Vec<u8>) {
    append_any(data, size, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn append_offsets_avx2(table: &[u8], keylen: usize, size: usize, base: usize, out: &mut Vec<i64>) {
    append_offsets_any(table, keylen, size, base, out);
}

#[inline(always)]
fn append_any(data: &[u8], size: usize, out: &mut Vec<u8>) {
    match size {
        1 => out.extend_from_slice(data),
        2 => append_words::<2>(data, out),
        4 => append_words::<4>(data, out),
        _ => append_words::<8>(data, out),
    }
}

#[inline(always)]
fn append_words<const SIZE: usize>(data: &[u8], out: &mut Vec<u8>) {
    let room = &mut out.spare_capacity_mut()[..data.len()];
    for (target, word) in room.chunks_exact_mut(SIZE).zip(data.chunks_exact(SIZE)) {
        for i in 0..SIZE {
            target[i].write(word[SIZE - 1 - i]);
        }
    }
    // SAFETY: the loop wrote that many bytes; the data of a basket is whole numbers.
    unsafe { out.set_len(out.len() + data.len() / SIZE * SIZE) };
}

#[inline(always)]
fn append_offsets_any(table: &[u8], keylen: usize, size: usize, base: usize, out: &mut Vec<i64>) {
    let shift = size.trailing_zeros();
    out.extend(table.chunks_exact(4).map(|word| {
        let bytes = u32::from_be_bytes([word[0], word[1], word[2], word[3]]) - keylen as u32;
        i64::from(bytes >> shift) + base as i64
    }));
}
