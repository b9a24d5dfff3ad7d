//! Datasets made by copying the baskets of files read like those files.

use crate::inputs::{MIXED, corpus, open, readable, trees};
use bytes::Bytes;
use sapwood::{Column, Deadline, Error, ErrorKind, OpenOptions, ReadOptions, Tree};
use sapwood_store::Store;
use sapwood_stripe::{
    Change, Dataset, Id, ListBuilder, NewProduct, NewSegment, ObjectBuilder, ObjectName, Provenance,
    StripeList, Version, keys,
};
use sapwood_testkit::{InstrumentedStore, MemoryStore, StoreOperation};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

/// Stripes in an object.
const GROUPED: usize = 3;
/// Smaller baskets are stored in the list.
const INLINE: u64 = 150;

fn now<T>(future: impl Future<Output = sapwood::Result<T>>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future).unwrap()
}

fn put(store: &InstrumentedStore, key: &str, content: Bytes) {
    now(store.put(key, content, Deadline::default()));
}

/// Branches whose baskets can be copied.
fn whole(tree: &Tree) -> Vec<usize> {
    let branches = tree.ttree().unwrap().branches().iter().enumerate().filter(|(_, branch)| {
        let copied = branch.baskets.iter().map(|basket| basket.entries).sum::<u64>();
        let here = branch.baskets.iter().all(|basket| basket.embedded.is_none());
        here && branch.file_name.is_empty() && (branch.baskets.is_empty() || copied == tree.entries())
    });
    branches.map(|(index, _)| index).collect()
}

/// A branch whose baskets are too large for the list.
fn large(tree: &Tree) -> String {
    let branches = readable(tree).into_iter().filter(|index| whole(tree).contains(index));
    let sized = branches.map(|index| (tree.ttree().unwrap().branches()[index].baskets[0].len, index));
    let (len, index) = sized.max().unwrap();
    assert!(len >= INLINE);
    tree.ttree().unwrap().branches()[index].path.clone()
}

