//! Reads a recording back, as far as it is valid.

use super::event::RecordedEvent;
use super::frame::{MAGIC, ProcessId, take_events, unframe};
use sapwood_core::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// The recording of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// The events of each process, in order, with their times in microseconds since the process began to record.
    pub processes: BTreeMap<ProcessId, Vec<(u64, RecordedEvent)>>,
    /// Bytes of the file without a valid frame: the job was killed while it wrote them, or they are damaged.
    pub unreadable_bytes: u64,
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    /// `NotFound`, `Permission` or `Io` if it cannot be read; `Unsupported` if there is no recording in it.
    pub fn read(path: &Path) -> Result<Recording> {
        let bytes = std::fs::read(path).map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                std::io::ErrorKind::PermissionDenied => ErrorKind::Permission,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("the recording cannot be read: {error}")).url(path.to_string_lossy())
        })?;
        let recording = Recording::parse(&bytes);
        if recording.processes.is_empty() {
            let error = Error::unsupported("this is not a recording of a job, or it is empty");
            return Err(error
                .url(path.to_string_lossy())
                .hint("'sapwood trace -o FILE -- COMMAND' makes one"));
        }
        Ok(recording)
    }

    /// The valid frames of some bytes.
    pub fn parse(bytes: &[u8]) -> Recording {
        let mut recording = Recording::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let sound =
                unframe(rest).and_then(|(process, events, len)| Some((process, take_events(&events)?, len)));
            let len = match sound {
                Some((process, events, len)) => {
                    recording.processes.entry(process).or_default().extend(events);
                    len
                }
                None => {
                    let next = rest.windows(MAGIC.len()).skip(1).position(|place| place == MAGIC);
                    let len = next.map_or(rest.len(), |next| next + 1);
                    recording.unreadable_bytes += len as u64;
                    len
                }
            };
            rest = rest.get(len..).unwrap_or_default();
        }
        recording
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{frame, put_event};
    use super::*;
    use proptest::prelude::*;

    fn events(file: u64) -> Vec<(u64, RecordedEvent)> {
        let known = vec![sapwood_core::ByteRange { start: 9, len: 30 }];
        vec![(5, RecordedEvent::Known { file, known }), (3, RecordedEvent::Ended { read: 1 << 40 })]
    }

    fn framed(number: u32, file: u64) -> Vec<u8> {
        let (mut out, mut before) = (Vec::new(), 0);
        events(file).iter().for_each(|(time, event)| put_event(event, *time, &mut before, &mut out));
        frame(ProcessId { number, begin: 77 }, &out).unwrap()
    }

    #[test]
    fn frames_of_several_processes_come_back() {
        let recording = Recording::parse(&[framed(1, 4), framed(2, 5), framed(1, 6)].concat());
        let of = |number| &recording.processes[&ProcessId { number, begin: 77 }];
        assert_eq!(of(1), &[events(4), events(6)].concat());
        assert_eq!(of(2), &events(5));
        assert_eq!(recording.unreadable_bytes, 0);
    }

    #[test]
    fn what_is_behind_a_damaged_frame_is_read() {
        let mut bytes = [framed(1, 4), framed(1, 5), framed(1, 6)].concat();
        let len = framed(1, 4).len();
        bytes[len + 40] ^= 1;
        let recording = Recording::parse(&bytes);
        let of = &recording.processes[&ProcessId { number: 1, begin: 77 }];
        assert_eq!(of, &[events(4), events(6)].concat());
        assert_eq!(recording.unreadable_bytes, framed(1, 5).len() as u64);
    }

    #[test]
    fn a_recording_is_readable_up_to_where_it_is_cut() {
        let whole = [framed(1, 4), framed(1, 5)].concat();
        for cut in framed(1, 4).len()..whole.len() {
            let recording = Recording::parse(&whole[..cut]);
            assert_eq!(recording.processes.values().next(), Some(&events(4)));
            assert_eq!(recording.unreadable_bytes, (cut - framed(1, 4).len()) as u64);
        }
    }

    proptest! {
        #[test]
        fn nonsense_is_never_believed(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..60_usize) {
            let mut damaged = framed(1, 4);
            damaged.truncate(at);
            damaged.extend(&bytes);
            let recording = Recording::parse(&damaged);
            prop_assert!(recording.unreadable_bytes <= damaged.len() as u64);
            let _ = take_events(&bytes);
        }
    }
}
