//! A record: its key and its payload.
#![no_main]

use bytes::Bytes;
use sapwood_tfile::{Key, Record};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(key) = Key::parse_at(data, 0) else { return };
    assert!(key.nbytes >= key.key_len);
    if let Ok(record) = Record::decode(&key, &Bytes::copy_from_slice(data)) {
        assert_eq!(record.payload.len(), key.object_len as usize);
    }
});
