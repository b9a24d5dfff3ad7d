//! Pairs of changes to the same version: which of them may follow the other.

use crate::world::{append, made, memory, open, product, put, read, run, segment, soon, sum, two_segments};
use sapwood_core::ErrorKind;
use sapwood_stripe::{Change, Dataset, NewProduct, SegmentMerge, Version, check_log};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
enum Op {
    Append,
    Add(&'static str),
    Replace(&'static str, &'static [u32]),
    /// With other branches, in all segments.
    Reshape(&'static str),
    Drop(&'static str),
    Restore,
    Base,
    /// Both segments become one.
    Consolidate,
    /// A product has other stripes.
    Restripe(&'static str, &'static [u32]),
}
use Op::{Add, Append, Base, Consolidate, Drop, Replace, Reshape, Restore, Restripe};

async fn change(dataset: &Dataset, op: Op, seed: u64) -> Change {
    let all: Vec<u32> = dataset.snapshot().segments.iter().map(|segment| segment.id).collect();
    match op {
        Append => append(&**dataset.store(), &["A", "B"], seed, 20).await.unwrap(),
        Add(name) => put(dataset, name, seed, &all, false).await.unwrap(),
        Replace(name, segments) => put(dataset, name, seed, segments, true).await.unwrap(),
        Reshape(name) => match put(dataset, name, seed, &all, true).await.unwrap() {
            Change::Put { product, lists, replace } => {
                let product = NewProduct { branches: vec![5, 6], ..product };
                Change::Put { product, lists, replace }
            }
            other => other,
        },
        Drop(name) => Change::Drop { products: vec![name.to_owned()] },
        Restore => Change::Restore { version: 2 },
        Consolidate => {
            let new = segment(&**dataset.store(), &["A", "B"], seed, 35).await.unwrap();
            Change::Consolidate { segments: vec![SegmentMerge { segments: all, new }] }
        }
        Restripe(name, segments) => {
            let Change::Put { lists, .. } = put(dataset, name, seed, segments, true).await.unwrap() else {
                panic!("a product was put")
            };
            let lists = lists.into_iter().map(|(id, list)| (id, [(name.to_owned(), list)].into()));
            Change::Restripe { lists: lists.collect() }
        }
        Base => Change::AddBase { url: "memory:other".into() },
    }
}

#[test]
fn which_changes_can_follow_which() {
    let table: &[(Op, Op, bool)] = &[
        (Append, Append, true),
        (Append, Consolidate, true),
        (Consolidate, Append, true),
        (Consolidate, Consolidate, false),
        (Consolidate, Add("C"), false),
        (Add("C"), Consolidate, false),
        (Consolidate, Replace("A", &[1]), false),
        (Replace("A", &[1]), Consolidate, false),
        (Consolidate, Reshape("A"), false),
        (Reshape("A"), Consolidate, false),
        (Drop("A"), Consolidate, true),
        (Consolidate, Drop("A"), false),
        (Consolidate, Restore, false),
        (Restore, Consolidate, false),
        (Consolidate, Base, true),
        (Restripe("A", &[1]), Append, true),
        (Append, Restripe("A", &[1]), true),
        (Restripe("A", &[1]), Restripe("B", &[1]), true),
        (Restripe("A", &[1]), Restripe("A", &[2]), true),
        (Restripe("A", &[1]), Restripe("A", &[1]), false),
        (Restripe("A", &[1]), Replace("A", &[2]), true),
        (Replace("A", &[1]), Restripe("A", &[1]), false),
        (Restripe("A", &[1]), Replace("A", &[1]), false),
        (Restripe("A", &[1]), Drop("A"), false),
        (Drop("A"), Restripe("A", &[1]), false),
        (Reshape("A"), Restripe("A", &[1]), false),
        (Restripe("A", &[1]), Consolidate, false),
        (Consolidate, Restripe("A", &[1]), false),
        (Restripe("A", &[1]), Restore, false),
        (Add("C"), Restripe("A", &[1]), true),
        (Append, Add("C"), true),
        (Append, Replace("A", &[1, 2]), true),
        (Append, Drop("A"), true),
        (Append, Reshape("A"), false),
        (Append, Restore, false),
        (Append, Base, true),
        (Add("C"), Append, true),
        (Add("C"), Add("C"), false),
        (Add("C"), Add("D"), true),
        (Add("C"), Replace("A", &[1]), true),
        (Add("C"), Drop("B"), true),
        (Replace("A", &[1]), Append, true),
        (Replace("A", &[1]), Replace("A", &[2]), true),
        (Replace("A", &[1]), Replace("A", &[1]), false),
        (Replace("A", &[1]), Replace("A", &[1, 2]), false),
        (Replace("A", &[1]), Replace("B", &[1]), true),
        (Replace("A", &[1]), Reshape("A"), false),
        (Replace("A", &[1]), Drop("A"), false),
        (Replace("A", &[1]), Drop("B"), true),
        (Reshape("A"), Append, false),
        (Reshape("A"), Replace("A", &[2]), false),
        (Drop("A"), Append, false),
        (Drop("A"), Drop("A"), false),
        (Drop("A"), Drop("B"), true),
        (Drop("A"), Replace("A", &[2]), false),
        (Base, Base, false),
        (Restore, Append, true),
        (Restore, Restore, false),
        (Restore, Drop("A"), false),
    ];
    run(async {
        for (first, second, follows) in table {
            let store = memory();
            let base = two_segments(&store).await;
            let (one, other) = (change(&base, *first, 5).await, change(&base, *second, 6).await);
            let first_done = base.commit(&one, made(None), soon()).await.unwrap();
            let (before, _) = read(&first_done.dataset).await.unwrap();
            let second_done = base.commit(&other, made(None), soon()).await;
            match (follows, second_done) {
                (true, Ok(done)) => assert_eq!(done.version, 5, "{first:?}, {second:?}"),
                (false, Err(error)) => {
                    let kinds = [ErrorKind::Conflict, ErrorKind::Usage];
                    assert!(kinds.contains(&error.kind()), "{first:?}, {second:?}: {error:?}");
                    let (after, _) = read(&open(&store).await).await.unwrap();
                    assert_eq!(before, after);
                }
                (_, end) => panic!("{first:?}, {second:?}: {end:?}"),
            }
        }
    });
}

#[test]
fn a_conflict_names_product_and_segments() {
    run(async {
        let store = memory();
        let base = two_segments(&store).await;
        for (seed, ends_well) in [(5, true), (6, false)] {
            let replace = put(&base, "A", seed, &[1, 2], true).await.unwrap();
            let end = base.commit(&replace, made(None), soon()).await;
            assert_eq!(end.is_ok(), ends_well);
            if let Err(error) = end {
                assert_eq!(error.kind(), ErrorKind::Conflict);
                assert!(error.message().contains("'A' in the segments 1, 2"), "{error}");
            }
        }
    });
}

#[test]
fn who_comes_second_keeps_what_the_first_did() {
    run(async {
        let store = memory();
        let base = two_segments(&store).await;
        let changes = [Append, Add("C"), Replace("A", &[1]), Drop("B"), Replace("A", &[2]), Append];
        for (seed, op) in (10..).zip(changes) {
            let change = match op {
                // B was dropped in between.
                Append if seed == 15 => append(&*store, &["A"], seed, 20).await.unwrap(),
                op => change(&base, op, seed).await,
            };
            base.commit(&change, made(None), soon()).await.unwrap();
        }
        let (contents, _) = read(&open(&store).await).await.unwrap();
        let of = |pairs: &[(&str, u64)], entries| {
            let sums = pairs.iter().map(|(name, seed)| ((*name).to_owned(), sum(name, *seed, entries)));
            (entries, sums.collect::<BTreeMap<_, _>>())
        };
        let wanted = vec![
            of(&[("A", 12), ("C", 11)], 25),
            of(&[("A", 14), ("C", 11)], 10),
            of(&[("A", 10)], 20),
            of(&[("A", 15)], 20),
        ];
        assert_eq!(contents, wanted);
    });
}

#[test]
fn numbers_are_never_given_again() {
    run(async {
        let store = memory();
        let mut dataset = two_segments(&store).await;
        let mut seen = Vec::new();
        for seed in 0..3 {
            let add = put(&dataset, "C", seed, &[1, 2], false).await.unwrap();
            dataset = dataset.commit(&add, made(None), soon()).await.unwrap().dataset;
            seen.push(dataset.snapshot().products.last().unwrap().id);
            let drop = Change::Drop { products: vec!["C".into()] };
            dataset = dataset.commit(&drop, made(None), soon()).await.unwrap().dataset;
            let restore = Change::Restore { version: 3 };
            dataset = dataset.commit(&restore, made(None), soon()).await.unwrap().dataset;
        }
        assert_eq!(seen, [3, 4, 5]);
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    run(async {
        let store = memory();
        let base = two_segments(&store).await;
        let all = [1, 2];
        let mut unknown = put(&base, "C", 1, &all, false).await.unwrap();
        if let Change::Put { lists, .. } = &mut unknown {
            let list = lists[&1].clone();
            lists.insert(9, list);
        }
        let nothing = Change::Append { products: vec![product("A")], segments: Vec::new() };
        let changes = [
            unknown,
            nothing,
            put(&base, "A", 1, &all, false).await.unwrap(),
            put(&base, "Z", 1, &all, true).await.unwrap(),
            Change::Drop { products: vec!["Z".into()] },
        ];
        for change in changes {
            let error = base.commit(&change, made(None), soon()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        }
        let missing = base.commit(&Change::Restore { version: 77 }, made(None), soon()).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Missing);
        assert_eq!(open(&store).await.version(), 3);
    });
}

#[test]
fn versions_are_found_by_number_tag_and_time() {
    run(async {
        let store = memory();
        let base = two_segments(&store).await;
        base.tag("first", soon()).await.unwrap();
        for (text, version) in [("v2", 2), ("first", 3), ("latest", 3)] {
            let at = base.at(&text.parse().unwrap(), soon()).await.unwrap();
            assert_eq!(at.version(), version);
        }
        let log = base.log(0, soon()).await.unwrap();
        assert_eq!(log.iter().map(|entry| entry.n).collect::<Vec<_>>(), [1, 2, 3]);
        let time = base.at(&Version::Time(log[2].time_ms), soon()).await.unwrap();
        assert_eq!(time.version(), 3);
        for version in ["v9", "v0", "second"] {
            let error = base.at(&version.parse().unwrap(), soon()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Missing, "{version}");
        }
        assert_eq!(base.at(&Version::Time(1), soon()).await.unwrap_err().kind(), ErrorKind::Missing);
    });
}

#[test]
fn the_log_in_the_store_is_a_log() {
    run(async {
        let log: Arc<dyn sapwood_stripe::Log> = Arc::new(sapwood_stripe::ObjectLog::new(memory()));
        check_log(&log, soon()).await.unwrap();
    });
}
