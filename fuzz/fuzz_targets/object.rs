//! Objects: of every key in a file, by the descriptions in it; damaged by what stands behind the file's end.
#![no_main]

use sapwood_core::Result;
use sapwood_fuzz::Whole;
use sapwood_streamer::{Compiler, StreamInput, ColumnPart, Program};
use sapwood_tfile::{Record, StreamerInfos};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(whole) = Whole::open(data) else { return };
    let streamers = whole.get(|file, known| file.streamers(known)).unwrap_or_default();
    let damage = &data[data.len() - data.len().min(64)..];
    for key in whole.file.root.keys.iter().take(10) {
        if let Some(record) = whole.get(|file, known| file.record(known, key)) {
            read(&streamers, &key.class_name, &record, damage);
        }
    }
    // Compressed records hide what they hold from a fuzzer; so does what no key names.
    for info in streamers.iter().take(20) {
        let compiler = Compiler::new(streamers.clone());
        let _ = compiler.object(&info.name, &[]).and_then(|program| run(&program, data, 0..data.len(), 0));
    }
});

/// Reads an object whole, with each of its members alone, and damaged: every two bytes of `damage` are a place and
/// what is there instead.
fn read(streamers: &StreamerInfos, class: &str, record: &Record, damage: &[u8]) {
    let compiler = Compiler::new(streamers.clone());
    let Ok(program) = compiler.object(class, &[]) else { return };
    let key_len = record.key_len as usize;
    let _ = program.read_object(&record.payload, key_len);
    let mut payload = record.payload.to_vec();
    for pair in damage.chunks_exact(2) {
        let place = usize::from(pair[0]) * payload.len() / 256;
        if let Some(byte) = payload.get_mut(place) {
            *byte = pair[1];
        }
    }
    let _ = program.read_object(&payload, key_len);
    for element in streamers.newest(class).iter().flat_map(|info| &info.elements).take(10) {
        if let Ok(program) = compiler.object(class, &[element.name.clone()]) {
            let _ = run(&program, &payload, 0..payload.len(), key_len);
        }
    }
}

fn run(program: &Program, payload: &[u8], entry: std::ops::Range<usize>, key_len: usize) -> Result<()> {
    let mut run = program.run();
    run.entry(StreamInput::new(payload, entry, key_len)?)?;
    ColumnPart::join(vec![run.finish()]).map(drop)
}
