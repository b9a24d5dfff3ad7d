//! `verify` accepts sound files, and reports any damage as findings: no panic, no hang, no other kind of error.

use crate::inputs::{MIXED, corpus, open, open_distant};
use sapwood::verify::{Severity, VerifyOptions, VerifyProgress, VerifyReport, verify_open};
use sapwood::{ErrorKind, File};
use std::time::{Duration, Instant};

fn report(file: &File) -> VerifyReport {
    verify_open(file, &VerifyOptions::default(), &mut |_| {}, call!()).unwrap()
}

#[test]
fn a_sound_file_is_sound_near_and_far_and_every_byte_is_looked_at() {
    for file in [open(MIXED).unwrap(), open_distant(MIXED).unwrap()] {
        let report = report(&file);
        assert!(report.is_sound() && report.findings.is_empty(), "{:?}", report.findings);
        assert_eq!(report.checked_bytes, MIXED.len() as u64);
        assert!(report.baskets > 0 && report.checksummed_bytes <= report.checked_bytes);
    }
}

#[test]
fn any_changed_bytes_end_in_findings_and_nothing_else() {
    let begin = Instant::now();
    let mut inputs = corpus(40_000);
    inputs.push(("mixed.root".to_owned(), MIXED.to_vec()));
    let mut state = 88_172_645_463_325_252_u64;
    let mut dice = |sides: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 16).unwrap() % sides.max(1)
    };
    for (name, content) in inputs.iter().cycle().take(600) {
        let mut content = content.clone();
        let at = dice(content.len());
        for byte in content.iter_mut().skip(at).take(1 + dice(8)) {
            *byte = u8::try_from(dice(256)).unwrap();
        }
        let Ok(file) = open(&content) else { continue };
        let options = VerifyOptions { threads: Some(1), ..VerifyOptions::default() };
        match verify_open(&file, &options, &mut |_| {}, call!()) {
            Ok(report) => assert!(report.error.is_none(), "{name}: {:?}", report.error),
            Err(error) => panic!("{name}, changed at {at}: {error:?}"),
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "{name}, changed at {at}, takes too long");
    }
}

#[test]
fn progress_ends_with_all_bytes() {
    let mut last = None;
    let mut report = |now: VerifyProgress| last = Some(now);
    verify_open(&open(MIXED).unwrap(), &VerifyOptions::default(), &mut report, call!()).unwrap();
    let last = last.unwrap();
    assert_eq!((last.done, last.total, last.damage), (MIXED.len() as u64, MIXED.len() as u64, 0));
}

#[test]
fn a_tree_that_is_not_there_is_missing() {
    let options = VerifyOptions { trees: Some(vec!["no such tree".to_owned()]), ..VerifyOptions::default() };
    let error = verify_open(&open(MIXED).unwrap(), &options, &mut |_| {}, call!()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing);
}

#[test]
fn the_corpus_is_sound() {
    for (name, content) in corpus(1_200_000) {
        let Ok(file) = open(&content) else { continue };
        let report = report(&file);
        let damage: Vec<_> =
            report.findings.iter().filter(|finding| finding.severity == Severity::Damage).collect();
        assert!(damage.is_empty() && report.error.is_none(), "{name}: {damage:?} {:?}", report.error);
    }
}
