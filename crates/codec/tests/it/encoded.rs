//! Compressed payloads decompress to the original bytes.

use crate::golden;
use sapwood_codec::{Algorithm, BlockEncoding, Compression, Decoder, Encoder, Search, blocks, is_of_stripes};

const WRITTEN: [Algorithm; 5] =
    [Algorithm::Zlib, Algorithm::OldZlib, Algorithm::Lzma, Algorithm::Lz4, Algorithm::Zstd];

/// Bytes that no algorithm makes smaller.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(step).collect()
}

/// Numbers that repeat themselves here and there, as those of events do.
fn numbers(len: usize) -> Vec<u8> {
    noise(len / 4).iter().flat_map(|byte| [0, 0x3f, byte & 0x1f, *byte]).collect()
}

#[test]
fn memory_is_used_again_and_grows_only_as_far_as_blocks_decode() {
    let (object, compression) = (vec![7; 20 << 20], Compression::new(WRITTEN[0], 1).unwrap());
    let (mut decoder, mut payload) = (Decoder::default(), Vec::new());
    assert!(Encoder::default().compress(&object, compression, &mut payload).unwrap());
    let mut out = vec![1; (20 << 20) + 5];
    assert_eq!(decoder.decode_over(&payload, object.len(), &mut out).unwrap(), object.len());
    assert!(out.starts_with(&object) && out.ends_with(&[1; 5]));
    // The first block, which has just under 16 MiB, does not decode.
    payload.get_mut(9..30).unwrap().fill(0xff);
    let mut out = Vec::new();
    assert!(decoder.decode_over(&payload, object.len(), &mut out).is_err());
    assert!(out.len() < 16 << 20);
}

#[test]
fn every_algorithm_at_every_level() {
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    for object in [golden::object(), numbers(100_000), vec![0; 1000]] {
        for algorithm in WRITTEN {
            for level in 1..=9 {
                let compression = Compression::new(algorithm, level).unwrap();
                let mut payload = b"before".to_vec();
                assert!(encoder.compress(&object, compression, &mut payload).unwrap(), "{compression}");
                let payload = payload.strip_prefix(b"before").unwrap();
                assert!(payload.len() < object.len(), "{compression}");
                assert_eq!(decoder.decode_to_vec(payload, object.len()).unwrap(), object, "{compression}");
            }
        }
    }
}

/// Sentences of a few words: what a far search finds more of than a quick one.
fn sentences(len: usize) -> Vec<u8> {
    let words =
        ["muon ", "electron ", "has ", "hits ", "of ", "a ", "track ", "in ", "the ", "outer ", "layer "];
    let word = |byte: &u8| words[usize::from(*byte) % words.len()].bytes();
    noise(len).iter().flat_map(word).take(len).collect()
}

#[test]
fn the_quickest_search_that_is_enough_is_found() {
    for (algorithm, level) in [(Algorithm::Zstd, 5), (Algorithm::Zlib, 1), (Algorithm::Zlib, 6)] {
        the_quickest_search_is_found(Compression::new(algorithm, level).unwrap());
    }
    for (algorithm, level) in [(Algorithm::Lzma, 5), (Algorithm::Lz4, 5), (Algorithm::Zlib, 7)] {
        let only = Compression::new(algorithm, level).unwrap();
        let object = sentences(20_000);
        let compressed = |search| {
            let mut payload = Vec::new();
            Encoder::default().compress_basket(search, &object, object.len(), only, &mut payload).unwrap();
            payload
        };
        assert_eq!(compressed(Search::First), compressed(Search::Far), "{only}");
        let learned = Encoder::default().learn(&noise(20_000), 20_000, only, &mut vec![]).unwrap().1;
        assert_eq!(learned, Search::default());
    }
}

