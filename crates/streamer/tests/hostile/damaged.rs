//! Objects of real files, damaged after decompression, where no checksum protects them.

use crate::invent::{check, is_about_the_file};
use crate::inventions::Dice;
use crate::meter::{Taken, measure};
use sapwood_core::{ParseStep, Result, Segments};
use sapwood_streamer::{ColumnPart, Compiler, StreamInput};
use sapwood_tfile::{Record, StreamerInfos, TFile};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Files of objects that ROOT wrote, and the small ones of the corpus where it is at hand.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus =
        std::env::var_os("SAPWOOD_CORPUS").map_or_else(|| root.join("../shared/corpus"), PathBuf::from);
    let folders = [root.join("tests/data/objects"), root.join("tests/data/edm"), corpus.join("files")];
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let small = |path: &PathBuf| path.metadata().unwrap().len() < 300_000;
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "root")).filter(small).collect();
    paths.sort();
    paths
}

/// The objects in the top directory of a file, with their classes, and the descriptions.
fn objects(path: &Path) -> Option<(StreamerInfos, Vec<(String, Record)>)> {
    fn done<T>(step: Result<ParseStep<T>>) -> Option<T> {
        match step.ok()? {
            ParseStep::Done(value) => Some(value),
            ParseStep::Need(_) => None,
        }
    }
    let content = std::fs::read(path).unwrap();
    let size = content.len() as u64;
    let mut known = Segments::default();
    known.insert(0, content.into());
    let file = done(TFile::open(&known, size))?;
    let infos = done(file.streamers(&known))?;
    let keys = file.root.keys.iter().filter(|key| !key.is_directory()).take(20);
    let records = keys.filter_map(|key| Some((key.class_name.clone(), done(file.record(&known, key))?)));
    let records = records.filter(|(_, record)| record.payload.len() < 100_000).collect();
    Some((infos, records))
}

fn damage(payload: &mut [u8], dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let place = dice.below(payload.len());
        let end = (place + 4).min(payload.len());
        match dice.below(4) {
            0 => payload[place] ^= 1 << dice.below(8),
            1 => payload[place] = [0, 1, 0x40, 0x7f, 0x80, 0xff][dice.below(6)],
            2 => payload[place..end].fill([0, 0x40, 0xff][dice.below(3)]),
            _ => payload.copy_within(dice.below(place + 1)..place, dice.below(payload.len() - place)),
        }
    }
}

fn read(compiler: &Compiler, class: &str, paths: &[String], payload: &[u8], key_len: usize) -> Result<()> {
    let program = compiler.object(class, paths)?;
    let mut run = program.run();
    run.entry(StreamInput::new(payload, 0..payload.len(), key_len)?)?;
    check(&ColumnPart::join(vec![run.finish()])?);
    Ok(())
}

#[test]
fn damaged_objects_cost_what_their_bytes_justify() {
    let patience = Duration::from_secs(6);
    let files = files();
    let (start, mut objects_read) = (Instant::now(), 0);
    for (number, path) in files.iter().enumerate() {
        let Some((infos, records)) = objects(path) else { continue };
        let until = patience * u32::try_from(number + 1).unwrap() / u32::try_from(files.len()).unwrap();
        for round in 0..40 {
            if start.elapsed() > until {
                break;
            }
            for (class, record) in &records {
                let mut dice = Dice::new(round << 32 | number as u64);
                let mut payload = record.payload.to_vec();
                damage(&mut payload, &mut dice);
                let compiler = Compiler::new(infos.clone());
                let members = infos.newest(class).map_or(&[][..], |info| &info.elements);
                let wanted = (round % 2 == 1).then(|| members.get(dice.below(members.len()))).flatten();
                let paths: Vec<String> = wanted.iter().map(|member| member.name.clone()).collect();
                let (class, key_len, size) = (class.clone(), record.key_len as usize, payload.len());
                let Taken { memory, time, answer } =
                    measure(move || read(&compiler, &class, &paths, &payload, key_len));
                let what = format!("{}, round {round}", path.display());
                assert!(memory <= (64 << 20) + 1024 * size, "{memory} bytes for {size}: {what}");
                assert!(time < Duration::from_secs(5), "{time:?} for {size} bytes: {what}");
                match answer {
                    Ok(()) => objects_read += 1,
                    Err(error) => assert!(is_about_the_file(error.kind()), "{error:?}: {what}"),
                }
            }
        }
    }
    assert!(
        objects_read > 10,
        "only {objects_read} objects were read: they are too damaged to test anything"
    );
}
