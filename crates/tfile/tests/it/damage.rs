//! Whatever is changed in a real file, a parser returns a value or a typed error, quickly, and without more memory than
//! the size of the file justifies.

use crate::{Fetched, allocation, corpus};
use bytes::Bytes;
use sapwood_core::Result;
use sapwood_tfile::{FileHeader, Key, Record, StreamerInfos, TFile};

/// Larger files are left to the fuzzer.
const MAX_SIZE: usize = 200_000;
/// Damaged versions of each file, and of each streamer information.
const VERSIONS: usize = 150;
/// No block of memory may be larger: a compression block makes at most 16 MiB, and none of these files has
/// objects of more than two.
const MAX_BLOCK: usize = 32 << 20;

/// Reads all that a container has, as far as it goes.
fn read_all(data: Vec<u8>) -> Result<()> {
    let mut fetched = Fetched::new(data);
    fetched.add(sapwood_core::ByteRange { start: 0, len: fetched.size() });
    let size = fetched.size();
    let file = fetched.drive(|known| TFile::open(known, size))?;
    let _ = fetched.drive(|known| file.free_segments(known));
    for entry in fetched.drive(|known| file.list(known))?.iter().take(20) {
        let _ = fetched.drive(|known| file.find(known, &entry.path));
        let _ = fetched.drive(|known| file.record(known, &entry.key));
    }
    fetched.drive(|known| file.streamers(known)).map(drop)
}

/// Changes some bytes, preferably one of `places`, and sometimes cuts the end off.
fn damage(random: &mut fastrand::Rng, data: &mut Vec<u8>, places: &[(usize, usize)]) {
    for _ in 0..random.usize(1..4) {
        let (start, len) = places[random.usize(..places.len())];
        let at = start + random.usize(..len.max(1));
        let wide = random.usize(1..=4);
        let value = [0, 1, 0x40, 0x7f, 0x80, 0xff, random.u8(..)][random.usize(..7)];
        for byte in data.iter_mut().skip(at).take(wide) {
            *byte = value;
        }
    }
    if random.u8(..8) == 0 {
        data.truncate(random.usize(..=data.len()));
    }
}

/// The parts of a file that its container consists of: header, root directory, key list, free list,
/// streamer information.
fn structure(data: &[u8]) -> Option<Vec<(usize, usize)>> {
    let mut fetched = Fetched::new(data.to_vec());
    let size = fetched.size();
    let file = fetched.drive(|known| TFile::open(known, size)).ok()?;
    let FileHeader { begin, nbytes_name, seek_free, nbytes_free, seek_info, .. } = file.header;
    let keys = file.root.key_list?;
    let parts = [
        (0, 75),
        (begin, u64::from(nbytes_name) + 60),
        (keys.start, keys.len),
        (seek_free, u64::from(nbytes_free)),
        (seek_info, 60),
    ];
    Some(parts.map(|(start, len)| (usize::try_from(start).unwrap(), usize::try_from(len).unwrap())).to_vec())
}

#[test]
fn damaged_containers() {
    let Some(files) = corpus::files() else { return };
    let mut random = fastrand::Rng::with_seed(20_261_121);
    let (mut read, mut refused) = (0, 0);
    for (name, data) in files.iter().filter(|(_, data)| data.len() <= MAX_SIZE) {
        let Some(places) = structure(data) else { continue };
        allocation::largest();
        for version in 0..VERSIONS {
            let mut data = data.clone();
            damage(&mut random, &mut data, &places);
            match read_all(data) {
                Ok(()) => read += 1,
                Err(_) => refused += 1,
            }
            let largest = allocation::largest();
            assert!(largest <= MAX_BLOCK, "{name}, version {version}: a block of {largest} bytes");
        }
    }
    eprintln!("{read} damaged files could be read, {refused} were refused");
    assert!(read > 0 && refused > read / 4);
}

#[test]
fn damaged_streamer_information() {
    let Some(files) = corpus::files() else { return };
    let mut random = fastrand::Rng::with_seed(20_261_122);
    let mut refused = 0;
    for (name, data) in files.iter().filter(|(_, data)| data.len() <= MAX_SIZE) {
        let Some(record) = streamer_record(data) else { continue };
        allocation::largest();
        for version in 0..VERSIONS {
            let mut payload = record.payload.to_vec();
            let whole = [(0, payload.len())];
            damage(&mut random, &mut payload, &whole);
            let damaged = Record { payload: payload.into(), ..record.clone() };
            refused += usize::from(StreamerInfos::parse(&damaged, 0).is_err());
            let largest = allocation::largest();
            assert!(largest <= MAX_BLOCK, "{name}, version {version}: a block of {largest} bytes");
        }
    }
    eprintln!("{refused} damaged descriptions were refused");
    assert!(refused > 0);
}

fn streamer_record(data: &[u8]) -> Option<Record> {
    let header = FileHeader::parse(data).ok().filter(FileHeader::has_streamers)?;
    let start = usize::try_from(header.seek_info).ok()?;
    let bytes = Bytes::from(data.get(start..start + header.nbytes_info as usize)?.to_vec());
    Record::decode(&Key::parse_at(&bytes, header.seek_info).ok()?, &bytes).ok()
}
