//! The compression algorithms, and all constants that differ between them.

use std::fmt;

/// How a block is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// `ZL`: deflate in zlib's wrapping.
    Zlib,
    /// `CS`: raw deflate, from writers before 5.11.
    OldZlib,
    /// `XZ`: an xz stream of LZMA2.
    Lzma,
    /// `L4`: an LZ4 block after its 64-bit checksum.
    Lz4,
    /// `ZS`: a Zstandard frame.
    Zstd,
}

/// What is constant for an algorithm.
pub(crate) struct Constants {
    /// The name in reports.
    name: &'static str,
    /// The name in settings such as `zstd:5`.
    pub(crate) setting: &'static str,
    /// The hundreds of ROOT's compression setting.
    pub(crate) hundreds: i32,
    /// The level that ROOT recommends (root-io-spec Compression, and RCompressionSetting of ROOT).
    pub(crate) level: u8,
    /// The two letters at the start of a block.
    tag: &'static str,
    /// The method byte after the tag (root-io-spec Compression §3).
    method: u8,
    /// An upper bound of bytes out per byte in.
    max_ratio: usize,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Zlib, Algorithm::OldZlib, Algorithm::Lzma, Algorithm::Lz4, Algorithm::Zstd];

    #[rustfmt::skip]
    pub(crate) const fn constants(self) -> Constants {
        match self {
            // Deflate's longest match is 258 bytes in two bits.
            Algorithm::Zlib => Constants {
                name: "ZLIB", setting: "zlib", hundreds: 1, level: 1, tag: "ZL", method: 8, max_ratio: 1032,
            },
            Algorithm::OldZlib => Constants {
                name: "ZLIB (old)", setting: "cs", hundreds: 3, level: 1, tag: "CS", method: 8, max_ratio: 1032,
            },
            // At least 0.3 bits for 273 bytes: a ratio of 7,100.
            Algorithm::Lzma => Constants {
                name: "LZMA", setting: "lzma", hundreds: 2, level: 7, tag: "XZ", method: 0, max_ratio: 1 << 13,
            },
            // Each length byte adds 255.
            Algorithm::Lz4 => Constants {
                name: "LZ4", setting: "lz4", hundreds: 4, level: 4, tag: "L4", method: 1, max_ratio: 255,
            },
            // Four bytes repeat a byte for 128 KiB.
            Algorithm::Zstd => Constants {
                name: "ZSTD", setting: "zstd", hundreds: 5, level: 5, tag: "ZS", method: 1, max_ratio: 1 << 15,
            },
        }
    }

    /// The name in settings such as `zstd:5`.
    pub const fn setting(self) -> &'static str {
        self.constants().setting
    }

    /// The hundreds of ROOT's compression setting: 5 for ZSTD.
    pub const fn hundreds(self) -> i32 {
        self.constants().hundreds
    }

    /// The level that ROOT recommends.
    pub const fn usual_level(self) -> u8 {
        self.constants().level
    }

    /// The two letters of the tag.
    pub const fn tag(self) -> &'static str {
        self.constants().tag
    }

    /// The tag and the method byte.
    pub(crate) fn tag_bytes(self) -> [u8; 3] {
        let Constants { tag, method, .. } = self.constants();
        let [first, second] = tag.as_bytes().first_chunk().copied().unwrap_or_default();
        [first, second, method]
    }

    /// The algorithm of a tag and its method byte, as strict as ROOT is: for LZ4, the byte is a version that ROOT does
    /// not check (root-io-spec Compression §3).
    pub(crate) fn of(tag: [u8; 2], method: u8) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.tag().as_bytes() == tag)?;
        (method == found.constants().method || found == Algorithm::Lz4).then_some(found)
    }

    /// An upper bound of bytes out per byte in.
    pub(crate) const fn max_ratio(self) -> usize {
        self.constants().max_ratio
    }

    /// True if the stream of a block carries a checksum of its data or content.
    pub(crate) fn has_checksum(self, stream: &[u8]) -> bool {
        let byte = |at: usize| stream.get(at).copied().unwrap_or(0);
        match self {
            Algorithm::Zlib | Algorithm::Lz4 => true,
            Algorithm::OldZlib => false,
            // The stream flags of xz name the type of check; 0 is none (xz file format §2.1.1.2).
            Algorithm::Lzma => byte(7) & 0x0f != 0,
            // Bit 2 of a frame's descriptor: Content_Checksum_flag (RFC 8878 §3.1.1.1.1).
            Algorithm::Zstd => byte(4) & 4 != 0,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.constants().name)
    }
}
