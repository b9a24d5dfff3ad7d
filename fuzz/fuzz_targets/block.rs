//! Compression blocks: three bytes of length, then a payload.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&[a, b, c], payload)) = data.split_first_chunk() else { return };
    let len = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
    if let Ok(object) = sapwood_codec::with_decoder(|decoder| decoder.decode_to_vec(payload, len)) {
        assert_eq!(object.len(), len);
    }
});
