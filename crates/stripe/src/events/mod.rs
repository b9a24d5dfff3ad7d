//! The event of each entry: run, luminosity block and event number.

mod mask;
mod wire;

pub use mask::LumiMask;
use sapwood_core::{Error, Result};
use std::ops::Range;
pub use wire::{EventBlock, EventHead};

/// The identity of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    /// The run.
    pub run: u32,
    /// The luminosity block in it.
    pub lumi: u32,
    /// The number of the event in the run.
    pub event: u64,
}

/// Run, luminosity block and event number of each entry of a segment, in order.
///
/// ```
/// use sapwood_stripe::{EventId, EventIndex, LumiMask};
/// let index = EventIndex::new(vec![1, 1, 2], vec![7, 8, 1], vec![100, 101, 5])?;
/// let again = EventIndex::decode(&index.encode()?, 3)?;
/// assert_eq!(again, index);
/// let mask = LumiMask::from_json(r#"{"1": [[8, 9]], "2": [[1, 1]]}"#)?;
/// assert_eq!(index.select(&mask), [1..3]);
/// let lookup = index.lookup();
/// assert_eq!(lookup.find(EventId { run: 2, lumi: 1, event: 5 }), [2]);
/// assert_eq!(lookup.duplicates().count(), 0);
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventIndex {
    runs: Vec<u32>,
    lumis: Vec<u32>,
    events: Vec<u64>,
}

impl EventIndex {
    /// Of the three numbers of each entry.
    ///
    /// # Errors
    /// `Usage` if the columns differ in length, or have 2^32 entries or more.
    pub fn new(runs: Vec<u32>, lumis: Vec<u32>, events: Vec<u64>) -> Result<EventIndex> {
        if runs.len() != events.len() || lumis.len() != events.len() || u32::try_from(events.len()).is_err() {
            let lengths = format!("{}, {} and {}", runs.len(), lumis.len(), events.len());
            return Err(Error::usage(format!("an index of events has columns of {lengths} numbers")));
        }
        Ok(EventIndex { runs, lumis, events })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The event of an entry.
    pub fn get(&self, entry: usize) -> Option<EventId> {
        let (run, lumi) = (*self.runs.get(entry)?, *self.lumis.get(entry)?);
        Some(EventId { run, lumi, event: *self.events.get(entry)? })
    }

    /// The events of all entries.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = EventId> + '_ {
        let numbers = self.runs.iter().zip(&self.lumis).zip(&self.events);
        numbers.map(|((run, lumi), event)| EventId { run: *run, lumi: *lumi, event: *event })
    }

    /// The entries whose luminosity blocks are in a mask, as ranges in order.
    pub fn select(&self, mask: &LumiMask) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut start = 0;
        let rest = |start| self.runs.get(start..).into_iter().flatten().zip(self.lumis.iter().skip(start));
        while let Some(block) = rest(start).next() {
            let end = start + rest(start).take_while(|other| *other == block).count();
            if mask.contains(*block.0, *block.1) {
                match ranges.last_mut().filter(|last| last.end == start as u64) {
                    Some(last) => last.end = end as u64,
                    None => ranges.push(start as u64..end as u64),
                }
            }
            start = end;
        }
        ranges
    }

    /// Prepares to look up events; takes 4 bytes of memory per entry.
    pub fn lookup(&self) -> EventLookup<'_> {
        // Less than 2^32, as was checked.
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        // A stable sort is fast here, since most indices consist of a few sorted runs.
        order.sort_by_key(|entry| self.get(*entry as usize));
        EventLookup { index: self, order }
    }

    /// For each event of `other`, its entry here: reorders columns of these entries into the order of `other`. `None` if
    /// both have the same order already.
    ///
    /// # Errors
    /// `Usage` if an event is missing in one of them, or occurs more than once, with the number of such events and the
    /// first of them.
    pub fn order_of(&self, other: &EventIndex) -> Result<Option<Vec<u32>>> {
        if self == other {
            return Ok(None);
        }
        let (here, there) = (self.lookup(), other.lookup());
        for (lookup, which) in [(&here, "new"), (&there, "old")] {
            if let Some((event, entries)) = lookup.duplicates().next() {
                let count = lookup.duplicates().count();
                let message = format!("{count} of the {which} events occur more than once");
                return Err(Error::usage(format!("{message}: {event} has entries {entries:?}")));
            }
        }
        here.check_all(other, "are not among the new ones")?;
        there.check_all(self, "are not among the old ones")?;
        Ok(Some(other.iter().filter_map(|event| here.find(event).first().copied()).collect()))
    }
}

/// The entries of an index in the order of their events.
#[derive(Debug)]
pub struct EventLookup<'a> {
    index: &'a EventIndex,
    order: Vec<u32>,
}

impl EventLookup<'_> {
    /// The entries of an event: one, or none; more, if it occurs more than once.
    pub fn find(&self, event: EventId) -> &[u32] {
        let of = |entry: &u32| self.index.get(*entry as usize);
        let start = self.order.partition_point(|entry| of(entry) < Some(event));
        let rest = self.order.get(start..).unwrap_or_default();
        let count = rest.partition_point(|entry| of(entry) == Some(event));
        rest.get(..count).unwrap_or_default()
    }

    /// Events that occur more than once, with their entries.
    pub fn duplicates(&self) -> impl Iterator<Item = (EventId, &[u32])> {
        let same = |one: &u32, other: &u32| self.index.get(*one as usize) == self.index.get(*other as usize);
        let groups = self.order.chunk_by(same).filter(|entries| entries.len() > 1);
        groups.filter_map(|entries| Some((self.index.get(*entries.first()? as usize)?, entries)))
    }

    /// Checks that all events of another index are here.
    fn check_all(&self, other: &EventIndex, what: &str) -> Result<()> {
        let mut missing = other.iter().filter(|event| self.find(*event).is_empty());
        let Some(first) = missing.next() else { return Ok(()) };
        let (count, of) = (1 + missing.count(), other.len());
        Err(Error::usage(format!("{count} of {of} events {what}, such as {first}")))
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "event {} of run {}, luminosity block {}", self.event, self.run, self.lumi)
    }
}
