//! Notes about an upload, kept on this machine so that a later run can resume it: its id at the store, the parts that
//! were sent, and those that are held back until the end.
//!
//! A note has three pieces, each after its length in 8 little-endian bytes: JSON, the bytes of the parts that are
//! held back, and the note of the writer. Each note holds what is new since the one before.

use super::journal::Journal;
use super::parts::{UploadParts, offset_of};
use object_store::multipart::PartId;
use sapwood_credentials::Environment;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh64::xxh64;

/// The journal of an upload, and the note that waits to be written.
#[derive(Debug)]
pub(super) struct UploadJournal {
    journal: Journal,
    id: String,
    /// All parts before `reached` were sent or are held back; those before `noted` are in the journal.
    reached: usize,
    noted: usize,
    noted_held: usize,
    /// A note to write once all parts that begin before this number of bytes were sent.
    waiting: Option<(u64, Vec<u8>)>,
}

/// What an earlier run kept.
#[derive(Debug, Default)]
pub(super) struct UploadState {
    /// The id of the upload at the store.
    pub(super) id: String,
    pub(super) done: BTreeMap<usize, PartId>,
    pub(super) held: BTreeMap<usize, Vec<u8>>,
    /// The notes of the writer.
    pub(super) notes: Vec<u8>,
}

/// Where the journal of an upload is; `None` if this machine has no place for it.
pub(super) fn place(environment: &Environment, url: &str) -> Option<PathBuf> {
    let state = environment.get("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(environment.home()?.join(".local/state")))?;
    Some(state.join("sapwood/uploads").join(format!("{:016x}.journal", xxh64(url.as_bytes(), 0))))
}

/// Makes the directory of a journal, readable by this user only; false if that fails.
pub(super) fn make_directory(journal: &Path) -> bool {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    journal.parent().is_some_and(|directory| builder.create(directory).is_ok())
}

/// Removes a useless journal.
pub(super) fn forget(journal: &Path) {
    // An error has nowhere to go here: the next record will fail, too, and log it.
    let _ = fs::remove_file(journal);
}

impl UploadJournal {
    /// The journal of an upload that begins, still empty.
    pub(super) fn new(journal: Journal, id: &str) -> UploadJournal {
        UploadJournal { journal, id: id.to_owned(), reached: 0, noted: 0, noted_held: 0, waiting: None }
    }

    /// Continues with what an earlier run kept.
    pub(super) fn resume(journal: Journal, kept: &UploadState) -> UploadJournal {
        let reached = kept.parts();
        let noted_held = kept.held.len();
        UploadJournal { reached, noted: reached, noted_held, ..UploadJournal::new(journal, &kept.id) }
    }

    /// The path of the journal, if there is one.
    pub(super) fn path(&self) -> Option<&Path> {
        self.journal.is_kept().then(|| self.journal.path())
    }

    /// Keeps `note` once the first `bytes` bytes were sent; leaves it as it is while another one waits for that.
    pub(super) fn keep(&mut self, bytes: u64, note: &mut Vec<u8>) {
        if self.waiting.is_none() {
            self.waiting = Some((bytes, std::mem::take(note)));
        }
    }

    /// Writes the waiting note, if the parts that it needs were sent.
    pub(super) fn settle(&mut self, done: &BTreeMap<usize, PartId>, parts: &UploadParts) {
        while done.contains_key(&self.reached) || parts.held(self.reached).is_some() {
            self.reached += 1;
        }
        if self.journal.is_busy() {
            return;
        }
        let reached = offset_of(self.reached);
        let Some((bytes, note)) = self.waiting.take_if(|(bytes, _)| *bytes <= reached) else { return };
        let all: Vec<(usize, &[u8])> =
            (0..self.reached).filter_map(|number| Some((number, parts.held(number)?))).collect();
        let held = all.get(self.noted_held..).unwrap_or_default();
        let sent =
            done.range(self.noted..self.reached).map(|(number, part)| json!([number, part.content_id]));
        let sizes = held.iter().map(|(number, bytes)| json!([number, bytes.len()]));
        let noted = json!({
            "id": self.id,
            "parts": sent.collect::<Vec<_>>(),
            "held": sizes.collect::<Vec<_>>(),
        });
        let held: Vec<u8> = held.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let mut record = Vec::with_capacity(held.len() + note.len() + 1024);
        for piece in [noted.to_string().as_bytes(), &held, &note] {
            record.extend((piece.len() as u64).to_le_bytes());
            record.extend(piece);
        }
        (self.noted, self.noted_held) = (self.reached, all.len());
        self.journal.keep(None, bytes, record);
    }

    /// Waits until all notes are written.
    pub(super) fn wait(&mut self) {
        self.journal.wait();
    }

    /// Removes the journal.
    pub(super) fn remove(self) {
        self.journal.remove();
    }
}

impl UploadState {
    /// The state that the notes of a journal describe.
    pub(super) fn parse(mut notes: &[u8]) -> Option<UploadState> {
        let mut kept = UploadState::default();
        while !notes.is_empty() {
            let (noted, held, note) = (piece(&mut notes)?, piece(&mut notes)?, piece(&mut notes)?);
            kept.add(&serde_json::from_slice(noted).ok()?, held)?;
            kept.notes.extend_from_slice(note);
        }
        (!kept.id.is_empty()).then_some(kept)
    }

    fn add(&mut self, noted: &Value, mut held: &[u8]) -> Option<()> {
        self.id = noted.get("id")?.as_str()?.to_owned();
        let number = |value: &Value| usize::try_from(value.get(0)?.as_u64()?).ok();
        for part in noted.get("parts")?.as_array()? {
            let content_id = part.get(1)?.as_str()?.to_owned();
            self.done.insert(number(part)?, PartId { content_id });
        }
        for part in noted.get("held")?.as_array()? {
            let (bytes, rest) = held.split_at_checked(usize::try_from(part.get(1)?.as_u64()?).ok()?)?;
            self.held.insert(number(part)?, bytes.to_vec());
            held = rest;
        }
        Some(())
    }

    /// How many parts, from the first on, need not be sent again.
    pub(super) fn parts(&self) -> usize {
        (0..).take_while(|number| self.done.contains_key(number) || self.held.contains_key(number)).count()
    }
}

/// A piece of a note, after its length.
fn piece<'a>(notes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = notes.split_first_chunk()?;
    let (piece, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    *notes = rest;
    Some(piece)
}
