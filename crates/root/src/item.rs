//! Items of a file: the trees and objects that its paths name.

use crate::file::File;
use crate::object::Object;
use crate::root_file::KeyRecord;
use crate::tree::Tree;
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_tfile::{Key, StreamerInfos};

/// Classes of trees that need no class descriptions.
const TREES: [&str; 3] = ["TTree", "TNtuple", "TNtupleD"];
/// Classes of RNTuples.
pub const RNTUPLES: [&str; 2] = ["ROOT::RNTuple", "ROOT::Experimental::RNTuple"];

/// A tree or another object of a file.
#[derive(Debug)]
pub enum FileItem {
    /// A tree.
    Tree(Tree),
    /// Any other object.
    Object(Object),
}

impl File {
    /// The tree at a path, such as `Events` or `dir/Events`; of the highest cycle, unless one is given.
    ///
    /// # Errors
    /// `Missing` if there is no such key; `Unsupported` if it is not a tree; those of the source; `Truncated`
    /// or `Corrupt` if the record of the tree is broken.
    pub fn tree(&self, path: &str, cycle: Option<u16>, call: &mut Call<'_>) -> Result<Tree> {
        let (file, cycle) = self.holder(path, cycle, call)?;
        let found = file.root().find(path, cycle, call)?;
        check_class(&found.key, &found.streamers).map_err(|error| error.url(file.url()))?;
        Tree::open(file, &found)
    }

    /// The tree or the object at a path; of the highest cycle, unless one is given.
    ///
    /// # Errors
    /// `Missing` if there is no such key; `Unsupported` if it is a directory, an RNTuple, or of a class that
    /// cannot be read; those of the source; `Truncated` or `Corrupt` if its record is broken.
    pub fn item(&self, path: &str, cycle: Option<u16>, call: &mut Call<'_>) -> Result<FileItem> {
        let (file, cycle) = self.holder(path, cycle, call)?;
        let found = file.root().find(path, cycle, call)?;
        let KeyRecord { key, record, streamers, .. } = &found;
        if is_tree(&key.class_name, streamers) || is_rntuple(&key.class_name) || key.is_directory() {
            check_class(key, streamers).map_err(|error| error.url(file.url()))?;
            return Tree::open(file, &found).map(FileItem::Tree);
        }
        let object = Object::read(key, record, file.root().compiler(streamers));
        object.map(FileItem::Object).map_err(|error| error.url(file.url()))
    }

    /// The tree of this name at the end of the file, assumed to be the one that the list of keys names; use
    /// [`File::settled`] to verify that. `None` if the keys are known already, or there is no such tree at the end.
    pub fn likely_tree(&self, name: &str) -> Option<Tree> {
        let (key, record) = self.root().likely_tree_record(name)?;
        Tree::assumed(self.clone(), name, &key, &record)
    }

    /// Verifies that the list of keys names `tree`, if that was [assumed](File::likely_tree). Returns `None` if it does,
    /// otherwise the tree that it names.
    ///
    /// # Errors
    /// Those of [`File::tree`].
    pub fn settled(&self, tree: &Tree, call: &mut Call<'_>) -> Result<Option<Tree>> {
        let Some(offset) = tree.assumed_at() else { return Ok(None) };
        let named = self.tree(tree.path(), None, call)?;
        Ok(Some(named).filter(|named| named.record_offset() != offset))
    }
}

/// True for trees and the classes derived from them.
pub fn is_tree(class: &str, streamers: &StreamerInfos) -> bool {
    TREES.contains(&class) || streamers.derives_from(class, "TTree")
}

fn is_rntuple(class: &str) -> bool {
    RNTUPLES.contains(&class)
}

fn check_class(key: &Key, streamers: &StreamerInfos) -> Result<()> {
    let class = key.class_name.as_str();
    if is_tree(class, streamers) {
        return Ok(());
    }
    let message = format!("'{}' is a {class}, not a tree", key.name);
    let error = Error::new(ErrorKind::Unsupported, message).at(key.offset);
    Err(if is_rntuple(class) { error.hint("RNTuple is not read yet") } else { error })
}
