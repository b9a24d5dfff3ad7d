//! Split collections of objects that each count their own items, in a file that ROOT wrote.

use crate::inputs::{open, open_distant};
use sapwood::{Column, Form, Primitive, Query, ReadOptions, Tree};
use std::ops::Range;

/// Made by `make.py` beside it.
const COUNTED: &[u8] = include_bytes!("../../../../tests/data/trees/counted.root");
/// Counted members of the objects of a vector and of a `TClonesArray`.
const COLUMNS: [&str; 6] = ["list.x", "list.hits", "list.packed", "clones.x", "clones.hits", "clones.packed"];

fn tree(distant: bool) -> Tree {
    let file = if distant { open_distant(COUNTED) } else { open(COUNTED) }.unwrap();
    file.tree("tree", None, call!()).unwrap()
}

fn read(tree: &Tree, request: Query, entries: Range<u64>) -> Column {
    tree.read(&[request], entries, &ReadOptions::default(), call!()).unwrap().remove(0)
}

fn split(tree: &Tree, column: &str) -> usize {
    tree.find_branch(&format!("split.{column}")).unwrap()
}

#[test]
fn columns_hold_what_each_object_counts() {
    let tree = tree(false);
    let column = read(&tree, split(&tree, "clones.x").into(), 0..40);
    assert_eq!(column.form, Form::list(Form::list(Form::Primitive(Primitive::F32))));
    // The values that the writer of the file filled.
    let (mut objects, mut numbers, mut values) = (vec![0i64], vec![0i64], Vec::new());
    for entry in 0..40i16 {
        for number in 0..entry % 4 {
            let count = (entry + number) % 3;
            let value = |item: i16| f32::from(entry) + f32::from(number) / 8.0 + f32::from(item) / 64.0;
            values.extend((0..count).map(value));
            numbers.push(numbers[numbers.len() - 1] + i64::from(count));
        }
        objects.push(objects[objects.len() - 1] + i64::from(entry % 4));
    }
    assert_eq!(column.buffers[0].view::<i64>(), objects);
    assert_eq!(column.buffers[1].view::<i64>(), numbers);
    assert_eq!(column.buffers[2].view::<f32>(), values);
}

#[test]
fn split_and_unsplit_objects_count_the_same_in_any_range() {
    for distant in [false, true] {
        let tree = tree(distant);
        let whole = tree.find_branch("whole.").unwrap();
        for entries in [0..40, 7..8, 13..33, 39..40] {
            for column in COLUMNS {
                let parts = read(&tree, split(&tree, column).into(), entries.clone());
                let expected = read(&tree, (whole, column).into(), entries.clone());
                assert_eq!(parts, expected, "{column} of the entries {entries:?}");
            }
        }
        let adc = read(&tree, (split(&tree, "list.hits"), "adc").into(), 5..30);
        assert_eq!(adc, read(&tree, (whole, "list.hits.adc").into(), 5..30));
        let nothing = read(&tree, split(&tree, "list.hits").into(), 4..4);
        assert_eq!((nothing.length, nothing.form), (0, read(&tree, (whole, "list.hits").into(), 4..4).form));
    }
}

#[test]
fn a_scan_brings_the_counts_along() {
    let tree = tree(true);
    let requests: Vec<Query> = COLUMNS.iter().map(|column| split(&tree, column).into()).collect();
    let together = tree.read(&requests, 0..40, &ReadOptions::default(), call!()).unwrap();
    for (request, column) in requests.into_iter().zip(together) {
        let parts: Vec<Column> = [0..11, 11..15, 15..40]
            .into_iter()
            .map(|entries| read(&tree, request.clone(), entries))
            .collect();
        assert_eq!(Column::concat(parts).unwrap(), column);
    }
}
