//! Written objects read as they were.

use crate::samples;
use bytes::Bytes;
use proptest::prelude::*;
use sapwood_core::{Extremes, Statistics};
use sapwood_stripe::{
    EventHead, EventId, EventIndex, Id, Location, LumiMask, ObjectBuilder, ObjectDirectory, ObjectName,
    Snapshot, StripeList, checksum,
};
use std::ops::Range;

#[test]
fn a_snapshot_is_read_as_it_was_written() {
    let snapshot = samples::snapshot();
    assert_eq!(Snapshot::decode(&snapshot.encode().unwrap()).unwrap(), snapshot);
}

#[test]
fn a_snapshot_that_names_what_there_is_not_is_refused() {
    type Change = fn(&mut Snapshot);
    let changes: [Change; 7] = [
        |snapshot| snapshot.products[1].schema = 9,
        |snapshot| snapshot.products[1].id = 1,
        |snapshot| snapshot.segments[0].batch = 0,
        |snapshot| snapshot.segments[0].events.as_mut().unwrap().base = 2,
        |snapshot| snapshot.segments[0].lists.get_mut(&1).unwrap().offset = u64::MAX,
        |snapshot| drop(snapshot.products.remove(0)),
        |snapshot| {
            let again = snapshot.segments[0].clone();
            snapshot.segments[0].entries = u64::MAX;
            snapshot.segments.push(again);
        },
    ];
    for change in changes {
        let mut snapshot = samples::snapshot();
        change(&mut snapshot);
        assert!(Snapshot::decode(&snapshot.encode().unwrap()).is_err());
    }
}

#[test]
fn a_directory_is_read_from_the_first_bytes() {
    let (object, placed) = samples::group(1);
    let start = placed[0].offset as usize;
    let directory = ObjectDirectory::head(&object[..start]).unwrap();
    assert_eq!(directory, ObjectDirectory::of(&object).unwrap());
    assert!(ObjectDirectory::head(&object[..start - 1]).is_err());
    let [muon, jet] = &directory.members[..] else { panic!("{directory:?}") };
    assert_eq!((muon.product.as_str(), jet.product.as_str()), ("Muon", "Jet"));
    assert_eq!((jet.first_entry, &jet.placed), (1000, &placed[1]));
}

#[test]
fn statistics_of_another_type_are_refused() {
    let mut list = StripeList::new(1);
    let object = ObjectName { base: 0, id: Id::random() };
    let (_, placed) = {
        let mut builder = ObjectBuilder::default();
        builder.add("x", 0, 1, vec![Bytes::from("record")]).unwrap();
        builder.finish().unwrap()
    };
    let of = |extremes| [Some(Statistics { count: 1, nans: 0, extremes })];
    list.push(object, &placed[0], &of(None)).unwrap();
    list.push(object, &placed[0], &of(Some(Extremes::Float(1.0, 1.0)))).unwrap();
    list.push(object, &placed[0], &of(None)).unwrap();
    list.push(object, &placed[0], &of(Some(Extremes::Signed(1, 1)))).unwrap_err();
    list.push(object, &placed[0], &[None, None]).unwrap_err();
    assert_eq!(list.len(), 3);
    assert_eq!(StripeList::decode(&list.encode().unwrap(), 1, 3).unwrap(), list);
}

#[test]
fn stripes_of_some_branches_follow_those_before() {
    let mut builder = ObjectBuilder::default();
    for (entries, count) in [(10, 1), (10, 2), (5, 3)] {
        builder.add("x", 0, entries, vec![Bytes::from("record"); count]).unwrap();
    }
    let (_, placed) = builder.finish().unwrap();
    let (object, mut list) = (ObjectName { base: 0, id: Id::random() }, StripeList::new(3));
    let none =
        |list: &mut StripeList, range, place: usize| list.push_some(range, object, 0, &placed[place], &[]);
    none(&mut list, 0..1, 0).unwrap();
    assert_eq!(list.entries(), 0);
    list.encode().unwrap_err();
    // Of all branches, of no branches, of some that there are not, and of others than there are baskets.
    for (range, place) in [(0..3, 2), (1..1, 0), (2..4, 1), (1..2, 1)] {
        none(&mut list, range, place).unwrap_err();
    }
    none(&mut list, 1..3, 1).unwrap();
    none(&mut list, 0..3, 2).unwrap();
    assert_eq!((list.entries(), list.len()), (15, 3));
    assert_eq!(StripeList::decode(&list.encode().unwrap(), 3, 15).unwrap(), list);
}