fn the_quickest_search_is_found(compression: Compression) {
    let mut encoder = Encoder::default();
    for object in [noise(20_000), numbers(30_000), sentences(30_000), vec![0; 30_000], vec![1], Vec::new()] {
        let mut size = |search| {
            let mut payload = Vec::new();
            let smaller =
                encoder.compress_basket(search, &object, object.len(), compression, &mut payload).unwrap();
            if !smaller {
                return object.len();
            }
            assert_eq!(Decoder::default().decode_to_vec(&payload, object.len()).unwrap(), object);
            payload.len()
        };
        let far = size(Search::Far);
        let mut payload = b"before".to_vec();
        let (smaller, search) =
            Encoder::default().learn(&object, object.len(), compression, &mut payload).unwrap();
        let payload = payload.strip_prefix(b"before").unwrap();
        let learned = if smaller { payload.len() } else { object.len() };
        assert_eq!((learned, payload.is_empty()), (size(search), !smaller));
        assert!(learned <= far + far * 14 / 1000 + 8, "{compression}, {search:?}: {learned} of {far}");
    }
    let mut found = |object: &[u8]| encoder.learn(object, object.len(), compression, &mut vec![]).unwrap().1;
    // Nothing is found in noise, however far one searches; in sentences there is.
    assert_eq!(found(&noise(20_000)), Search::First, "{compression}");
    assert_ne!(found(&sentences(30_000)), Search::First, "{compression}");
    // The beginning tells for all of a long object.
    assert_eq!(found(&noise(200_000)), Search::First, "{compression}");
}

/// A basket: entries, and the table of their offsets.
fn basket(entries: &[u8], count: u32) -> Vec<u8> {
    let offset =
        |entry: u32| 90 + (u64::from(entry) * entries.len() as u64 / u64::from(count)) as u32 / 4 * 4;
    let table = [vec![count + 1], (0..count).map(offset).collect(), vec![0]].concat();
    entries.iter().copied().chain(table.into_iter().flat_map(u32::to_be_bytes)).collect()
}

#[test]
fn tables_of_offsets_become_blocks_of_their_own() {
    let entries = numbers(60_000);
    let content = basket(&entries, 5000);
    for algorithm in WRITTEN {
        for level in 1..=9 {
            let compression = Compression::new(algorithm, level).unwrap();
            let len = |data_len: usize, expected: usize| {
                let mut payload = Vec::new();
                let mut encoder = Encoder::default();
                let search = Search::Few;
                assert!(
                    encoder.compress_basket(search, &content, data_len, compression, &mut payload).unwrap()
                );
                assert_eq!(blocks(&payload, content.len()).count(), expected, "{compression}");
                let back = Decoder::default().decode_to_vec(&payload, content.len()).unwrap();
                assert!(back == content, "{compression}");
                payload.len()
            };
            let apart = if matches!(algorithm, Algorithm::Lz4 | Algorithm::Lzma) { 1 } else { 2 };
            let (whole, parted) = (len(content.len(), 1), len(entries.len(), apart));
            assert!(parted <= whole, "{compression}: {parted} of {whole}");
            if algorithm == Algorithm::Zstd {
                // A table of 20 kB takes at most 6 bits for each of its 5,000 offsets.
                assert!(parted < whole - 3000 || level > 6, "{compression}: {parted} of {whole}");
            }
        }
    }
}

#[test]
fn entries_come_without_a_table_that_is_known() {
    let entries = numbers(60_000);
    // The second table is several blocks.
    for (count, compression) in [(5000, "zstd:5"), (200_000, "zstd:5"), (5000, "zstd:1"), (5000, "zlib:1")] {
        let content = basket(&entries, count);
        let compression: Compression = compression.parse().unwrap();
        let (mut payload, mut out) = (Vec::new(), vec![0; entries.len()]);
        Encoder::default()
            .compress_basket(Search::Far, &content, entries.len(), compression, &mut payload)
            .unwrap();
        let table = &content[entries.len()..];
        let is_zstd = compression.algorithm() == Algorithm::Zstd;
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode_before(table, &payload, &mut out).unwrap(), is_zstd);
        assert!(!is_zstd || out == entries);
        // Another table, and entries that end elsewhere.
        let mut other = table.to_vec();
        other[table.len() / 2] ^= 1;
        assert!(!decoder.decode_before(&other, &payload, &mut out).unwrap());
        let (less, more) = (&mut out[..59_996], &content[59_996..]);
        assert!(!decoder.decode_before(more, &payload, less).unwrap());
        decoder.decode_before(&[], &payload[..100], &mut out).unwrap_err();
    }
    // One block for both tells nothing of the table.
    let content = basket(&entries, 5000);
    let (mut payload, mut out) = (Vec::new(), vec![0; entries.len()]);
    Encoder::default().compress(&content, Compression::default(), &mut payload).unwrap();
    assert!(!Decoder::default().decode_before(&content[60_000..], &payload, &mut out).unwrap());
}

