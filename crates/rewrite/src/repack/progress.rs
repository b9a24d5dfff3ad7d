//! What a run keeps for the next one, should it not come to its end: when the file was begun, and where each basket
//! was placed. The next run does everything again but for these baskets, and so writes the same file.

use sapwood_core::{Error, ErrorKind, Result};
use sapwood_sink::{Leftover, Sink};
use sapwood_source::may_succeed_later;
use sapwood_tfile::write::{Datime, FileStamp};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How often a run says how far it is: shorter ones leave nothing.
const EVERY: Duration = Duration::from_secs(10);
/// The target of what is logged: the name of Python's logger for it.
const LOG: &str = "sapwood.repack";
/// Stands before a stage, where a basket has its branch.
const STAGE: u64 = 0;

/// A basket that was placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Place of its branch in the tree.
    pub branch: usize,
    /// One past its last entry, in the new tree.
    pub end: u64,
    /// Bytes of its record.
    pub bytes: u32,
    /// Bytes of its key, and of its content before compression.
    pub total: u64,
    pub how: How,
}

/// What was done with a basket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Copied,
    Recompressed,
    Cut,
}

/// The baskets that one input adds to a tree: the places of these two.
pub(super) type Stage = (usize, usize);

/// How far a run is.
#[derive(Debug)]
pub struct Progress {
    /// When and as what the file was begun.
    origin: FileStamp,
    /// What is to be kept next, and when; none where nothing can be.
    note: Option<Vec<u8>>,
    /// Where the last basket ends that it tells of.
    end: u64,
    due: Instant,
    every: Duration,
    kept: bool,
    before: Option<Before>,
}

/// What an earlier run placed.
#[derive(Debug, Default)]
struct Before {
    /// Where the first basket lies.
    baskets_at: u64,
    /// Of each stage, where it began.
    stages: HashMap<Stage, (u64, Vec<Placement>)>,
    /// By the places of tree and branch, one past the last entry.
    placed: HashMap<Stage, u64>,
}

impl Progress {
    /// Keeps nothing.
    pub fn none() -> Progress {
        let now = Instant::now();
        Progress {
            origin: FileStamp::now(),
            note: None,
            end: 0,
            due: now,
            every: EVERY,
            kept: false,
            before: None,
        }
    }

