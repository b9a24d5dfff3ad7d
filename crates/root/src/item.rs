//! Items of a file: the trees and objects that its paths name.

use crate::file::File;
use crate::ntuple::{self, is_ntuple};
use crate::object::Object;
use crate::root_file::KeyRecord;
use crate::tree::Tree;
use sapwood_core::{Call, Error, Result};
use sapwood_table::Table;
use sapwood_tfile::StreamerInfos;
use std::sync::Arc;

/// Classes of trees that need no class descriptions.
const TREES: [&str; 3] = ["TTree", "TNtuple", "TNtupleD"];

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
    /// `Missing` if there is no such key; `Unsupported` if it is not a TTree or an RNTuple, or one of a version that is
    /// not known; those of the source; `Truncated`, `Checksum` or `Corrupt` if its metadata are broken.
    pub fn tree(&self, path: &str, cycle: Option<u16>, call: &mut Call<'_>) -> Result<Tree> {
        let (file, cycle) = self.holder(path, cycle, call)?;
        let found = file.root().find(path, cycle, call)?;
        let class = found.key.class_name.as_str();
        match open_tree(&file, &found, call)? {
            Some(tree) => Ok(tree),
            None => {
                let message = format!("'{}' is a {class}, not a tree", found.key.name);
                Err(Error::unsupported(message).at(found.key.offset).url(file.url()))
            }
        }
    }

    /// The tree or the object at a path, and its cycle: the highest one, unless one is given.
    ///
    /// # Errors
    /// `Missing` if there is no such key; `Unsupported` if it is a directory, or of a class that cannot be read; those
    /// of [`File::tree`].
    pub fn item(&self, path: &str, cycle: Option<u16>, call: &mut Call<'_>) -> Result<(FileItem, u16)> {
        let (file, cycle) = self.holder(path, cycle, call)?;
        let found = file.root().find(path, cycle, call)?;
        if let Some(tree) = open_tree(&file, &found, call)? {
            return Ok((FileItem::Tree(tree), found.key.cycle));
        }
        let KeyRecord { key, record, streamers, .. } = &found;
        let object = Object::read(key, record, file.root().compiler(streamers));
        let object = object.map_err(|error| error.url(file.url()))?;
        Ok((FileItem::Object(object), key.cycle))
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

/// The tree of a key, in any format; `None` if it is none.
fn open_tree(file: &File, found: &KeyRecord, call: &mut Call<'_>) -> Result<Option<Tree>> {
    let class = found.key.class_name.as_str();
    let table: Arc<dyn Table> = if is_ntuple(class) {
        Arc::new(ntuple::open(file.root(), found, call)?)
    } else if is_tree(class, &found.streamers) {
        Arc::new(file.contents().table(file.root(), found)?)
    } else {
        return Ok(None);
    };
    Ok(Some(Tree::new(file.clone(), found.record.offset, table, None)))
}
