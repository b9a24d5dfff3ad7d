//! Damaged payloads give typed errors with an offset, never a panic.

use crate::golden;
use sapwood_codec::{BlockHeader, Decoder, blocks, uncompressed_len};
use sapwood_core::{Error, ErrorKind};

/// Decodes in both ways, which must agree; checks that an error has a fitting kind and an offset.
fn decode(payload: &[u8], object_len: usize) -> Result<Vec<u8>, Error> {
    let mut out = vec![0; object_len];
    let in_place = Decoder::default().decode(payload, &mut out);
    let in_vec = Decoder::default().decode_to_vec(payload, object_len);
    match (in_place, in_vec) {
        (Ok(()), Ok(vec)) => {
            assert_eq!(out, vec);
            Ok(vec)
        }
        (Err(error), Err(other)) => {
            for error in [&error, &other] {
                let kinds = [ErrorKind::Corrupt, ErrorKind::Checksum, ErrorKind::Limit];
                assert!(kinds.contains(&error.kind()), "{error:?}");
                assert!(error.offset().is_some_and(|offset| offset <= payload.len() as u64), "{error:?}");
            }
            Err(error)
        }
        (in_place, in_vec) => panic!("{in_place:?} in place, {in_vec:?} in a vector"),
    }
}

#[test]
fn every_flipped_bit_gives_the_object_or_an_error_or_passes_unchecked() {
    for (tag, block) in golden::all() {
        for bit in 0..8 * block.len() {
            let mut damaged = block.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let result = decode(&damaged, 240);
            // All but raw deflate and Zstandard without its optional checksum can tell right from wrong.
            let checked = ["ZL", "XZ", "L4"].contains(&tag);
            if let Ok(object) = result
                && checked
            {
                assert_eq!(object, golden::object(), "{tag}, bit {bit}");
            }
        }
    }
}

#[test]
fn a_wrong_checksum_is_named() {
    let (_, mut block) = golden::all()[3].clone();
    block[9] ^= 1;
    assert_eq!(decode(&block, 240).unwrap_err().kind(), ErrorKind::Checksum);
    let (_, mut block) = golden::all()[5].clone();
    *block.last_mut().unwrap() ^= 1;
    assert_eq!(decode(&block, 240).unwrap_err().kind(), ErrorKind::Checksum);
}

#[test]
fn every_truncation_is_an_error() {
    for (tag, block) in golden::all() {
        for len in 0..block.len() {
            assert_eq!(decode(&block[..len], 240).unwrap_err().kind(), ErrorKind::Corrupt, "{tag}, {len}");
            // Cut inside the stream, with a header that fits what is left.
            if len > 9 {
                let mut short = block[..len].to_vec();
                short[3..6].copy_from_slice(&(len as u32 - 9).to_le_bytes()[..3]);
                decode(&short, 240).unwrap_err();
            }
        }
    }
}

#[test]
fn a_block_that_gives_another_length_is_an_error() {
    for (tag, block) in golden::all() {
        for wrong in [1_u32, 239, 241, 500] {
            let mut damaged = block.clone();
            damaged[6..9].copy_from_slice(&wrong.to_le_bytes()[..3]);
            assert_eq!(decode(&damaged, wrong as usize).unwrap_err().kind(), ErrorKind::Corrupt, "{tag}");
        }
        for wrong in [1, 239, 241, 100_000] {
            assert_eq!(decode(&block, wrong).unwrap_err().kind(), ErrorKind::Corrupt, "{tag}");
            assert!(uncompressed_len(&block, wrong).is_err());
        }
    }
}

#[test]
fn the_second_block_is_named_by_its_offset() {
    let mut payload = golden::all()[0].1.repeat(2);
    let start = payload.len() / 2;
    payload[start + 20] ^= 0xff;
    let error = decode(&payload, 480).unwrap_err();
    assert_eq!(error.offset(), Some(start as u64));
    payload[start] = b'?';
    let error = decode(&payload, 480).unwrap_err();
    assert_eq!(error.offset(), Some(start as u64));
    assert!(error.message().contains("'?L'"), "{error}");
}

#[test]
fn a_method_that_root_refuses_is_refused() {
    for header in [&b"ZL\x07"[..], b"CS\x00", b"XZ\x01", b"ZS\x08", b"zl\x08", b"\0\0\0"] {
        let bytes = [header, &[9, 0, 0, 9, 0, 0]].concat();
        assert_eq!(BlockHeader::parse(&bytes).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    assert!(BlockHeader::parse(b"L4\x02\x09\0\0\x09\0\0").is_ok());
}

#[test]
fn an_implausible_size_is_refused_before_memory_is_taken() {
    // 16 MiB from ten bytes, and from a thousand such blocks 16 GiB.
    for header in [&b"ZL\x08"[..], b"CS\x08", b"XZ\x00", b"L4\x01", b"ZS\x01"] {
        let block = [header, &[10, 0, 0, 0xff, 0xff, 0xff], &[0; 10]].concat();
        let error = Decoder::default().decode_to_vec(&block.repeat(1000), 0xff_ffff * 1000).unwrap_err();
        assert!(error.message().contains("more than 10 bytes"), "{error}");
    }
}

#[test]
fn a_stream_that_asks_for_gigabytes_is_refused() {
    // Twelve bytes; the header's dictionary size is 4 GiB - 1, its CRC-32 agrees.
    let block = golden::hex(
        "585a004400000c0000fd377a585a0000016922de360200210128000000e6a011b3e0000b00095d003098889082ef30\
        880000000000d3415bf20001210ce3ecafa59042990d010000000001595a",
    );
    assert_eq!(decode(&block, 12).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn the_walk_ends_after_an_error() {
    let payload = b"ZL\x08\xff\x00\x00\x01\x00\x00".repeat(3);
    let found: Vec<_> = blocks(&payload, 100).collect();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_err());
}
