//! The products of a dataset that is written: their branches, and where these are in an input tree.

use super::memory::MemorySink;
use super::products::{self, BranchGroup};
use super::segment::InputProduct;
use bytes::Bytes;
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_rewrite::repack::input::{InputTree, wanted_branches};
use sapwood_rewrite::repack::{Input, RepackOptions, TreeSelection, repack};
use sapwood_root::File;
use sapwood_source::MemorySource;
use sapwood_stripe::{NewProduct, Snapshot};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Most bytes of a tree's record and its class descriptions.
const LARGEST: usize = 256 << 20;

/// The products to write entries to.
#[derive(Debug)]
pub struct Template {
    /// Path of the tree.
    pub tree: String,
    /// Trees without entries.
    pub schemas: Vec<TemplateSchema>,
    /// The products of all schemas.
    pub products: Vec<TemplateProduct>,
}

/// A schema: a file whose tree has no entries, and the tree.
#[derive(Debug)]
pub struct TemplateSchema {
    pub file: Bytes,
    pub tree: InputTree,
}

/// A product to write entries to.
#[derive(Debug)]
pub struct TemplateProduct {
    pub name: String,
    pub schema: usize,
    /// Indices of its branches in the schema's tree.
    pub branches: Vec<usize>,
}

impl Template {
    /// The template for a tree of a file; for some of its products, if they are named.
    pub fn of_tree(
        input: &InputTree,
        path: &str,
        names: Option<&[String]>,
        call: &mut Call<'_>,
    ) -> Result<Template> {
        let mut products = products::products(input)?;
        if let Some(names) = names {
            if let Some(name) =
                names.iter().find(|name| !products.iter().any(|product| product.name == **name))
            {
                let known: Vec<&str> =
                    products.iter().map(|product| product.name.as_str()).take(20).collect();
                let message = format!("the tree '{path}' has no product '{name}'");
                return Err(Error::new(ErrorKind::Missing, message)
                    .url(input.file.url())
                    .hint(format!("it has {}", known.join(", "))));
            }
            products.retain(|product| names.contains(&product.name));
        }
        Template::of_products(input, path, products, names.is_none(), call)
    }

    /// The template for some branches of a tree of a file, and those needed to read them.
    pub fn of_branches(
        input: &InputTree,
        path: &str,
        branches: &[String],
        call: &mut Call<'_>,
    ) -> Result<Template> {
        let wanted = wanted_branches(input, Some(branches))?;
        let mut products = products::products(input)?;
        for product in &mut products {
            product.branches.retain(|&branch| wanted.get(branch) == Some(&true));
        }
        products.retain(|product| !product.branches.is_empty());
        Template::of_products(input, path, products, false, call)
    }

    fn of_products(
        input: &InputTree,
        path: &str,
        products: Vec<BranchGroup>,
        all: bool,
        call: &mut Call<'_>,
    ) -> Result<Template> {
        let paths = products
            .iter()
            .flat_map(|product| &product.branches)
            .map(|&branch| input.path(branch).to_owned());
        let branches: Option<Vec<String>> = (!all).then(|| paths.collect());
        let file = schema(&input.file, path, branches, call)?;
        let tree = open_schema(&file, path, call)?;
        let places = places(&tree);
        let found = products.iter().map(|product| {
            let branches = product.branches.iter().map(|&branch| places.get(input.path(branch)).copied());
            Some(TemplateProduct {
                name: product.name.clone(),
                schema: 0,
                branches: branches.collect::<Option<Vec<_>>>()?,
            })
        });
        let found = found.collect::<Option<Vec<_>>>().ok_or_else(|| {
            Error::unsupported("two branches of the tree have the same path").url(input.file.url())
        })?;
        drop(places);
        Ok(Template { tree: path.to_owned(), schemas: vec![TemplateSchema { file, tree }], products: found })
    }

    /// The template of an existing dataset.
    pub fn of_snapshot(snapshot: &Snapshot, call: &mut Call<'_>) -> Result<Template> {
        let mut schemas = Vec::with_capacity(snapshot.schemas.len());
        for schema in &snapshot.schemas {
            let tree = open_schema(&schema.file, &snapshot.tree, call)?;
            schemas.push(TemplateSchema { file: schema.file.clone(), tree });
        }
        let products = snapshot.products.iter().map(|product| {
            let schema = snapshot.schemas.iter().position(|schema| schema.id == product.schema);
            let schema = schema.ok_or_else(|| Error::corrupt("a product has no schema"))?;
            let branches = product.branches.iter().map(|&branch| branch as usize).collect();
            Ok(TemplateProduct { name: product.name.clone(), schema, branches })
        });
        Ok(Template { tree: snapshot.tree.clone(), products: products.collect::<Result<_>>()?, schemas })
    }