    /// Takes up what an earlier run of the same job left at the same place. `notes` is told of it.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn begin(
        sink: &mut dyn Sink,
        job: u64,
        every: Option<Duration>,
        notes: &mut Vec<String>,
    ) -> Result<Progress> {
        let every = every.unwrap_or(EVERY);
        let mut progress = Progress { every, due: Instant::now() + every, ..Progress::none() };
        match sink.take_up(job)? {
            Leftover::Never => return Ok(progress),
            Leftover::Nothing => {}
            Leftover::Useless(why) => {
                notes.push(format!(
                    "what an earlier run left was of no use, and the file was begun anew: {why}"
                ));
            }
            Leftover::Kept { bytes, notes: kept } => {
                let (origin, before) = parse(&kept).ok_or_else(contradiction)?;
                (progress.origin, progress.before, progress.kept) = (origin, Some(before), true);
                notes.push(format!("the first {bytes} bytes are those that an earlier run had left"));
            }
        }
        progress.note = Some(Vec::new());
        Ok(progress)
    }

    pub fn origin(&self) -> FileStamp {
        self.origin
    }

    /// Begins with the baskets, the first of which is placed at `end`.
    pub fn begin_baskets(&mut self, end: u64) -> Result<()> {
        self.end = end;
        match (&self.before, &mut self.note) {
            (Some(before), _) if before.baskets_at != end => Err(contradiction()),
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
    pub fn placed(&self, tree: usize, branch: usize) -> u64 {
        let placed = self.before.as_ref().and_then(|before| before.placed.get(&(tree, branch)));
        placed.copied().unwrap_or(0)
    }

    /// Begins with a stage, the first basket of which is placed at `end`: those that an earlier run placed in it.
    pub fn stage(&mut self, stage: Stage, end: u64) -> Result<Vec<Placement>> {
        match self.before.as_mut().and_then(|before| before.stages.remove(&stage)) {
            Some((at, placements)) if at == end => return Ok(placements),
            Some(_) => return Err(contradiction()),
            None => {}
        }
        if let Some(note) = &mut self.note {
            [STAGE, stage.0 as u64, stage.1 as u64, end].into_iter().for_each(|number| put(note, number));
        }
        Ok(Vec::new())
    }

    /// Notes a basket that was placed in this stage, and ends there.
    pub fn add(&mut self, placed: &Placement, end: u64) {
        self.end = end;
        if let Some(note) = &mut self.note {
            let (branch, how) = (placed.branch as u64 + 1, placed.how as u64);
            let numbers = [branch, placed.end, u64::from(placed.bytes), placed.total, how];
            numbers.into_iter().for_each(|number| put(note, number));
        }
    }

    /// Lets the sink keep what there is, if it is time.
    pub fn keep(&mut self, sink: &mut dyn Sink) {
        let due = |note: &&mut Vec<u8>| !note.is_empty() && Instant::now() >= self.due;
        let Some(note) = self.note.as_mut().filter(due) else { return };
        sink.keep(self.end, note);
        self.kept |= note.is_empty();
        self.due = Instant::now() + self.every;
    }

    /// Ends a run that failed: what it did stays for the next one, if that can have more luck.
    pub fn leave(self, sink: Box<dyn Sink>, error: Error) -> Error {
        let Some(note) = self.note.filter(|_| self.kept && may_succeed_later(error.kind())) else {
            return error;
        };
        let Some(place) = sink.leave(self.end, note) else { return error };
        let told = format!("what was written so far is kept as {place}; the same command goes on from there");
        // Who interrupts a run does not see its error.
        if error.hint_text().is_some() || error.kind() == ErrorKind::Cancelled {
            log::warn!(target: LOG, "{told}");
        }
        error.hint(told)
    }
}

fn contradiction() -> Error {
    Error::corrupt("what an earlier run left contradicts what is to be written; it was removed")
        .hint("run the same command again: it begins anew")
}

/// Appends a number: seven bits a byte, the least first; the eighth says that more follow.
fn put(note: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        note.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    note.push(number.to_le_bytes()[0]);
}

/// Takes a number off.
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

fn parse(mut notes: &[u8]) -> Option<(FileStamp, Before)> {
    let (time, rest) = notes.split_first_chunk()?;
    let (uuid, rest) = rest.split_first_chunk()?;
    let origin = FileStamp { time: Datime(u32::from_le_bytes(*time)), uuid: *uuid };
    notes = rest;
    let mut before = Before { baskets_at: take(&mut notes)?, ..Before::default() };
    let mut stage = None;
    let index = |number: u64| usize::try_from(number).ok();
    while !notes.is_empty() {
        let first = take(&mut notes)?;
        if first == STAGE {
            let key = (index(take(&mut notes)?)?, index(take(&mut notes)?)?);
            before.stages.insert(key, (take(&mut notes)?, Vec::new()));
            stage = Some(key);
            continue;
        }
        let placement = Placement {
            branch: index(first - 1)?,
            end: take(&mut notes)?,
            bytes: u32::try_from(take(&mut notes)?).ok()?,
            total: take(&mut notes)?,
            how: [How::Copied, How::Recompressed, How::Cut].get(index(take(&mut notes)?)?).copied()?,
        };
        let key = stage?;
        before.placed.insert((key.1, placement.branch), placement.end);
        before.stages.get_mut(&key)?.1.push(placement);
    }
    Some((origin, before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_again() {
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
        let mut progress = Progress { note: Some(Vec::new()), ..Progress::none() };
        let basket = |branch, end, how| Placement { branch, end, bytes: 1 << 20, total: 5 << 30, how };
        let placed = [basket(3, 10, How::Copied), basket(0, 7, How::Cut), basket(3, 20, How::Recompressed)];
        progress.begin_baskets(500).unwrap();
        assert_eq!(progress.stage((0, 1), 500).unwrap(), []);
        progress.add(&placed[0], 700);
        progress.add(&placed[1], 900);
        assert_eq!(progress.stage((1, 1), 900).unwrap(), []);
        progress.add(&placed[2], 950);
        let note = progress.note.clone().unwrap();
        let (origin, before) = parse(&note).unwrap();
        assert_eq!(origin, progress.origin);
        let mut again = Progress { before: Some(before), ..Progress::none() };
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