/// Entries as the tests make them: their number, the lengths of the baskets (a fifth of them none), whether they are inline, and else
/// before which branches another stripe begins.
type Provenance = (u64, Vec<u16>, bool, Vec<bool>);

fn entries() -> impl Strategy<Value = (usize, Vec<Provenance>)> {
    (0usize..6).prop_flat_map(|branches| {
        let len = prop_oneof![1 => Just(0u16), 4 => 1u16..300];
        let lens = prop::collection::vec(len, branches);
        let made = (1u64..1_000_000, lens, any::<bool>(), prop::collection::vec(any::<bool>(), branches));
        (Just(branches), prop::collection::vec(made, 0..40))
    })
}

/// The branches of each stripe.
fn apart(borders: &[bool]) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = (1..borders.len()).filter(|branch| borders[*branch]).collect();
    starts.insert(0, 0);
    let ends = starts.iter().skip(1).copied().chain([borders.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

fn extremes(kind: usize, bits: u64) -> Option<Extremes> {
    match kind % 3 {
        0 => Some(Extremes::Signed(bits.cast_signed(), i64::MAX)),
        1 => Some(Extremes::Unsigned(bits, u64::MAX)),
        _ => Some(Extremes::Float(-(bits as f64), f64::INFINITY)),
    }
}

proptest! {
    #[test]
    fn lists_are_read_as_they_were_written((branches, made) in entries(), step in 0u64..3) {
        let mut list = StripeList::new(branches);
        let mut wanted = Vec::new();
        let mut first = 0;
        for (number, (entries, lens, inline, borders)) in made.iter().enumerate() {
            let records: Vec<Bytes> =
                lens.iter().map(|len| vec![number as u8; usize::from(*len)].into()).collect();
            let statistics: Vec<_> = (0..branches)
                .map(|branch| (branch as u64 % 2 < step).then(|| Statistics {
                    count: 10,
                    nans: 3,
                    extremes: extremes(branch, checksum(&[number as u8])),
                }))
                .collect();
            if *inline {
                list.push_inline(*entries, &records, &statistics).unwrap();
                wanted.push((first, *entries, 0..branches, records, statistics, true));
            } else {
                for range in apart(borders) {
                    let (records, statistics) = (records[range.clone()].to_vec(), statistics[range.clone()].to_vec());
                    let mut builder = ObjectBuilder::default();
                    builder.add("x", 0, *entries, records.clone()).unwrap();
                    let (_, placed) = builder.finish().unwrap();
                    let object = ObjectName { base: 1, id: Id::random() };
                    list.push_some(range.clone(), object, step * first, &placed[0], &statistics).unwrap();
                    wanted.push((first, *entries, range, records, statistics, false));
                }
            }
            first += entries;
        }
        prop_assert_eq!(list.entries(), first);
        let again = StripeList::decode(&list.encode().unwrap(), branches, first).unwrap();
        prop_assert_eq!(&again, &list);
        prop_assert_eq!(again.len(), wanted.len());
        for (number, (first, entries, range, records, statistics, inline)) in wanted.iter().enumerate() {
            let stripe = again.stripe(number).unwrap();
            prop_assert_eq!((stripe.first_entry, stripe.entries, &stripe.branches), (*first, *entries, range));
            let size = Some(step * first).filter(|size| *size > 0 && !inline);
            prop_assert_eq!(stripe.object_size, size);
            let mut before = 0;
            for ((branch, record), statistics) in range.clone().zip(records).zip(statistics) {
                let basket = again.basket(branch, number).unwrap();
                prop_assert_eq!((basket.len as usize, basket.checksum), (record.len(), checksum(record)));
                match (&basket.place, &stripe.place) {
                    (Location::Inline(bytes), _) => prop_assert!(*inline && bytes == record),
                    (Location::Object { offset, .. }, Location::Object { offset: start, .. }) => {
                        prop_assert_eq!(*offset, start + before);
                    }
                    _ => prop_assert!(false),
                }
                prop_assert_eq!(&again.statistics(branch, number), statistics);
                before += u64::from(basket.len);
            }
            prop_assert_eq!(before, u64::from(stripe.len));
            prop_assert!((0..branches + 1).all(|branch| again.basket(branch, number).is_some() == range.contains(&branch)));
        }
        for branch in 0..branches {
            let spans = (0..again.len()).filter_map(|stripe| again.basket(branch, stripe)).map(|basket| (basket.first_entry, basket.entries));
            let wanted = wanted.iter().filter(|wanted| wanted.2.contains(&branch)).map(|wanted| (wanted.0, wanted.1));
            prop_assert_eq!(spans.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
        }
    }

    #[test]
    fn events_are_read_as_they_were_written_and_found(
        ids in prop::collection::vec((0u32..3, any::<u32>(), any::<u64>()), 0..200),
        repeat in 0usize..3,
    ) {
        let ids: Vec<_> = (0..=repeat).flat_map(|_| ids.clone()).collect();
        let column = |of: fn(&(u32, u32, u64)) -> u32| ids.iter().map(of).collect();
        let events = ids.iter().map(|id| id.2).collect();
        let index = EventIndex::new(column(|id| id.0), column(|id| id.1), events).unwrap();
        let again = EventIndex::decode(&index.encode().unwrap(), ids.len() as u64).unwrap();
        prop_assert_eq!(&again, &index);
        let lookup = again.lookup();
        for (entry, event) in again.iter().enumerate() {
            prop_assert!(lookup.find(event).contains(&(entry as u32)));
        }
        prop_assert_eq!(lookup.duplicates().count() > 0, repeat > 0 && !ids.is_empty());
    }

    #[test]
    fn columns_come_into_the_order_of_other_columns(len in 1usize..200, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut events: Vec<u64> = (0..len as u64).map(|number| number * number).collect();
        let index = |events: &[u64]| {
            EventIndex::new(vec![1; events.len()], vec![2; events.len()], events.to_vec()).unwrap()
        };
        let old = index(&events);
        random.shuffle(&mut events);
        let new = index(&events);
        let order = new.order_of(&old).unwrap();
        prop_assert_eq!(order.is_none(), new == old);
        if let Some(order) = order {
            let moved = order.iter().map(|entry| new.get(*entry as usize));
            prop_assert!(moved.eq(old.iter().map(Some)));
        }
        // One that is missing, one that is new, and one that is there twice.
        prop_assert!(index(&events[1..]).order_of(&old).is_err());
        events[0] = 3;
        prop_assert!(index(&events).order_of(&old).unwrap_err().message().starts_with("1 of"));
        events[0] = 0;
        if len > 1 {
            events[1] = 0;
            prop_assert!(index(&events).order_of(&old).unwrap_err().message().contains("more than once"));
        }
    }
}

#[test]
fn luminosity_blocks_are_chosen_by_entries() {
    let index = samples::events();
    let mask = |text| LumiMask::from_json(text).unwrap();
    assert_eq!(
        index.select(&mask(r#"{"273158": [[1, 2], [4, 4]], "273160": [[5, 90], [1, 1]]}"#)),
        [0..200, 300..400, 2000..2100, 2400..2500]
    );
    assert_eq!(index.select(&mask("{}")), []);
    // A block within another one.
    let chosen = index.select(&mask(r#"{"273159": [[2, 9], [3, 3]]}"#));
    assert!(chosen.first() == Some(&(1100..1900)) && chosen.len() == 1);
    for wrong in ["[]", r#"{"1": [[2, 1]]}"#, r#"{"1": [[1]]}"#, r#"{"x": []}"#] {
        assert!(LumiMask::from_json(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn blocks_of_an_index_are_chosen_by_their_bounds() {
    let count = 200_000u32;
    let runs = (0..count).map(|entry| entry / 65_536).collect();
    let index = EventIndex::new(runs, vec![5; count as usize], (0..u64::from(count)).collect()).unwrap();
    let object = index.encode().unwrap();
    let needed = EventHead::bytes_needed(u64::from(count)) as usize;
    let head = EventHead::parse(&object[..needed], u64::from(count)).unwrap();
    let mask = LumiMask::from_json(r#"{"2": [[5, 5]], "3": [[6, 9]]}"#).unwrap();
    let chosen: Vec<_> = head.blocks.iter().filter(|block| block.may_hold(&mask)).collect();
    let [block] = chosen[..] else { panic!("{chosen:?}") };
    assert_eq!(block.entries, 131_072..196_608);
    let part = block.decode(&object[block.bytes.start as usize..block.bytes.end() as usize]).unwrap();
    assert_eq!(part.get(1), Some(EventId { run: 2, lumi: 5, event: 131_073 }));
    assert!(block.decode(&object[block.bytes.start as usize + 1..block.bytes.end() as usize]).is_err());
}
