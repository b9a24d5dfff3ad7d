//! The decompressed payload of a record: the bytes of one object.

use crate::reader::Reader;
use crate::{Cursor, Key};
use bytes::Bytes;
use sapwood_core::{Error, Result};

/// The bytes of one object, ready to be parsed.
#[derive(Debug, Clone)]
pub struct Record {
    /// The object: `object_len` bytes.
    pub payload: Bytes,
    /// Bytes of the key before it. References inside the object count from the key (Buffer §1).
    pub key_len: u32,
    /// Offset of the record in the file.
    pub offset: u64,
    /// True if the payload was compressed, so that positions in it are not file offsets.
    pub compressed: bool,
}

impl Record {
    /// Decodes the object of a record from its bytes, including the key.
    ///
    /// `key` is the key through which the record was found: in a directory's list, or at the head of the
    /// record.
    ///
    /// # Errors
    /// `Corrupt` if the record's own key and `key` differ in lengths or offset, or if the payload does not
    /// decompress to the stated length; `Checksum` if a checksum does not match.
    pub fn decode(key: &Key, record: &Bytes) -> Result<Record> {
        let own = Key::parse_at(record, key.offset)?;
        if (own.nbytes, own.key_len, own.object_len) != (key.nbytes, key.key_len, key.object_len) {
            let message = format!("the key of '{}' does not match its record", key.name);
            return Err(Error::corrupt(message).at(key.offset));
        }
        let stored = record.slice_ref(payload_of(key, record)?);
        let compressed = key.is_compressed();
        let object_len = key.object_len as usize;
        let payload = if compressed {
            let payload = sapwood_codec::with_decoder(|decoder| decoder.decode_to_vec(&stored, object_len));
            Bytes::from(payload.map_err(|error| error.at(key.offset))?)
        } else {
            stored.slice(..object_len)
        };
        Ok(Record { payload, key_len: key.key_len, offset: key.offset, compressed })
    }

    /// Reads the record that a key names. `None` if bytes are missing; the reader keeps their ranges.
    pub(crate) fn read(reader: &mut Reader<'_>, key: &Key) -> Result<Option<Record>> {
        let what = format!("'{}'", key.name);
        match reader.get(key.offset, u64::from(key.nbytes), &what)? {
            Some(bytes) => Record::decode(key, &bytes).map(Some),
            None => Ok(None),
        }
    }

    /// A cursor over the object.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.payload, self.key_len)
    }

    /// Adds the file offset to an error of [`cursor`](Record::cursor); `what` names the object.
    ///
    /// Inside a compressed object, the offset is that of the record; the message then has the position after
    /// decompression.
    pub fn locate(&self, what: &str, error: &Error) -> Error {
        let mut message = format!("{what} is broken: {}", error.message());
        let mut at = self.offset;
        match error.offset() {
            Some(position) if self.compressed => {
                message = format!("{message}, {position} bytes into the decompressed object");
            }
            Some(position) => at = at.saturating_add(u64::from(self.key_len)).saturating_add(position),
            None => {}
        }
        Error::new(error.kind(), message).at(at)
    }
}

/// The object in the bytes of a record, as it is stored.
pub(crate) fn payload_of<'a>(key: &Key, record: &'a [u8]) -> Result<&'a [u8]> {
    let mut cursor = Cursor::new(record, 0).at_offset(key.offset);
    cursor.skip(key.key_len as usize)?;
    cursor.bytes(key.payload_len() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::key_bytes;
    use sapwood_core::ErrorKind;

    fn record(payload: &[u8]) -> (Key, Bytes) {
        let mut bytes = key_bytes(50, 0, "X", "x", u32::try_from(payload.len()).unwrap());
        bytes.extend(payload);
        (Key::parse_at(&bytes, 50).unwrap(), bytes.into())
    }

    #[test]
    fn a_plain_record_shares_memory() {
        let (key, bytes) = record(b"object");
        let record = Record::decode(&key, &bytes).unwrap();
        assert_eq!(&record.payload[..], b"object");
        assert_eq!(record.payload.as_ptr(), bytes[key.key_len as usize..].as_ptr());
        let error = record.locate("it", &record.cursor().corrupt_at(2, "x"));
        assert_eq!(error.offset(), Some(50 + u64::from(key.key_len) + 2));
    }

    #[test]
    fn a_compressed_record() {
        // 27 zeros, as ROOT's ZSTD writes them: a block header and one repeated byte.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 27, 0xdb, 0, 0, 0];
        let mut stored = b"ZS\x01".to_vec();
        stored.extend([10, 0, 0, 27, 0, 0]);
        stored.extend(frame);
        let (mut key, bytes) = record(&stored);
        key.object_len = 27;
        let mut bytes = bytes.to_vec();
        bytes[9] = 27;
        let record = Record::decode(&key, &bytes.into()).unwrap();
        assert_eq!(&record.payload[..], [0; 27]);
        let error = record.locate("it", &record.cursor().corrupt_at(2, "x"));
        assert_eq!(error.to_string(), "it is broken: x, 2 bytes into the decompressed object (at byte 50)");
    }

    #[test]
    fn a_record_that_its_key_does_not_describe() {
        let (mut key, bytes) = record(b"object");
        key.object_len = 5;
        assert_eq!(Record::decode(&key, &bytes).unwrap_err().kind(), ErrorKind::Corrupt);
        let (key, bytes) = record(b"object");
        let cut = bytes.slice(..bytes.len() - 1);
        assert_eq!(Record::decode(&key, &cut).unwrap_err().kind(), ErrorKind::Truncated);
    }
}
