//! A tree's metadata and outline: of every tree in a file, or a payload alone. What its branches hold is decided as well.
#![no_main]

use sapwood_fuzz::{Whole, as_record};
use sapwood_streamer::Compiler;
use sapwood_tfile::{Record, StreamerInfos};
use sapwood_ttree::{TTree, TreeOutline, interpret};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(whole) = Whole::open(data) else {
        parse("TTree", &as_record(data), 1 << 30, &StreamerInfos::default());
        return;
    };
    let streamers = whole.get(|file, known| file.streamers(known)).unwrap_or_default();
    for key in whole.file.root.keys.iter().filter(|key| key.class_name.starts_with('T')).take(10) {
        if let Some(record) = whole.get(|file, known| file.record(known, key)) {
            parse(&key.class_name, &record, data.len() as u64, &streamers);
        }
    }
});

fn parse(class_name: &str, record: &Record, file_size: u64, streamers: &StreamerInfos) {
    let outline = TreeOutline::parse(class_name, &record.payload, record.key_len, file_size, streamers);
    if let Ok((tree, outline)) = outline {
        assert_eq!(tree.stored_branches().count(), outline.branches.len());
        let _ = outline.unchanged(record.key_len);
    }
    let Ok(tree) = TTree::parse(class_name, &record.payload, record.key_len, file_size, streamers) else {
        return;
    };
    let compiler = Compiler::new(streamers.clone());
    for (index, branch) in tree.branches.iter().enumerate() {
        interpret(&tree, index, &compiler, &[]);
        assert!(branch.baskets.is_sorted_by_key(|basket| basket.first_entry));
    }
}
