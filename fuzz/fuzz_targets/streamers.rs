//! Streamer information: of a file, or a payload alone.
#![no_main]

use sapwood_fuzz::{Whole, as_record};
use sapwood_tfile::StreamerInfos;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let streamers = match Whole::open(data) {
        Some(whole) => whole.get(|file, known| file.streamers(known)),
        None => StreamerInfos::parse(&as_record(data), 40_000).ok(),
    };
    let Some(streamers) = streamers else { return };
    for info in streamers.iter().take(100) {
        streamers.derives_from(&info.name, "TObject");
        for element in &info.elements {
            streamers.base_of(element);
        }
    }
});