/// The stripes of one branch: one for each of its baskets.
fn stripes(store: &InstrumentedStore, tree: &Tree, content: &[u8], branch: usize) -> StripeList {
    let branch = &tree.ttree().unwrap().branches()[branch];
    let mut list = StripeList::new(1);
    if branch.baskets.is_empty() {
        list.push_inline(tree.entries(), &[Bytes::new()], &[]).unwrap();
    }
    for baskets in branch.baskets.chunks(GROUPED) {
        let record =
            |start: u64, len: u64| Bytes::copy_from_slice(&content[start as usize..(start + len) as usize]);
        if baskets.iter().all(|basket| basket.len < INLINE) {
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

fn product(tree: &Tree, content: &[u8], branch: usize) -> NewProduct {
    let schema = Some(Bytes::copy_from_slice(content));
    NewProduct {
        name: tree.ttree().unwrap().branches()[branch].path.clone(),
        branches: vec![branch as u32],
        schema,
    }
}

/// The entries of a tree, whose baskets are stored; each branch is a product.
fn segment(store: &InstrumentedStore, tree: &Tree, content: &[u8]) -> NewSegment {
    let object = Id::random();
    let mut builder = ListBuilder::new(object);
    let lists = whole(tree).into_iter().map(|branch| {
        let list = stripes(store, tree, content, branch);
        (tree.ttree().unwrap().branches()[branch].path.clone(), builder.add(&list).unwrap())
    });
    let lists: BTreeMap<_, _> = lists.collect();
    put(store, &keys::list(object), builder.finish());
    NewSegment { entries: tree.entries(), batch: tree.entries(), lists, events: None, auxiliary: None }
}

/// A dataset with the entries of a tree, twice.
fn dataset(store: &Arc<InstrumentedStore>, tree: &Tree, content: &[u8]) -> Dataset {
    let products = whole(tree).into_iter().map(|branch| product(tree, content, branch)).collect();
    let segments = vec![segment(store, tree, content), segment(store, tree, content)];
    let (path, deadline) = (tree.path(), Deadline::default());
    let dataset = now(Dataset::create(
        Arc::clone(store) as Arc<dyn Store>,
        None,
        path,
        Provenance::default(),
        deadline,
    ));
    commit(&dataset, &Change::Append { products, segments })
}

fn commit(dataset: &Dataset, change: &Change) -> Dataset {
    now(dataset.commit(change, Provenance::default(), Deadline::default())).dataset
}

fn counted(url: &str) -> Arc<InstrumentedStore> {
    Arc::new(InstrumentedStore::new(Arc::new(MemoryStore::new(url))))
}

fn open_tree(dataset: &Dataset) -> Tree {
    let path = dataset.snapshot().tree.clone();
    let file = sapwood::dataset::file_of_dataset(dataset, &OpenOptions::default(), call!()).unwrap();
    file.tree(&path, None, call!()).unwrap()
}

fn read(tree: &Tree, branches: &[usize]) -> sapwood::Result<Vec<Column>> {
    tree.read(branches, 0..tree.entries(), &ReadOptions::default(), call!())
}

fn mixed() -> Tree {
    open(MIXED).unwrap().tree("tree", None, call!()).unwrap()
}

/// A tree of the entries of `mixed.root`, twice, in stripes.
pub(crate) fn tree_of_dataset(url: &str) -> Tree {
    open_tree(&dataset(&counted(url), &mixed(), MIXED))
}

/// Compares all branches of a tree with those of a dataset made of it; returns their number.
fn compare(name: &str, tree: &Tree, content: &[u8], url: &str) -> usize {
    if whole(tree).is_empty() {
        return 0;
    }
    let other = open_tree(&dataset(&counted(url), tree, content));
    assert_eq!(other.entries(), 2 * tree.entries());
    let mut compared = 0;
    for index in readable(tree).into_iter().filter(|index| whole(tree).contains(index)) {
        let path = &tree.ttree().unwrap().branches()[index].path;
        let own = other.ttree().unwrap().branches().iter().position(|branch| branch.path == *path).unwrap();
        if other.ttree().unwrap().branches()[own]
            .broken
            .as_ref()
            .is_some_and(|why| why.contains("is in no product"))
        {
            continue;
        }
        assert_eq!(
            other.ttree().unwrap().branch_types()[own].typename,
            tree.ttree().unwrap().branch_types()[index].typename,
            "{name}: {path}"
        );
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
            let same = file.tree(tree.path(), None, call!());
            if same.is_ok_and(|same| same.entries() == tree.entries()) && tree.entries() > 0 {
                compared += compare(&name, &tree, &content, "memory:near");
            }
        }
    }
    assert!(compared == 0 || compared > 1000, "{compared} branches compared");
}

#[test]
fn a_read_asks_for_the_lists_once_and_for_each_stripe_once() {
    let (tree, store) = (mixed(), counted("memory://far"));
    dataset(&store, &tree, MIXED);
    store.take();
    let latest =
        now(Dataset::open(Arc::clone(&store) as Arc<dyn Store>, None, &Version::Latest, Deadline::default()));
    let other = open_tree(&latest);
    assert_eq!(store.take().len(), 3, "the hint, the next entry of the log, and the snapshot");
    let branch = other.find_branch(&large(&tree)).unwrap();
    let tree_branch = &tree.ttree().unwrap().branches()[tree.find_branch(&large(&tree)).unwrap()];
    let part = |end| other.read(&[branch], 0..end, &ReadOptions::default(), call!()).unwrap();
    part(tree_branch.baskets[0].entries);
    let calls = store.take();
    let keys = |prefix: &str| calls.iter().filter(|call| call.key.starts_with(prefix)).count();
    assert_eq!((keys(keys::LISTS), keys(keys::DATA), calls.len()), (2, 1, 3), "{calls:?}");
    assert!(calls.iter().all(|call| call.operation == StoreOperation::Get && call.range.is_some()));
    part(other.entries());
    let objects = tree_branch.baskets.len().div_ceil(GROUPED) * 2;
    assert_eq!(store.take().len(), objects);
}

/// The first stripe of a branch in the store: its key and content.
fn first_object(store: &InstrumentedStore, tree: &Tree, content: &[u8], name: &str) -> (String, Vec<u8>) {
    let basket = &tree.ttree().unwrap().branches()[tree.find_branch(name).unwrap()].baskets[0];
    let record = &content[basket.offset as usize..(basket.offset + basket.len) as usize];
    let objects = now(store.list(keys::DATA, Deadline::default()));
    let mut objects = objects.into_iter().map(|object| {
        let content = now(store.get(&object.key, None, Deadline::default()));
        (object.key, content.to_vec())
    });
    objects.find(|(_, content)| content.windows(record.len()).any(|part| part == record)).unwrap()
}

fn failure(dataset: &Dataset, name: &str) -> Error {
    let tree = open_tree(dataset);
    read(&tree, &[tree.find_branch(name).unwrap()]).unwrap_err()
}

#[test]
fn damage_is_reported_by_product_entries_and_object() {
    for url in ["memory:near", "memory://far"] {
        let (tree, store) = (mixed(), counted(url));
        let whole = dataset(&store, &tree, MIXED);
        let name = large(&tree);
        let of_product = format!("of the product '{name}'");
        let (key, content) = first_object(&store, &tree, MIXED, &name);
        let mut damaged = content.clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        put(&store, &key, damaged.into());
        let error = failure(&whole, &name);
        assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
        assert!(error.to_string().contains(&of_product), "{error}");
        assert!(error.url_str().unwrap().ends_with(&key), "{error:?}");
        put(&store, &key, content[..content.len() - 1].to_vec().into());
        let error = failure(&whole, &name);
        assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
        now(store.delete(std::slice::from_ref(&key), Deadline::default()));
        let error = failure(&whole, &name);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(&format!("{of_product} are lost")), "{error}");
        assert!(error.url_str().unwrap().ends_with(&key), "{error:?}");
        // All others can still be read.
        let number = open_tree(&whole);
        let small = if name == "number" { "flag" } else { "number" };
        read(&number, &[number.find_branch(small).unwrap()]).unwrap();
        let lists = now(store.list(keys::LISTS, Deadline::default()));
        now(store.delete(&[lists[0].key.clone()], Deadline::default()));
        let error = failure(&whole, small);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("a stripe list is lost"), "{error}");
    }
}

