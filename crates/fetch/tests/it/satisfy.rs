//! Parsers get the bytes that they ask for, and are stopped if they make no progress.

use crate::source::{Behaviour, TestSource, WEB, content, fetcher, range, runtime};
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, ParseStep, Result, Segments};

/// Follows a chain of `links` reads of ten bytes each, and returns the last.
fn chain(links: u64) -> impl FnMut(&Segments) -> Result<ParseStep<Vec<u8>>> {
    move |known| {
        let mut last = Vec::new();
        for link in 0..links {
            let range = range(link * 10, 10);
            match known.get(range) {
                Some(bytes) => last = bytes.to_vec(),
                None => return Ok(ParseStep::Need(vec![range])),
            }
        }
        Ok(ParseStep::Done(last))
    }
}

fn satisfy<T>(
    known: &mut Segments,
    step: impl FnMut(&Segments) -> Result<ParseStep<T>>,
) -> (Result<T>, usize) {
    let source = TestSource::new(1000, WEB, Behaviour::Prompt);
    let result = runtime().block_on(fetcher(&source).satisfy(known, Deadline::default(), step));
    (result, source.request_count())
}

#[test]
fn a_parser_is_called_until_it_is_done() {
    let mut known = Segments::default();
    let (value, requests) = satisfy(&mut known, chain(5));
    assert_eq!((value.unwrap(), requests), (content(1000)[40..50].to_vec(), 5));
    assert_eq!(known.byte_count(), 50, "what was fetched stays known");
}

#[test]
fn known_ranges_are_not_fetched() {
    let mut known = Segments::default();
    known.insert(0, content(30).into());
    let need_all = |known: &Segments| {
        let wanted = [range(0, 20), range(500, 20)];
        let have: Option<Vec<_>> = wanted.iter().map(|&range| known.get(range)).collect();
        Ok(have.map_or(ParseStep::Need(wanted.to_vec()), |have| ParseStep::Done(have.concat())))
    };
    let (value, requests) = satisfy(&mut known, need_all);
    assert_eq!(value.unwrap().len(), 40);
    assert_eq!(requests, 1);
    assert_eq!(known.byte_count(), 50);
}

#[test]
fn circular_parsers_are_corruption() {
    let same = |_: &Segments| Ok(ParseStep::<()>::Need(vec![range(0, 10)]));
    let nothing = |_: &Segments| Ok(ParseStep::<()>::Need(Vec::<ByteRange>::new()));
    for (result, requests) in
        [satisfy(&mut Segments::default(), same), satisfy(&mut Segments::default(), nothing)]
    {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.url_str()), (ErrorKind::Corrupt, Some("test://host/f.root")));
        assert!(requests <= 1);
    }
    let (result, requests) = satisfy(&mut Segments::default(), chain(90));
    assert_eq!((result.unwrap_err().kind(), requests), (ErrorKind::Corrupt, 64));
}

#[test]
fn errors_of_parsers_carry_the_url() {
    let fails = |_: &Segments| Err::<ParseStep<()>, _>(Error::corrupt("no good").at(3));
    let error = satisfy(&mut Segments::default(), fails).0.unwrap_err();
    assert_eq!(error.to_string(), "no good (at byte 3 of test://host/f.root)");
}