    /// The products, for a commit.
    pub fn new_products(&self) -> Vec<NewProduct> {
        let products = self.products.iter().map(|product| NewProduct {
            name: product.name.clone(),
            branches: product
                .branches
                .iter()
                .map(|&branch| u32::try_from(branch).unwrap_or(u32::MAX))
                .collect(),
            schema: self.schemas.get(product.schema).map(|schema| schema.file.clone()),
        });
        products.collect()
    }

    /// The products, with the indices of their branches in another tree. With `all`, that tree must not have other
    /// branches.
    ///
    /// # Errors
    /// `Unsupported` if the tree lacks a branch, has it with another type, or has further ones.
    pub fn products_in(&self, input: &InputTree, all: bool) -> Result<Vec<InputProduct>> {
        let places = places(input);
        let (mut differences, mut met) = (Vec::new(), 0);
        let mut found = Vec::with_capacity(self.products.len());
        for product in &self.products {
            let Some(schema) = self.schemas.get(product.schema) else { continue };
            let mut branches = Vec::with_capacity(product.branches.len());
            for &branch in &product.branches {
                let path = schema.tree.path(branch);
                match places.get(path) {
                    None => differences.push(format!("{path} of the product '{}' is missing", product.name)),
                    Some(&place) => {
                        let (there, here) = (schema.tree.signature(branch), input.signature(place));
                        if there != here {
                            differences.push(format!("{path} is {here}, not {there}"));
                        }
                        branches.push(place);
                        met += 1;
                    }
                }
            }
            found.push(InputProduct { name: product.name.clone(), branches });
        }
        if all && differences.is_empty() && met < input.record().branches.len() {
            let known: HashSet<usize> = found.iter().flat_map(|product| &product.branches).copied().collect();
            let new = (0..input.record().branches.len()).filter(|branch| !known.contains(branch));
            differences.extend(new.map(|branch| format!("{} is new", input.path(branch))));
        }
        if differences.is_empty() {
            return Ok(found);
        }
        let shown: Vec<_> = differences.iter().take(5).map(String::as_str).collect();
        let more = differences.len().saturating_sub(shown.len());
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Err(Error::unsupported(format!("the tree differs from the dataset: {}{more}", shown.join("; ")))
            .url(input.file.url()))
    }
}

/// Branches by path; without those that share a path.
fn places(tree: &InputTree) -> HashMap<&str, usize> {
    let mut places: HashMap<&str, Option<usize>> = HashMap::new();
    for place in 0..tree.record().branches.len() {
        let entry = places.entry(tree.path(place)).or_insert(Some(place));
        *entry = entry.filter(|known| *known == place);
    }
    places.into_iter().filter_map(|(path, place)| Some((path, place?))).collect()
}

/// A file with the tree, some or all of its branches, and no entries.
fn schema(file: &File, path: &str, branches: Option<Vec<String>>, call: &mut Call<'_>) -> Result<Bytes> {
    let (trees, only_trees) = (Some(vec![path.to_owned()]), true);
    let options = RepackOptions { trees, only_trees, ..RepackOptions::default() };
    without_entries(file, path, branches, "schema.root", options, call)
}

/// A file with everything but the entries of the tree: objects and other trees.
pub(crate) fn auxiliary(
    file: &File,
    path: &str,
    threads: Option<usize>,
    call: &mut Call<'_>,
) -> Result<Bytes> {
    let options = RepackOptions { threads, ..RepackOptions::default() };
    without_entries(file, path, None, "auxiliary.root", options, call)
}

/// A copy of a file in memory, in which a tree has no entries.
fn without_entries(
    file: &File,
    path: &str,
    branches: Option<Vec<String>>,
    name: &str,
    options: RepackOptions,
    call: &mut Call<'_>,
) -> Result<Bytes> {
    let sink = MemorySink::new(LARGEST);
    let selection = TreeSelection { tree: path.to_owned(), branches, entries: Some(vec![Vec::new()]) };
    let options = RepackOptions { selections: vec![selection], ..options };
    repack(&[Input::Open(file.clone())], Box::new(sink.clone()), name, &options, call)?;
    Ok(sink.take())
}

/// The tree of a file in memory.
pub fn open_schema(file: &Bytes, path: &str, call: &mut Call<'_>) -> Result<InputTree> {
    let file = File::from_source(Arc::new(MemorySource::new(file.clone())), call)?;
    open_tree(&file, path, call)
}

/// A tree of a file, of its highest cycle.
pub fn open_tree(file: &File, path: &str, call: &mut Call<'_>) -> Result<InputTree> {
    let keys = file.keys(call)?;
    let cycles = keys.iter().filter(|entry| entry.path == path).map(|entry| entry.key.cycle);
    let cycle = cycles
        .max()
        .ok_or_else(|| Error::new(ErrorKind::Missing, format!("the file has no '{path}'")).url(file.url()))?;
    InputTree::open(file, path, cycle, call)
}
