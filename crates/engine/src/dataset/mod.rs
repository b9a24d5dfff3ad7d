//! Datasets of product stripes (`sapwood-stripe`): read as the tree of a file.
//!
//! - `schema`: the branches of all products as one tree.
//! - `view`: which baskets they have; asked for when a branch is wanted first.
//! - `open`: what names a dataset; a version as a file.
//! - `objects`: where each object lies in the file that readers see; `source`: its bytes.

mod objects;
mod open;
mod schema;
mod source;
mod view;

pub(crate) use open::Named;
pub(crate) use schema::Origin;
pub(crate) use view::View;
