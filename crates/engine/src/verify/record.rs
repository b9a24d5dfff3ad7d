//! One record that is not a basket of a tree: an object, a key list, or a record that nothing refers to.

use super::basket::Verdict;
use bytes::Bytes;
use sapwood_codec::{blocks, checksummed_len};
use sapwood_core::{Error, Result};
use sapwood_root::Object;
use sapwood_root::RNTUPLES;
use sapwood_streamer::Compiler;
use sapwood_tfile::{Key, KeyEntry, Record};
use sapwood_ttree::uncompressed_record;

/// Checks that a record agrees with its key in a directory, and that its object can be read; `inside` is false if the
/// content is checked elsewhere.
pub(super) fn object(entry: &KeyEntry, bytes: &Bytes, compiler: Option<&Compiler>, inside: bool) -> Verdict {
    let record = match check_record(entry, bytes) {
        Ok(record) => record,
        Err(error) => return Verdict::Damaged(error),
    };
    let key = &entry.key;
    let elsewhere = !inside || key.is_directory() || RNTUPLES.contains(&key.class_name.as_str());
    let Some(compiler) = compiler.filter(|_| !elsewhere) else { return Verdict::Opaque };
    match Object::read(key, &record, compiler) {
        Ok(_) => Verdict::Decoded,
        Err(error) => Verdict::Undecodable(error),
    }
}

/// The record of a key, checked against the key.
fn check_record(entry: &KeyEntry, bytes: &Bytes) -> Result<Record> {
    let (key, own) = (&entry.key, Key::parse_at(bytes, entry.key.offset)?);
    let same_class = own.class_name == key.class_name || (own.is_directory() && key.is_directory());
    if !same_class || own.name != key.name || own.cycle != key.cycle {
        return Err(Error::corrupt(format!(
            "the key names '{}' ({}, cycle {}), but its record is '{}' ({}, cycle {})",
            key.name, key.class_name, key.cycle, own.name, own.class_name, own.cycle
        )));
    }
    Record::decode(key, bytes)
}

/// Checks that a record that nothing refers to is sound in itself.
///
/// # Errors
/// What is wrong with it.
pub(super) fn unowned(offset: u64, bytes: &Bytes) -> Result<()> {
    let key = Key::parse_at(bytes, offset)?;
    match key.class_name.as_str() {
        "TBasket" => uncompressed_record(bytes).map(drop),
        // Pages of RNTuples are compressed differently.
        "RBlob" => Ok(()),
        _ => Record::decode(&key, bytes).map(drop),
    }
}

/// True if a checksum covers all of a record's payload, so that it certainly was written so.
pub(super) fn is_covered(offset: u64, bytes: &[u8]) -> bool {
    let Ok(key) = Key::parse_at(bytes, offset) else { return false };
    let payload = bytes.get(key.key_len as usize..key.nbytes as usize).unwrap_or_default();
    key.is_compressed()
        && blocks(payload, key.object_len as usize).all(|block| block.is_ok_and(|block| block.has_checksum()))
}

/// Bytes of a record that a checksum covers.
pub(super) fn checksummed(offset: u64, bytes: &[u8]) -> u64 {
    let Ok(key) = Key::parse_at(bytes, offset) else { return 0 };
    let payload = bytes.get(key.key_len as usize..key.nbytes as usize).unwrap_or_default();
    checksummed_len(payload, key.object_len as usize) as u64
}
