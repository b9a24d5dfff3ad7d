//! The header of every object: its kind, the version of the format, and a checksum of the content.

use crate::wire::{Reader, checksum};
use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, Result};

/// Not text, and not the beginning of any other format; line ends reveal a transfer that changed them.
const MAGIC: [u8; 8] = *b"\x89SAPW\r\n\x1a";
/// The version of the format.
const VERSION: u8 = 1;
/// Features that a reader must know; none so far.
const READER_FEATURES: u32 = 0;
/// Features that a writer to a dataset must know.
const WRITER_FEATURES: u32 = JOBS;
/// A snapshot names the jobs whose receipts are in it: a writer that derives another snapshot must name them,
/// too.
pub(crate) const JOBS: u32 = 1;

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// The description of a dataset, written once (`fmt`).
    Format = 1,
    /// A version (`snap/…`).
    Snapshot = 2,
    /// Stripe lists (`list/…`).
    List = 3,
    /// A stripe, or a group of them (`d/…`).
    Stripe = 4,
    /// Run, luminosity block and event number of each entry (`d/…`).
    Events = 5,
    /// JSON: an entry of the log, a tag, a lease (`log/…`, `ref/…`, `lease/…`).
    Record = 6,
}

impl ObjectKind {
    const ALL: [ObjectKind; 6] = [
        ObjectKind::Format,
        ObjectKind::Snapshot,
        ObjectKind::List,
        ObjectKind::Stripe,
        ObjectKind::Events,
        ObjectKind::Record,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Format => "a description of a dataset",
            ObjectKind::Snapshot => "a snapshot",
            ObjectKind::List => "a stripe list",
            ObjectKind::Stripe => "a stripe",
            ObjectKind::Events => "an index of events",
            ObjectKind::Record => "a record",
        }
    }
}

/// The header of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// What it is.
    pub kind: ObjectKind,
    /// Feature bits that a writer must know.
    pub writer_features: u32,
    /// Length of the content.
    pub len: u64,
    /// XXH64 of the content.
    pub checksum: u64,
}

impl Envelope {
    /// Length in bytes.
    pub const LEN: usize = 64;

    /// Reads the first [`Envelope::LEN`] bytes of an object.
    ///
    /// # Errors
    /// `Truncated` if there are fewer; `Corrupt` if they are of something else; `Checksum` if they were
    /// changed; `Unsupported` for a later version of the format, or unknown features.
    pub fn parse(object: &[u8]) -> Result<Envelope> {
        let header = Reader::new(object, "an object of a dataset").take(Envelope::LEN)?;
        let mut reader = Reader::new(header, "an object of a dataset");
        if reader.array()? != MAGIC {
            return Err(Error::corrupt("this is not an object of a dataset").at(0));
        }
        let [kind, version, compression, reserved] = reader.array()?;
        let (readers, writers, header_len) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (stored, len, body, more) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        if reader.u64()? != checksum(header.get(..Envelope::LEN - 8).unwrap_or_default()) {
            return Err(
                Error::new(ErrorKind::Checksum, "the header of an object of a dataset is damaged").at(0)
            );
        }
        let unknown = |what: String| Err(Error::unsupported(what).at(8).hint("a newer sapwood can read it"));
        if version != VERSION {
            return unknown(format!("an object has version {version} of the format of datasets"));
        }
        if readers & !READER_FEATURES != 0 {
            return unknown(format!(
                "an object needs features of datasets that are not known ({readers:#x})"
            ));
        }
        if (compression, reserved, header_len, more) != (0, 0, Envelope::LEN as u32, 0) || stored != len {
            return unknown("an object has a header in a form that is not known".into());
        }
        let Some(kind) = ObjectKind::ALL.into_iter().find(|known| *known as u8 == kind) else {
            return unknown(format!("an object is of kind {kind}, which is unknown"));
        };
        Ok(Envelope { kind, writer_features: writers, len, checksum: body })
    }

    /// Feature bits that a writer must know, and this one does not.
    pub fn unknown(&self) -> u32 {
        self.writer_features & !WRITER_FEATURES
    }

    fn to_bytes(self) -> [u8; Envelope::LEN] {
        let mut header = [0; Envelope::LEN];
        let features = [READER_FEATURES, self.writer_features, Envelope::LEN as u32];
        let numbers = [self.len, self.len, self.checksum, 0];
        let fields = (MAGIC.into_iter())
            .chain([self.kind as u8, VERSION, 0, 0])
            .chain(features.into_iter().flat_map(u32::to_le_bytes))
            .chain(numbers.into_iter().flat_map(u64::to_le_bytes));
        header.iter_mut().zip(fields).for_each(|(byte, value)| *byte = value);
        let sum = checksum(header.get(..Envelope::LEN - 8).unwrap_or_default()).to_le_bytes();
        header.iter_mut().skip(Envelope::LEN - 8).zip(sum).for_each(|(byte, value)| *byte = value);
        header
    }
}

/// Wraps content in an object.
///
/// ```
/// use sapwood_stripe::{ObjectKind, seal, unseal};
/// let object = seal(ObjectKind::Format, b"{}");
/// assert_eq!(unseal(ObjectKind::Format, &object)?, "{}");
/// # Ok::<(), sapwood_core::Error>(())
/// ```
pub fn seal(kind: ObjectKind, content: &[u8]) -> Bytes {
    seal_with(kind, 0, content)
}

/// Wraps content in an object that only writers with these features may build upon.
pub(crate) fn seal_with(kind: ObjectKind, writer_features: u32, content: &[u8]) -> Bytes {
    let mut object = Vec::with_capacity(Envelope::LEN + content.len());
    object.resize(Envelope::LEN, 0);
    object.extend(content);
    close_with(kind, writer_features, object)
}

/// Writes the header of an object, whose first [`Envelope::LEN`] bytes were left free.
pub(crate) fn close(kind: ObjectKind, object: Vec<u8>) -> Bytes {
    close_with(kind, 0, object)
}

fn close_with(kind: ObjectKind, writer_features: u32, mut object: Vec<u8>) -> Bytes {
    if let Some((header, content)) = object.split_at_mut_checked(Envelope::LEN) {
        let (len, checksum) = (content.len() as u64, checksum(content));
        let envelope = Envelope { kind, writer_features, len, checksum };
        header.copy_from_slice(&envelope.to_bytes());
    }
    object.into()
}

/// Returns the content of a whole object of that kind.
///
/// # Errors
/// As [`Envelope::parse`]; `Corrupt` if the object is of another kind, or longer than its header says,
/// `Truncated` if it is shorter, `Checksum` if its content was changed.
pub fn unseal(kind: ObjectKind, object: &Bytes) -> Result<Bytes> {
    let envelope = Envelope::parse(object)?;
    if envelope.kind != kind {
        let message = format!("an object is {}, not {}", envelope.kind.name(), kind.name());
        return Err(Error::corrupt(message).at(8));
    }
    let content = object.slice(Envelope::LEN..);
    let (has, says) = (content.len() as u64, envelope.len);
    if has != says {
        let short = if has < says { ErrorKind::Truncated } else { ErrorKind::Corrupt };
        let message = format!("{} has {has} bytes of content, its header says {says}", kind.name());
        return Err(Error::new(short, message).at(24));
    }
    if checksum(&content) != envelope.checksum {
        let message = format!("the checksum of {} does not match its content", kind.name());
        return Err(Error::new(ErrorKind::Checksum, message).at(Envelope::LEN as u64));
    }
    Ok(content)
}
