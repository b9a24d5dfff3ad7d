//! Valid payloads decompress to their object.

use crate::golden;
use sapwood_codec::{Algorithm, BlockEncoding, BlockHeader, Decoder, blocks, is_compressed, with_decoder};

#[test]
fn every_kind_of_block_gives_the_object() {
    let mut decoder = Decoder::default();
    for (tag, block) in golden::all() {
        let header = BlockHeader::parse(&block).unwrap();
        match tag {
            "ZP" => assert_eq!((header.algorithm, header.form), (Algorithm::Zstd, BlockEncoding::Planes(2))),
            "ZT" => assert_eq!((header.algorithm, header.form), (Algorithm::Zstd, BlockEncoding::Steps)),
            _ => assert_eq!((header.algorithm.tag(), header.form), (tag, BlockEncoding::Bytes)),
        }
        assert_eq!(header.compressed, block.len() - 9);
        let mut out = vec![0xaa; header.uncompressed];
        decoder.decode(&block, &mut out).unwrap();
        assert_eq!(out, golden::object(), "{tag}");
        assert_eq!(decoder.decode_to_vec(&block, out.len()).unwrap(), out, "{tag}");
    }
}

#[test]
fn blocks_of_different_kinds_follow_one_another() {
    let payload = golden::all().map(|(_, block)| block).concat();
    let expected = golden::object().repeat(8);
    let mut out = vec![0; expected.len()];
    with_decoder(|decoder| decoder.decode(&payload, &mut out)).unwrap();
    assert_eq!(out, expected);
    assert_eq!(Decoder::default().decode_to_vec(&payload, expected.len()).unwrap(), expected);

    let found: Vec<_> = blocks(&payload, expected.len()).map(|block| block.unwrap()).collect();
    assert_eq!(found.len(), 8);
    assert_eq!(found[0].header.algorithm, Algorithm::Zlib);
    assert_eq!(found[1].offset, 9 + found[0].data.len());
}

#[test]
fn bytes_after_the_object_are_ignored() {
    for (tag, mut block) in golden::all() {
        block.extend(b"12345678");
        assert_eq!(Decoder::default().decode_to_vec(&block, 240).unwrap(), golden::object(), "{tag}");
    }
}

#[test]
fn an_empty_object_needs_no_block() {
    assert_eq!(Decoder::default().decode_to_vec(b"", 0).unwrap(), b"");
}

#[test]
fn a_full_block_of_zeros_is_plausible_for_its_algorithm() {
    // 16 MiB - 1 of zeros, as zstandard and lzma compress them: the best ratios that occur.
    let size = 0xff_ffff;
    let mut frame = golden::hex("28b52ffda0ffffff00");
    for _ in 0..127 {
        frame.extend([0x02, 0x00, 0x10, 0x00]);
    }
    frame.extend([0xfb, 0xff, 0x0f, 0x00]);
    let mut payload = b"ZS\x01".to_vec();
    payload.extend(&u32::try_from(frame.len()).unwrap().to_le_bytes()[..3]);
    payload.extend([0xff; 3]);
    payload.extend(frame);
    assert!(Decoder::default().decode_to_vec(&payload, size).unwrap() == vec![0; size]);
}

#[test]
fn a_decoder_can_be_asked_for_while_one_is_in_use() {
    let (_, block) = golden::all()[1].clone();
    let nested = with_decoder(|_| with_decoder(|inner| inner.decode_to_vec(&block, 240)));
    assert_eq!(nested.unwrap(), golden::object());
}

#[test]
fn a_payload_as_long_as_its_object_is_stored() {
    assert!(is_compressed(11, 10));
    assert!(!is_compressed(10, 10));
    assert!(!is_compressed(723, 755));
}
