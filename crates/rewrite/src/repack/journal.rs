//! The journal that lets a later run resume an interrupted one: when the file was begun, and where each basket or page
//! is. The later run repeats everything except these, and so writes the same file.

use sapwood_core::{Error, ErrorKind, Result};
use sapwood_sink::{Leftover, Sink};
use sapwood_source::may_succeed_later;
use sapwood_tfile::write::{Datime, FileStamp};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Default interval between writes of the journal; shorter runs leave none.
const INTERVAL: Duration = Duration::from_secs(10);
/// The target of log messages, which is the name of their logger in Python.
const LOG: &str = "sapwood.repack";
/// By their numbers in the journal.
const TREATMENTS: [BasketTreatment; 3] =
    [BasketTreatment::Copied, BasketTreatment::Recompressed, BasketTreatment::Resplit];
/// Marks a stage; the record of a basket has its branch plus 1 here.
const STAGE: u64 = 0;

/// A basket that has its place in the new file; or a page, which has only the last two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placement {
    /// Index of its branch in the tree.
    pub branch: usize,
    /// One past its last entry, in the new tree.
    pub end: u64,
    /// Size of its key and its uncompressed content together.
    pub total: u64,
    /// Size of its record, or of the page.
    pub bytes: u32,
    pub treatment: BasketTreatment,
}

/// How a basket of the new file was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BasketTreatment {
    Copied,
    Recompressed,
    Resplit,
}

/// Indices of an input and of a tree: the stage in which that input's baskets are added to the tree. For an RNTuple, the
/// first is the number of the step that copies pages.
pub(super) type Stage = (usize, usize);

/// The journal of a run, and what an earlier run left in its own.
#[derive(Debug)]
pub(super) struct RepackJournal {
    /// Time and UUID of the new file.
    origin: FileStamp,
    /// Records that are to be written next; none if the sink cannot keep a journal.
    note: Option<Vec<u8>>,
    /// Where the last basket in these records ends.
    end: u64,
    /// When they are to be written.
    due: Instant,
    interval: Duration,
    /// True once some were written.
    kept: bool,
    earlier: Option<EarlierRun>,
}

/// What an earlier run placed.
#[derive(Debug, Default)]
struct EarlierRun {
    /// Position of the first basket.
    baskets_at: u64,
    /// For each stage, the position of its first basket, and its baskets.
    stages: HashMap<Stage, (u64, Vec<Placement>)>,
    /// One past the last entry placed, by the indices of tree and branch.
    placed: HashMap<(usize, usize), u64>,
}

impl RepackJournal {
    /// A journal that is not kept.
    pub(super) fn none() -> RepackJournal {
        let now = Instant::now();
        RepackJournal {
            origin: FileStamp::now(),
            note: None,
            end: 0,
            due: now,
            interval: INTERVAL,
            kept: false,
            earlier: None,
        }
    }

    /// Begins a journal with what an earlier run of the same job left at the same target; `notes` gets a message about
    /// that.
    ///
    /// # Errors
    /// Those of the sink.
    pub(super) fn begin(
        sink: &mut dyn Sink,
        job: u64,
        interval: Option<Duration>,
        notes: &mut Vec<String>,
    ) -> Result<RepackJournal> {
        let interval = interval.unwrap_or(INTERVAL);
        let mut journal = RepackJournal { interval, due: Instant::now() + interval, ..RepackJournal::none() };
        match sink.take_up(job)? {
            Leftover::Never => return Ok(journal),
            Leftover::Nothing => {}
            Leftover::Useless(why) => {
                notes.push(format!(
                    "cannot resume the earlier run, so the file is written from the start: {why}"
                ));
            }
            Leftover::Kept { bytes, notes: kept } => {
                let (origin, earlier) = parse(&kept).ok_or_else(contradiction)?;
                (journal.origin, journal.earlier, journal.kept) = (origin, Some(earlier), true);
                notes.push(format!("resumed an earlier run after {bytes} bytes"));
            }
        }
        journal.note = Some(Vec::new());
        Ok(journal)
    }

    pub(super) fn origin(&self) -> FileStamp {
        self.origin
    }

