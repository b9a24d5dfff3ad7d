//! A whole file: header, directories, free segments, records.
#![no_main]

use sapwood_fuzz::Whole;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(whole) = Whole::open(data) else { return };
    whole.get(|file, known| file.free_segments(known));
    let Some(entries) = whole.get(|file, known| file.list(known)) else { return };
    for entry in entries.iter().take(50) {
        whole.get(|file, known| file.find(known, &entry.path));
        whole.get(|file, known| file.record(known, &entry.key));
    }
});
