//! The list of the first fetches, packed: a loop that touches every column of a wide tree makes one for each column and
//! window, without end.

use super::FetchKind;
use sapwood_core::ByteRange;
use std::time::Duration;

/// One fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// Why it was started.
    pub kind: FetchKind,
    /// For which window.
    pub window: usize,
    /// For which columns.
    pub columns: Vec<usize>,
    /// Its ranges: object, and range in it.
    pub ranges: Vec<(usize, ByteRange)>,
    /// When it was started, after the beginning.
    pub asked: Duration,
    /// When it was answered, after the beginning; `None` if it failed, was cancelled, or is still in flight.
    pub answered: Option<Duration>,
}

/// Fetches that are listed; a long loop makes millions, and no picture of them can be read.
pub const MOST_FETCHES: usize = 8_192;

/// The first fetches, in the order asked.
#[derive(Debug, Default)]
pub(super) struct FetchLog {
    /// Window, columns and ranges of each, as numbers of variable length.
    packed: Vec<u8>,
    entries: Vec<LogEntry>,
}

#[derive(Debug)]
struct LogEntry {
    /// Where it begins among the packed numbers.
    start: usize,
    kind: FetchKind,
    /// When it was started, and answered.
    asked: Duration,
    answered: Option<Duration>,
}

impl FetchLog {
    /// Adds a fetch that is not answered yet, if there are few; returns its number.
    pub(super) fn push(
        &mut self,
        kind: FetchKind,
        window: usize,
        columns: &[usize],
        ranges: &[(usize, ByteRange)],
        asked: Duration,
    ) -> Option<usize> {
        if self.entries.len() >= MOST_FETCHES {
            return None;
        }
        let start = self.packed.len();
        let mut numbers = Packing { bytes: &mut self.packed };
        numbers.put(window as u64);
        numbers.put(columns.len() as u64);
        let mut last = 0;
        for &column in columns {
            numbers.put_step(last, column as u64);
            last = column as u64;
        }
        numbers.put(ranges.len() as u64);
        let (mut last, mut end) = (0, 0);
        for &(object, range) in ranges {
            numbers.put_step(last, object as u64);
            numbers.put_step(end, range.start);
            numbers.put(range.len);
            (last, end) = (object as u64, range.end());
        }
        self.entries.push(LogEntry { start, kind, asked, answered: None });
        Some(self.entries.len() - 1)
    }

    /// Notes when a fetch was answered.
    pub(super) fn answered(&mut self, fetch: usize, at: Duration) {
        if let Some(entry) = self.entries.get_mut(fetch) {
            entry.answered = Some(at);
        }
    }

    /// Those that are listed.
    pub(super) fn list(&self) -> Vec<Fetch> {
        self.entries.iter().map(|entry| self.unpacked(entry)).collect()
    }

    fn unpacked(&self, entry: &LogEntry) -> Fetch {
        let mut numbers = Unpacking { bytes: self.packed.get(entry.start..).unwrap_or_default() };
        let window = numbers.take() as usize;
        let (count, mut column) = (numbers.take(), 0);
        let columns = (0..count).map(|_| {
            column = numbers.take_step(column);
            column as usize
        });
        let columns = columns.collect();
        let (count, mut object, mut end) = (numbers.take(), 0, 0);
        let ranges = (0..count).map(|_| {
            object = numbers.take_step(object);
            let range = ByteRange { start: numbers.take_step(end), len: numbers.take() };
            end = range.end();
            (object as usize, range)
        });
        let ranges = ranges.collect();
        let LogEntry { kind, asked, answered, .. } = *entry;
        Fetch { kind, window, columns, ranges, asked, answered }
    }
}

/// Appends numbers: seven bits in a byte, the lowest first; all but the last byte have their highest bit set.
struct Packing<'a> {
    bytes: &'a mut Vec<u8>,
}

impl Packing<'_> {
    fn put(&mut self, mut value: u64) {
        while value >= 0x80 {
            let [low, ..] = value.to_le_bytes();
            self.bytes.push(low | 0x80);
            value >>= 7;
        }
        let [low, ..] = value.to_le_bytes();
        self.bytes.push(low);
    }

    /// A number as its difference from another one, which is small in either direction.
    fn put_step(&mut self, from: u64, value: u64) {
        let step = value.wrapping_sub(from).cast_signed();
        self.put(((step << 1) ^ (step >> 63)).cast_unsigned());
    }
}

/// Reads them back.
struct Unpacking<'a> {
    bytes: &'a [u8],
}

impl Unpacking<'_> {
    fn take(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let Some((&byte, rest)) = self.bytes.split_first() else { break };
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    fn take_step(&mut self, from: u64) -> u64 {
        let code = self.take();
        from.wrapping_add((code >> 1) ^ (code & 1).wrapping_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, len: u64) -> ByteRange {
        ByteRange { start, len }
    }

    #[test]
    fn fetches_come_back_as_they_were() {
        let far = u64::MAX - 5;
        let all = [
            (FetchKind::Startup, 0, vec![], vec![]),
            (FetchKind::Touched, 300, vec![7], vec![(0, range(1 << 40, 12_345))]),
            (
                FetchKind::Trained,
                usize::MAX,
                vec![9, 2, 2, usize::MAX, 0],
                vec![(3, range(far, 5)), (0, range(0, 0))],
            ),
        ];
        let mut log = FetchLog::default();
        for (number, (kind, window, columns, ranges)) in all.iter().enumerate() {
            let asked = Duration::from_nanos(number as u64);
            assert_eq!(log.push(*kind, *window, columns, ranges, asked), Some(number));
        }
        log.answered(1, Duration::from_secs(1));
        log.answered(3, Duration::from_secs(1));
        let found = log.list();
        assert_eq!(found.len(), all.len());
        for (number, (fetch, (kind, window, columns, ranges))) in found.into_iter().zip(all).enumerate() {
            let answered = (number == 1).then_some(Duration::from_secs(1));
            let asked = Duration::from_nanos(number as u64);
            assert_eq!(fetch, Fetch { kind, window, columns, ranges, asked, answered });
        }
    }

    #[test]
    fn the_list_does_not_grow_without_end() {
        let mut log = FetchLog::default();
        for number in 0..MOST_FETCHES + 10 {
            let listed = log.push(FetchKind::Touched, number, &[0], &[(0, range(0, 1))], Duration::ZERO);
            assert_eq!(listed, (number < MOST_FETCHES).then_some(number));
        }
        assert_eq!(log.list().len(), MOST_FETCHES);
    }

    #[test]
    fn a_fetch_of_one_column_takes_few_bytes() {
        let mut log = FetchLog::default();
        for column in 0..1000 {
            let ranges = [(0, range(column as u64 * 20_000, 18_000))];
            log.push(FetchKind::Touched, 120, &[column], &ranges, Duration::ZERO);
        }
        assert!(log.packed.len() < 14_000, "{}", log.packed.len());
    }
}