    /// Records that all else is written, and that the first basket goes to `end`.
    pub(super) fn begin_baskets(&mut self, end: u64) -> Result<()> {
        self.end = end;
        match (&self.earlier, &mut self.note) {
            (Some(earlier), _) if earlier.baskets_at != end => Err(contradiction()),
            (None, Some(note)) => {
                note.extend(self.origin.time.0.to_le_bytes());
                note.extend(self.origin.uuid);
                put(note, end);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// One past the last entry of a branch that an earlier run placed; 0 if it placed none.
    pub(super) fn placed(&self, tree: usize, branch: usize) -> u64 {
        let placed = self.earlier.as_ref().and_then(|earlier| earlier.placed.get(&(tree, branch)));
        placed.copied().unwrap_or(0)
    }

    /// Begins a stage, whose first basket goes to `end`. Returns the baskets that an earlier run placed in it.
    pub(super) fn stage(&mut self, stage: Stage, end: u64) -> Result<Vec<Placement>> {
        match self.earlier.as_mut().and_then(|earlier| earlier.stages.remove(&stage)) {
            Some((at, placements)) if at == end => return Ok(placements),
            Some(_) => return Err(contradiction()),
            None => {}
        }
        if let Some(note) = &mut self.note {
            [STAGE, stage.0 as u64, stage.1 as u64, end].into_iter().for_each(|number| put(note, number));
        }
        Ok(Vec::new())
    }

    /// Records a basket placed in this stage, which ends at `end`.
    pub(super) fn add(&mut self, placed: &Placement, end: u64) {
        self.end = end;
        if let Some(note) = &mut self.note {
            let (branch, treatment) = (placed.branch as u64 + 1, placed.treatment as u64);
            let numbers = [branch, placed.end, u64::from(placed.bytes), placed.total, treatment];
            numbers.into_iter().for_each(|number| put(note, number));
        }
    }

    /// Lets the sink keep the journal so far, if that is due.
    pub(super) fn keep(&mut self, sink: &mut dyn Sink) {
        let due = |note: &&mut Vec<u8>| !note.is_empty() && Instant::now() >= self.due;
        let Some(note) = self.note.as_mut().filter(due) else { return };
        sink.keep(self.end, note);
        self.kept |= note.is_empty();
        self.due = Instant::now() + self.interval;
    }

    /// Ends a failed run, and leaves what it wrote for a later one if that may succeed. Returns the error, with a hint.
    pub(super) fn leave(self, sink: Box<dyn Sink>, error: Error) -> Error {
        let Some(note) = self.note.filter(|_| self.kept && may_succeed_later(error.kind())) else {
            return error;
        };
        let Some(place) = sink.leave(self.end, note) else { return error };
        let hint =
            format!("the part written so far is kept as {place}; run the same command again to resume");
        // The user who interrupts a run does not see its error.
        if error.hint_text().is_some() || error.kind() == ErrorKind::Cancelled {
            log::warn!(target: LOG, "{hint}");
        }
        error.hint(hint)
    }
}

fn contradiction() -> Error {
    Error::corrupt("the part left by an earlier run does not match this one; it was removed")
        .hint("run the same command again to start from the beginning")
}

/// Appends a number, seven bits per byte, least significant first; the eighth bit says that more follow.
fn put(note: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        note.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    note.push(number.to_le_bytes()[0]);
}

/// Removes the first number.
fn take(notes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = notes.split_first()?;
        *notes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn parse(mut notes: &[u8]) -> Option<(FileStamp, EarlierRun)> {
    let (time, rest) = notes.split_first_chunk()?;
    let (uuid, rest) = rest.split_first_chunk()?;
    let origin = FileStamp { time: Datime(u32::from_le_bytes(*time)), uuid: *uuid };
    notes = rest;
    let mut earlier = EarlierRun { baskets_at: take(&mut notes)?, ..EarlierRun::default() };
    let mut stage = None;
    let index = |number: u64| usize::try_from(number).ok();
    while !notes.is_empty() {
        let first = take(&mut notes)?;
        if first == STAGE {
            let key = (index(take(&mut notes)?)?, index(take(&mut notes)?)?);
            earlier.stages.insert(key, (take(&mut notes)?, Vec::new()));
            stage = Some(key);
            continue;
        }
        let placement = Placement {
            branch: index(first - 1)?,
            end: take(&mut notes)?,
            bytes: u32::try_from(take(&mut notes)?).ok()?,
            total: take(&mut notes)?,
            treatment: TREATMENTS.get(index(take(&mut notes)?)?).copied()?,
        };
        let key = stage?;
        earlier.placed.insert((key.1, placement.branch), placement.end);
        earlier.stages.get_mut(&key)?.1.push(placement);
    }
    Some((origin, earlier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_journal_come_back() {
        let mut note = Vec::new();
        let numbers = [0, 1, 127, 128, 300, 1 << 35, u64::MAX];
        numbers.into_iter().for_each(|number| put(&mut note, number));
        let mut left = &note[..];
        assert_eq!(numbers.map(|_| take(&mut left).unwrap()), numbers);
        assert_eq!(take(&mut left), None);
        assert_eq!(take(&mut &[0xff; 20][..]), None);
    }

    #[test]
    fn stages_and_baskets_come_back() {
        let mut journal = RepackJournal { note: Some(Vec::new()), ..RepackJournal::none() };
        let basket =
            |branch, end, treatment| Placement { branch, end, bytes: 1 << 20, total: 5 << 30, treatment };
        let placed = [
            basket(3, 10, BasketTreatment::Copied),
            basket(0, 7, BasketTreatment::Resplit),
            basket(3, 20, BasketTreatment::Recompressed),
        ];
        journal.begin_baskets(500).unwrap();
        assert_eq!(journal.stage((0, 1), 500).unwrap(), []);
        journal.add(&placed[0], 700);
        journal.add(&placed[1], 900);
        assert_eq!(journal.stage((1, 1), 900).unwrap(), []);
        journal.add(&placed[2], 950);
        let note = journal.note.clone().unwrap();
        let (origin, earlier) = parse(&note).unwrap();
        assert_eq!(origin, journal.origin);
        let mut again = RepackJournal { earlier: Some(earlier), ..RepackJournal::none() };
        assert!(again.begin_baskets(501).is_err());
        again.begin_baskets(500).unwrap();
        assert_eq!((again.placed(1, 3), again.placed(1, 0), again.placed(0, 3)), (20, 7, 0));
        assert_eq!(again.stage((0, 1), 500).unwrap(), placed[..2]);
        assert!(again.stage((1, 1), 901).is_err());
        for len in 0..note.len() {
            parse(&note[..len]);
        }
    }
}