#[test]
fn a_table_pays_for_a_quicker_search_as_far_as_it_saves() {
    let compression = Compression::default();
    let mut encoder = Encoder::default();
    for entries in [sentences(20_000), numbers(20_000), noise(20_000)] {
        let mut size = |search| {
            let mut payload = Vec::new();
            let smaller =
                encoder.compress_basket(search, &entries, entries.len(), compression, &mut payload).unwrap();
            if smaller { payload.len() } else { entries.len() }
        };
        let far = size(Search::Far);
        for count in [10, 200, 1000, 20_000] {
            let content = basket(&entries, count);
            let (_, found) =
                Encoder::default().learn(&content, entries.len(), compression, &mut vec![]).unwrap();
            let table = content.len() - entries.len();
            let saved = if table < 512 { 0 } else { table / 5 };
            let most = saved.min(far / 5).max(far * 14 / 1000) + 8;
            assert!(size(found) <= far + most, "{found:?} beside {table} bytes: {} of {far}", size(found));
        }
    }
    let mut found = |count| {
        let content = basket(&sentences(20_000), count);
        encoder.learn(&content, 20_000, compression, &mut vec![]).unwrap().1
    };
    assert_eq!(found(10), Search::Far);
    assert_ne!(found(20_000), Search::Far);
}

#[test]
fn baskets_of_all_shapes_come_back() {
    let compression = Compression::default();
    // No bytes of entries, no table, a short table, one that is several blocks, and a length beyond the end.
    for (entries, count, data_len) in
        [(0, 3000, 0), (5000, 0, 5012), (5000, 20, 5000), (9000, 200_000, 9000), (900, 9, 99_999)]
    {
        let content = if count == 0 { numbers(entries) } else { basket(&numbers(entries), count) };
        for learn in [false, true] {
            let (mut encoder, mut payload) = (Encoder::default(), Vec::new());
            let smaller = if learn {
                encoder.learn(&content, data_len, compression, &mut payload).unwrap().0
            } else {
                encoder.compress_basket(Search::Far, &content, data_len, compression, &mut payload).unwrap()
            };
            assert!(smaller);
            assert!(Decoder::default().decode_to_vec(&payload, content.len()).unwrap() == content);
        }
    }
    // Entries that do not get smaller, beside a table that does.
    let content = basket(&noise(30_000), 5000);
    let mut payload = Vec::new();
    assert!(Encoder::default().learn(&content, 30_000, compression, &mut payload).unwrap().0);
    assert!(payload.len() < 35_000);
    assert!(Decoder::default().decode_to_vec(&payload, content.len()).unwrap() == content);
}

/// Floating-point numbers of the same order of magnitude: their first bytes are alike, the others are not.
fn floats(len: usize) -> Vec<u8> {
    noise(len * 3).as_chunks().0.iter().flat_map(|[a, b, c]| [0x42, a & 0x3f, *b, *c]).take(len).collect()
}