#[test]
fn products_of_other_schemas_stand_beside_those_of_the_first() {
    let (tree, store) = (mixed(), counted("memory:near"));
    let first = dataset(&store, &tree, MIXED);
    let branch = tree.find_branch("jagged").unwrap();
    // The same file with other bytes after its end is another schema.
    let other = [MIXED, &[0]].concat();
    let object = Id::random();
    let mut builder = ListBuilder::new(object);
    let lists = first
        .snapshot()
        .segments
        .iter()
        .map(|segment| (segment.id, builder.add(&stripes(&store, &tree, MIXED, branch)).unwrap()));
    let lists = lists.collect();
    put(&store, &keys::list(object), builder.finish());
    let change = Change::Put { product: product(&tree, &other, branch), lists, replace: true };
    let second = commit(&first, &change);
    assert_eq!(second.snapshot().schemas.len(), 2);
    let (before, after) = (open_tree(&first), open_tree(&second));
    let all = |tree: &Tree| {
        let branches = readable(tree).into_iter().map(|index| {
            let column = read(tree, &[index]).unwrap().remove(0);
            (tree.ttree().unwrap().branches()[index].path.clone(), column)
        });
        branches.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(all(&before), all(&after));
    let dropped = commit(&second, &Change::Drop { products: vec!["number".into()] });
    let names: Vec<_> =
        open_tree(&dropped).ttree().unwrap().branches().iter().map(|branch| branch.name.clone()).collect();
    assert!(
        !names.contains(&"number".to_owned()) && names.len() + 1 == after.ttree().unwrap().branches().len()
    );
}
