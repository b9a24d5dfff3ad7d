//! One object of 240 bytes in a block of each kind, made with Python's zlib, lzma, lz4, xxhash and zstandard.

/// The object.
pub(crate) fn object() -> Vec<u8> {
    (0..240_u32).map(|i| ((i % 5) * (i / 24) % 11) as u8).collect()
}

const ZLIB: &str = "\
    5a4c08350000f0000078da6dc4490100300804b1e586fa175c0393472496320fa8579e509f29a05c2bac5e1ee46a1be8\
    b526a0f2a7856e2aa80f55fa037e";
const OLD_ZLIB: &str = "\
    4353082f0000f000006dc4490100300804b1e586fa175c0393472496320fa8579e509f29a05c2bac5e1ee46a1be8b526\
    a0f2a7856e2aa80f";
const LZMA: &str = "\
    585a00780000f00000fd377a585a0000016922de360200210110000000a8708e86e000ef003b5d00006e084bd7f084cb\
    d5d62d704c988c9a9077dd3fc5334d509f34ad071121be2271330ab0dde085e40e2f41e4c781aa090b4a3c128889ab3c\
    80225c000023845f7d000153f001000000bc99c7b93e300d8b020000000001595a";
const LZ4: &str = "\
    4c3401600000f000005065a3850fbb5c9d1f000100045f04000102030500005f06080002040500005f06090100030500\
    004f040801050500024f050a04090500005f02000601070500005f0a060007030500005f05020a00080500004b090705\
    030500500009070503";
const ZSTD: &str = "\
    5a53014b0000f0000028b52ffd20f0150200b4020004000102030608000204060901000304080105050a040902000601\
    070a0600070305020a0008090705030a2890430f10fe07937184aeeb23848ec658499f0d";
const ZSTD_CHECKED: &str = "\
    5a53014f0000f0000028b52ffd24f0150200b4020004000102030608000204060901000304080105050a040902000601\
    070a0600070305020a0008090705030a2890430f10fe07937184aeeb23848ec658499f0d40adde21";

/// A block of each kind, with its tag.
pub(crate) fn all() -> [(&'static str, Vec<u8>); 6] {
    [
        ("ZL", hex(ZLIB)),
        ("CS", hex(OLD_ZLIB)),
        ("XZ", hex(LZMA)),
        ("L4", hex(LZ4)),
        ("ZS", hex(ZSTD)),
        ("ZS", hex(ZSTD_CHECKED)),
    ]
}

/// The bytes that `digits` write.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let values: Vec<u32> = digits.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    values.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}