#[test]
fn baskets_of_stripes_have_numbers_in_planes_where_these_are_smaller() {
    let (doubles, shorts): (Vec<u8>, Vec<u8>) = (
        floats(20_000)
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|[a, b, c, d]| [64, *a, *b, *c, *d, 7, 0, 0])
            .collect(),
        noise(40_000).into_iter().flat_map(|byte| [7, byte]).collect(),
    );
    for (entries, planes) in
        [(floats(60_003), 4), (floats(1_000_002), 4), (doubles, 8), (shorts, 2), (sentences(60_000), 1)]
    {
        for (count, level) in [(0, 5), (5000, 5), (5000, 1), (5000, 9)] {
            let compression = Compression::new(Algorithm::Zstd, level).unwrap();
            let content = if count == 0 { entries.clone() } else { basket(&entries, count) };
            let (mut payload, mut for_root) = (Vec::new(), Vec::new());
            let (mut encoder, len) = (Encoder::default(), content.len());
            assert!(encoder.compress_stripe(&content, entries.len(), compression, &mut payload).unwrap());
            let forms: Vec<BlockEncoding> =
                blocks(&payload, len).map(|block| block.unwrap().header.form).collect();
            let form = if planes == 1 { BlockEncoding::Bytes } else { BlockEncoding::Planes(planes) };
            assert_eq!(forms[0], form, "{compression}");
            assert_eq!(*forms.last().unwrap() == BlockEncoding::Steps, count > 0);
            assert_eq!(is_of_stripes(&payload, len), planes > 1 || count > 0);
            assert!(Decoder::default().decode_to_vec(&payload, len).unwrap() == content);
            let mut out = vec![0; entries.len()];
            let table = &content[entries.len()..];
            assert!(Decoder::default().decode_before(table, &payload, &mut out).unwrap() && out == entries);
            encoder
                .compress_basket(Search::Far, &content, entries.len(), compression, &mut for_root)
                .unwrap();
            assert!(!is_of_stripes(&for_root, len) && payload.len() <= for_root.len() + for_root.len() / 5);
            assert!(planes == 1 || payload.len() < for_root.len());
        }
    }
    // Other algorithms have no planes, and what gets no smaller is left as it is.
    let mut payload = Vec::new();
    let others = [Algorithm::Zlib, Algorithm::Lzma, Algorithm::Lz4];
    for compression in others.map(|algorithm| Compression::new(algorithm, 5).unwrap()) {
        Encoder::default().compress_stripe(&floats(5000), 5000, compression, &mut payload).unwrap();
        assert!(!is_of_stripes(&payload, 5000));
        payload.clear();
    }
    let compression = Compression::default();
    assert!(!Encoder::default().compress_stripe(&noise(5000), 5000, compression, &mut payload).unwrap());
    assert!(
        !Encoder::default().compress_stripe(&floats(5000), 5000, Compression::NONE, &mut payload).unwrap()
    );
    assert!(!Encoder::default().compress_stripe(&[], 0, compression, &mut payload).unwrap());
    assert!(payload.is_empty());
}

#[test]
fn what_does_not_get_smaller_is_left_as_it_is() {
    for object in [noise(5000), noise(1), Vec::new()] {
        for algorithm in WRITTEN {
            let mut payload = b"before".to_vec();
            let compression = Compression::new(algorithm, 5).unwrap();
            assert!(!Encoder::default().compress(&object, compression, &mut payload).unwrap());
            assert_eq!(payload, b"before");
        }
    }
    let mut payload = Vec::new();
    assert!(!Encoder::default().compress(&[0; 1000], Compression::NONE, &mut payload).unwrap());
}

#[test]
fn an_object_longer_than_a_block_becomes_several() {
    let object = numbers((16 << 20) + 1000);
    for algorithm in [Algorithm::Zlib, Algorithm::Lz4, Algorithm::Zstd] {
        let mut payload = Vec::new();
        let compression = Compression::new(algorithm, 1).unwrap();
        assert!(Encoder::default().compress(&object, compression, &mut payload).unwrap());
        assert_eq!(blocks(&payload, object.len()).count(), 2);
        assert!(Decoder::default().decode_to_vec(&payload, object.len()).unwrap() == object);
    }
}

#[test]
fn blocks_say_what_they_are_in_roots_words() {
    let object = numbers(1000);
    for (algorithm, head) in [
        (Algorithm::Zlib, b"ZL\x08"),
        (Algorithm::Lzma, b"XZ\0"),
        (Algorithm::OldZlib, b"CS\x08"),
        (Algorithm::Lz4, b"L4\x01"),
        (Algorithm::Zstd, b"ZS\x01"),
    ] {
        let mut payload = Vec::new();
        Encoder::default().compress(&object, Compression::new(algorithm, 4).unwrap(), &mut payload).unwrap();
        assert!(payload.starts_with(head), "{algorithm}: {:?}", &payload[..3]);
    }
}
