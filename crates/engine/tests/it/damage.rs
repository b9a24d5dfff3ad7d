//! Damaged files end in typed errors: no panic, no hang, no memory beyond what the file could hold.

use crate::inputs::{MIXED, corpus, open, readable, trees};
use sapwood::{ErrorKind, Form, Query, ReadOptions};
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

/// A small and fast generator that is good enough to choose bytes: xorshift.
struct Dice(u64);

impl Dice {
    fn next(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % sides.max(1)
    }
}

/// Kinds of errors that damage may cause.
fn is_about_the_file(kind: ErrorKind) -> bool {
    use ErrorKind::{Checksum, Corrupt, Limit, Missing, NotRoot, Truncated, Unsupported};
    matches!(kind, Checksum | Corrupt | Limit | Missing | NotRoot | Truncated | Unsupported)
}

/// Opens a file and reads everything that claims to be readable.
fn read_everything(content: &[u8]) {
    let file = match open(content) {
        Ok(file) => file,
        Err(error) => {
            assert!(is_about_the_file(error.kind()), "{error:?}");
            return;
        }
    };
    for tree in trees(&file) {
        let options = ReadOptions { threads: Some(1) };
        // The baskets refuse a hostile number of entries; requesting fewer is faster.
        let entries = tree.entries().min(100_000);
        for branch in readable(&tree) {
            let whole = tree.read(&[branch], 0..entries, &options, call!());
            let members = whole.as_ref().map_or(Vec::new(), |columns| members(&columns[0].form));
            let one = members.last().map(|member| Query::from((branch, member.as_str())));
            let one = one.map(|one| tree.read(&[one], 0..entries, &options, call!()));
            for error in [whole.err(), one.and_then(Result::err)].into_iter().flatten() {
                assert!(is_about_the_file(error.kind()), "{error:?}");
            }
        }
    }
    let objects = file.keys(call!()).unwrap_or_default();
    for object in objects.iter().filter(|object| !object.key.is_directory()) {
        let cycle = Some(object.key.cycle);
        if let Err(error) = file.item(&object.path, cycle, call!()) {
            assert!(is_about_the_file(error.kind()), "{error:?}");
        }
    }
}

/// The members of the objects in a column.
fn members(form: &Form) -> Vec<String> {
    match form {
        Form::Record { fields, .. } => fields.iter().map(|field| field.name.clone()).collect(),
        Form::List(content) | Form::Option(content) | Form::Fixed { content, .. } => members(content),
        _ => Vec::new(),
    }
}

/// Files by ROOT, with objects and with trees of objects.
fn objects() -> Vec<(String, Vec<u8>)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let folders = ["objects", "edm", "xaod", "trees"].map(|folder| data.join(folder).read_dir().unwrap());
    let paths = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "root")).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

fn damaged(content: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut content = content.to_vec();
    for _ in 0..=dice.next(3) {
        let place = dice.next(content.len());
        match dice.next(4) {
            0 => content[place] ^= 1 << dice.next(8),
            1 => content[place] = [0, 1, 0x7f, 0x80, 0xff][dice.next(5)],
            2 => {
                let end = (place + 4).min(content.len());
                content[place..end].fill([0, 0x7f, 0xff][dice.next(3)]);
            }
            _ if dice.next(4) == 0 => content.truncate(place.max(1)),
            _ => content[place] = content[place].wrapping_add(1),
        }
    }
    content
}

#[test]
fn damaged_files_end_in_typed_errors() {
    // Debug builds are slow, so each file gets a share of the attempts.
    let patience = Duration::from_secs(25);
    let mut inputs = corpus(200_000);
    inputs.push(("mixed.root".to_owned(), MIXED.to_vec()));
    inputs.extend(objects());
    let start = Instant::now();
    let share = patience / u32::try_from(inputs.len()).unwrap();
    for (number, (name, content)) in inputs.iter().enumerate() {
        for round in 0..300u64 {
            if start.elapsed() > share * (u32::try_from(number).unwrap() + 1) {
                break;
            }
            let seed = (number as u64) << 32 | round | 1 << 62;
            let attempt = catch_unwind(|| read_everything(&damaged(content, &mut Dice(seed))));
            assert!(attempt.is_ok(), "{name}, damaged by Dice({seed:#x})");
        }
    }
}

#[test]
fn every_truncation_of_a_file_ends_in_a_typed_error() {
    for len in (0..MIXED.len()).step_by(97) {
        read_everything(&MIXED[..len]);
    }
}

#[test]
fn no_single_flipped_bit_of_a_basket_goes_unseen_where_the_sizes_tell() {
    let file = open(MIXED).unwrap();
    let tree = trees(&file).remove(0);
    let branch = tree.find_branch("number").unwrap();
    let offset = usize::try_from(tree.ttree().unwrap().branches()[branch].baskets[0].offset).unwrap();
    // fObjlen, fKeylen, fNevBuf and fLast of the basket's header (root-io-spec TBasket §2).
    let key_len = usize::from(u16::from_be_bytes([MIXED[offset + 14], MIXED[offset + 15]]));
    let header = offset + key_len - 9;
    for place in (offset + 6..offset + 10).chain(offset + 14..offset + 16).chain(header..header + 8) {
        for bit in 0..8 {
            let mut content = MIXED.to_vec();
            content[place] ^= 1 << bit;
            let file = open(&content).unwrap();
            let tree = trees(&file).remove(0);
            let result = tree.read(&[branch], 0..500, &ReadOptions::default(), call!());
            let error = result.expect_err("sizes that contradict each other are an error");
            assert!(is_about_the_file(error.kind()), "{error:?}");
            assert!(error.offset().is_some() && error.branch_name() == Some("number"), "{error:?}");
        }
    }
}
