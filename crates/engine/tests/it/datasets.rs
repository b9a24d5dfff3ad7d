//! Datasets of product stripes, made of files by copying their baskets: what is read is what the files hold.

use crate::inputs::{MIXED, corpus, never, open, readable, trees};
use bytes::Bytes;
use futures::FutureExt;
use sapwood::{Column, Deadline, File, OpenOptions, ReadOptions, Tree};
use sapwood_source::{MemoryStore, Store};
use sapwood_stripe::{
    Id, ListBuilder, Made, ObjectBuilder, ObjectName, ObjectRef, Product, Schema, Segment, Snapshot,
    StripeList, keys,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Stripes in an object.
const GROUPED: usize = 3;

fn put(store: &MemoryStore, key: &str, content: Bytes) {
    store.put(key, content, Deadline::default()).now_or_never().unwrap().unwrap();
}

/// Branches whose baskets can be copied.
fn whole(tree: &Tree) -> Vec<usize> {
    let branches = tree.branches().iter().enumerate().filter(|(_, branch)| {
        let copied = branch.baskets.iter().map(|basket| basket.entries).sum::<u64>();
        let here = branch.baskets.iter().all(|basket| basket.embedded.is_none());
        here && branch.file_name.is_empty() && (branch.baskets.is_empty() || copied == tree.entries())
    });
    branches.map(|(index, _)| index).collect()
}

/// The stripes of one branch: one for each of its baskets.
fn stripes(store: &MemoryStore, tree: &Tree, content: &[u8], branch: usize) -> StripeList {
    let branch = &tree.branches()[branch];
    let mut list = StripeList::new(1);
    if branch.baskets.is_empty() {
        list.push_inline(tree.entries(), &[Bytes::new()], &[]).unwrap();
    }
    for baskets in branch.baskets.chunks(GROUPED) {
        let record =
            |start: u64, len: u64| Bytes::copy_from_slice(&content[start as usize..(start + len) as usize]);
        if baskets.iter().all(|basket| basket.len < StripeList::INLINE_LIMIT) {
            for basket in baskets {
                list.push_inline(basket.entries, &[record(basket.offset, basket.len)], &[]).unwrap();
            }
            continue;
        }
        let mut builder = ObjectBuilder::default();
        for basket in baskets {
            let record = record(basket.offset, basket.len);
            builder.add(&branch.path, basket.first_entry, basket.entries, vec![record]).unwrap();
        }
        let object = ObjectName { base: 0, id: Id::random() };
        let (content, placed) = builder.finish().unwrap();
        put(store, &keys::data(object.id), content);
        placed.iter().for_each(|placed| list.push(object, placed, &[]).unwrap());
    }
    list
}

/// A dataset with the entries of a tree, so many times; each branch is a product.
fn dataset(store: &MemoryStore, tree: &Tree, content: &[u8], times: u32) -> Snapshot {
    let branches = whole(tree);
    let product = |(id, branch): (usize, &usize)| Product {
        id: id as u32,
        name: tree.branches()[*branch].path.clone(),
        schema: 7,
        branches: vec![*branch as u32],
        version: 2,
    };
    let products: Vec<Product> = branches.iter().enumerate().map(product).collect();
    let segment = |id| {
        let object = Id::random();
        let mut lists = ListBuilder::new(object);
        let mut places: BTreeMap<u32, ObjectRef> = BTreeMap::new();
        for (product, branch) in products.iter().zip(&branches) {
            places.insert(product.id, lists.add(&stripes(store, tree, content, *branch)).unwrap());
        }
        put(store, &keys::list(object), lists.finish());
        Segment {
            id,
            entries: tree.entries(),
            batch: tree.entries().max(1),
            lists: places,
            events: None,
            auxiliary: None,
        }
    };
    Snapshot {
        id: Id::random(),
        parent: None,
        tree: tree.path().to_owned(),
        schemas: vec![Schema { id: 7, file: Bytes::copy_from_slice(content) }],
        segments: (0..times).map(segment).collect(),
        products: products.clone(),
        bases: Vec::new(),
        used: Default::default(),
        made: Made::default(),
    }
}

fn open_dataset(snapshot: Snapshot, store: Arc<dyn Store>) -> Tree {
    let path = snapshot.tree.clone();
    let file = File::of_snapshot(Arc::new(snapshot), 2, store, OpenOptions::default(), &mut never()).unwrap();
    file.tree(&path, None, Deadline::default(), &mut never()).unwrap()
}

fn read(tree: &Tree, branches: &[usize]) -> sapwood::Result<Vec<Column>> {
    tree.read(branches, 0..tree.entries(), &ReadOptions::default(), &mut never())
}

fn mixed() -> Tree {
    open(MIXED).unwrap().tree("tree", None, Deadline::default(), &mut never()).unwrap()
}

/// Compares all branches of a tree with those of a dataset made of it; how many there were.
fn compare(name: &str, tree: &Tree, content: &[u8], url: &str) -> usize {
    let store = Arc::new(MemoryStore::new(url));
    let other = open_dataset(dataset(&store, tree, content, 2), store);
    assert_eq!(other.entries(), 2 * tree.entries());
    let mut compared = 0;
    for index in readable(tree).into_iter().filter(|index| whole(tree).contains(index)) {
        let path = &tree.branches()[index].path;
        let own = other.branches().iter().position(|branch| branch.path == *path).unwrap();
        if other.branches()[own].broken.as_ref().is_some_and(|why| why.contains("is in no product")) {
            continue;
        }
        assert_eq!(other.outcomes()[own].typename, tree.outcomes()[index].typename, "{name}: {path}");
        let (Ok(expected), found) = (read(tree, &[index]), read(&other, &[own])) else { continue };
        let expected = Column::concat(vec![expected[0].clone(), expected[0].clone()]).unwrap();
        assert_eq!(found.unwrap()[0], expected, "{name}: {path}");
        compared += 1;
    }
    compared
}

#[test]
fn a_dataset_has_the_values_of_the_files_it_was_made_of() {
    for url in ["memory:near", "memory://far"] {
        assert!(compare("mixed.root", &mixed(), MIXED, url) > 8);
    }
}

#[test]
fn every_class_of_the_corpus_is_read_from_stripes_as_from_files() {
    let mut compared = 0;
    for (name, content) in corpus(300_000) {
        let Ok(file) = open(&content) else { continue };
        for tree in trees(&file) {
            let same = file.tree(tree.path(), None, Deadline::default(), &mut never());
            if same.is_ok_and(|same| same.entries() == tree.entries()) && tree.entries() > 0 {
                compared += compare(&name, &tree, &content, "memory:near");
            }
        }
    }
    assert!(compared == 0 || compared > 1000, "{compared} branches compared");
}
