//! Writes RNTuples as trees, for readers that know no others: their columns are read, and become branches.
//!
//! Records become a branch for each member. Lists of numbers have a count branch if their lengths are a field, or if they
//! are members of records in a list; otherwise they are vectors.

use super::inputs::Inputs;
use super::options::RepackOptions;
use super::output::OutputFile;
use super::plan::TreePlan;
use super::values::{TakeViews, convert, schemas};
use crate::new_table::{Format, NewTable};
use sapwood_codec::Compression;
use sapwood_core::{Call, Column, Error, Form, Primitive, Result};
use sapwood_root::Tree;
use sapwood_table::ColumnContent;
use sapwood_table::write::{ClusterSize, ColumnView};
use sapwood_ttree::write::{BranchSpec, Storage, TreeBuilder, VectorItem};
use std::collections::HashSet;
use std::sync::Arc;

/// The default sizes: bytes of a basket before compression, and of a cluster after it.
const BASKET: u32 = 256 << 10;
const CLUSTER: u64 = 20_000_000;
/// Most fields that an error names.
const MOST_NAMED: usize = 50;
/// How ROOT's importer names the collections that its projections show.
const IMPORTED: &str = "_collection";

/// The branches of a tree with the content of an RNTuple.
#[derive(Debug, Default)]
struct BranchPlan {
    /// Names and forms of the columns that are read.
    columns: Vec<(String, Form)>,
    sources: Vec<Source>,
    branches: Vec<BranchSpec>,
}

/// Where a branch gets its values from.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    /// Some buffers of a column, by its place among those that are read.
    Buffers(usize, Vec<usize>),
    /// The lengths of the lists with these offsets: a buffer of a column.
    Lengths(usize, usize),
}

/// A part of a column that becomes a branch.
#[derive(Debug)]
struct Leaf {
    name: String,
    title: String,
    /// The type of its column.
    typename: String,
    form: Form,
    column: usize,
    buffers: Vec<usize>,
    compression: Compression,
    /// The name of the branch that counts its items, if it is a list.
    counter: Option<String>,
}

/// What is around the members of a record.
#[derive(Debug, Clone, Copy)]
enum Around {
    List,
    Fixed(usize),
}

/// The fields that a tree cannot hold, which are named together: to drop one after the other would take long.
#[derive(Debug, Default)]
struct RefusedFields {
    names: Vec<String>,
    first: Option<Error>,
}

impl RefusedFields {
    fn add(&mut self, name: &str, error: Error) {
        // The parts of a field follow each other.
        if self.names.last().is_none_or(|last| last != name) {
            self.names.push(name.to_owned());
        }
        self.first.get_or_insert(error);
    }

    fn error(self) -> Option<Error> {
        let named = self.names.get(..MOST_NAMED).unwrap_or(&self.names).join("', '");
        let hint = match self.names.len() {
            1 => "drop the field".to_owned(),
            2..=MOST_NAMED => format!("drop the fields that a tree cannot hold: '{named}'"),
            all => format!("drop the {all} fields that a tree cannot hold: '{named}', …"),
        };
        self.first.map(|error| error.hint(hint))
    }
}

/// Writes an RNTuple as a tree; its number of entries.
pub(super) fn write(
    tree: &TreePlan,
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    call: &mut Call<'_>,
) -> Result<u64> {
    let (first, _) = tree.table(0, inputs, call)?;
    let plan =
        BranchPlan::new(&first, &tree.wanted, options).map_err(|error| error.url(first.file().url()))?;
    let target = plan.begin(&first, &tree.path, output, options)?;
    let views = |columns: &[Column], take: &mut TakeViews<'_>| {
        let lengths = plan.lengths(columns)?;
        take(&plan.views(columns, &lengths)?)
    };
    convert(tree, (&plan.columns, &views), target, inputs, output, options, call)
}

impl BranchPlan {
    /// The branches for the wanted columns.
    fn new(tree: &Tree, wanted: &[bool], options: &RepackOptions) -> Result<BranchPlan> {
        let table = tree.table();
        let schemas = schemas(&*table, wanted);
        let names: HashSet<&str> = schemas.iter().map(|(_, schema)| schema.name).collect();
        let mut plan = BranchPlan::default();
        let mut leaves = Vec::new();
        let mut refused = RefusedFields::default();
        for (column, schema) in &schemas {
            let form = match schema.content {
                ColumnContent::Values(form) => form,
                ColumnContent::Group => continue,
                ColumnContent::Unreadable(why) => {
                    refused.add(schema.name, Error::unsupported(why).branch(schema.name));
                    continue;
                }
            };
            let counter = schema.count_column.and_then(|count| schemas.iter().find(|(own, _)| *own == count));
            let compression = options
                .compression
                .or_else(|| Compression::from_number(tree.compression(*column).try_into().unwrap_or(0)).ok());
            let leaf = Leaf {
                name: schema.name.to_owned(),
                title: schema.title.to_owned(),
                typename: schema.typename.to_owned(),
                form: Form::Empty,
                column: plan.columns.len(),
                buffers: Vec::new(),
                compression: compression.unwrap_or_default(),
                counter: counter.map(|(_, schema)| schema.name.to_owned()),
            };
            let mut found = Vec::new();
            members(&leaf, form, &[], &mut 0, &mut found);
            if found.iter().any(|found| found.name != leaf.name) {
                // Projections of these lists are branches already.
                let is_other = |found: &Leaf| {
                    let same = schemas.iter().find(|(_, other)| other.name == found.name);
                    !same.is_some_and(|(_, other)| {
                        other.count_column.is_some() && other.count_column == schema.count_column
                    })
                };
                found.retain(is_other);
            }
            if found.is_empty() {
                continue;
            }
            if let Some(twice) =
                found.iter().find(|found| found.name != leaf.name && names.contains(&*found.name))
            {
                return Err(Error::unsupported(format!(
                    "a member of the field '{}' has the same name",
                    leaf.name
                ))
                .branch(&twice.name)
                .hint("drop one of the fields"));
            }
            plan.columns.push((schema.name.to_owned(), form.clone()));
            leaves.extend(found);
        }
        for (place, leaf) in leaves.iter().enumerate() {
            if let Err(error) = plan.add(&leaves, place, options) {
                let field = plan.columns.get(leaf.column).map_or(&*leaf.name, |(name, _)| name);
                refused.add(field, error);
            }
        }
        refused.error().map_or(Ok(plan), Err)
    }

    /// Adds the branch of a leaf, after the one that counts its items.
    fn add(&mut self, leaves: &[Leaf], place: usize, options: &RepackOptions) -> Result<()> {
        let Some(leaf) = leaves.get(place) else { return Ok(()) };
        if self.branches.iter().any(|branch| branch.name == leaf.name) {
            return Ok(());
        }
        let counts = |leaf: &&Leaf| leaf.counter.as_ref() == leaves.get(place).map(|own| &own.name);
        if let Some(counted) = leaves.iter().find(|leaf| counts(leaf) && block(leaf).is_some()) {
            self.counter(leaves, counted, options);
            return Ok(());
        }
        let storage = match (block(leaf), storage(&leaf.form)) {
            (Some((primitive, dims)), _) if leaf.counter.is_some() || !dims.is_empty() => {
                let counter = self.counter(leaves, leaf, options);
                Storage::Counted { primitive, dims, counter }
            }
            (_, Some(storage)) => storage,
            (_, None) => {
                let message = format!("a tree cannot hold values of the field's type {}", leaf.typename);
                return Err(Error::unsupported(message).branch(&leaf.name));
            }
        };
        self.branch(leaf, storage, Source::Buffers(leaf.column, leaf.buffers.clone()), options);
        Ok(())
    }

    /// The index of the branch that counts the items of a list, which is added if it is missing.
    fn counter(&mut self, leaves: &[Leaf], list: &Leaf, options: &RepackOptions) -> usize {
        let name = list.counter.clone().unwrap_or_else(|| format!("n{}", list.name));
        if let Some(found) = self.branches.iter().position(|branch| branch.name == name) {
            return found;
        }
        let given = leaves.iter().find(|leaf| leaf.name == name);
        let (primitive, source) = match given.map(|given| (given, &given.form)) {
            Some((given, Form::Primitive(primitive @ (Primitive::I32 | Primitive::U32)))) => {
                (*primitive, Source::Buffers(given.column, given.buffers.clone()))
            }
            _ => {
                let offsets = list.buffers.first().copied().unwrap_or_default();
                (Primitive::I32, Source::Lengths(list.column, offsets))
            }
        };
        let title = given.map_or_else(String::new, |given| given.title.clone());
        let leaf = Leaf { name, title, ..list.copied() };
        self.branch(&leaf, Storage::Numbers { primitive, dims: Vec::new() }, source, options);
        self.branches.len() - 1
    }

    fn branch(&mut self, leaf: &Leaf, storage: Storage, source: Source, options: &RepackOptions) {
        self.sources.push(source);
        self.branches.push(BranchSpec {
            name: leaf.name.clone(),
            title: (!leaf.title.is_empty()).then(|| leaf.title.clone()),
            storage,
            compression: leaf.compression,
            basket_size: options.basket_size.unwrap_or(BASKET),
        });
    }

    fn begin(
        &self,
        first: &Tree,
        path: &str,
        output: &mut OutputFile,
        options: &RepackOptions,
    ) -> Result<NewTable> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = output.directory(above, None)?;
        let cluster = options.cluster.unwrap_or(ClusterSize::Bytes(CLUSTER));
        let builder = TreeBuilder::new(name, first.title(), self.branches.clone(), cluster)?;
        let format = Format::Tree { builder: Box::new(builder), replaces: None };
        Ok(NewTable { format, directory, name: name.to_owned(), title: first.title().to_owned() })
    }

    /// The values of the branches that hold lengths of lists; nothing for others.
    fn lengths(&self, columns: &[Column]) -> Result<Vec<Vec<u8>>> {
        let too_long = || Error::unsupported("a list has more items than a tree can count");
        let lengths = |source: &Source| match source {
            Source::Buffers(..) => Ok(Vec::new()),
            Source::Lengths(column, buffer) => {
                let mut bytes = Vec::new();
                for pair in buffer_of(columns, *column, *buffer)?.view::<i64>().windows(2) {
                    let length = i32::try_from(pair[1] - pair[0]).map_err(|_| too_long())?;
                    bytes.extend(length.to_ne_bytes());
                }
                Ok(bytes)
            }
        };
        self.sources.iter().map(lengths).collect()
    }

    /// The columns of the branches.
    fn views<'c>(&self, columns: &'c [Column], lengths: &'c [Vec<u8>]) -> Result<Vec<ColumnView<'c>>> {
        let view = |(source, lengths): (&Source, &'c Vec<u8>)| {
            let (column, buffers) = match source {
                Source::Lengths(column, _) => (*column, vec![lengths.as_slice()]),
                Source::Buffers(column, places) => {
                    let buffers =
                        places.iter().map(|place| Ok(buffer_of(columns, *column, *place)?.as_bytes()));
                    (*column, buffers.collect::<Result<_>>()?)
                }
            };
            Ok(ColumnView { length: columns.get(column).map_or(0, |column| column.length), buffers })
        };
        self.sources.iter().zip(lengths).map(view).collect()
    }
}

fn buffer_of(columns: &[Column], column: usize, place: usize) -> Result<&Arc<sapwood_core::Buffer>> {
    let buffer = columns.get(column).and_then(|column| column.buffers.get(place));
    buffer.ok_or_else(|| Error::corrupt("a column was not read"))
}

/// Finds the branches for a form: `whole` is its column, `around` what is around it there, and `next` its first buffer.
fn members(whole: &Leaf, form: &Form, around: &[(Around, usize)], next: &mut usize, found: &mut Vec<Leaf>) {
    let mut below = |name: &str, title: &str, form: &Form, next: &mut usize| {
        let name = match (whole.name.starts_with(IMPORTED), whole.name.as_str()) {
            (false, outer) => format!("{outer}_{}", name.replace([':', '.'], "_")),
            (true, _) => name.to_owned(),
        };
        let member = Leaf { name, title: title.to_owned(), ..whole.copied() };
        members(&member, form, around, next, found);
    };
    match form {
        Form::Record { fields, .. } => {
            fields.iter().for_each(|field| below(&field.name, &field.title, &field.form, next));
        }
        Form::Tuple(forms) => {
            forms.iter().enumerate().for_each(|(number, form)| below(&number.to_string(), "", form, next));
        }
        Form::List(content) if has_members(content) => {
            *next += 1;
            let around = [around, &[(Around::List, *next - 1)]].concat();
            let counter = whole.counter.clone().or_else(|| Some(format!("n{}", whole.name)));
            members(&Leaf { counter, ..whole.copied() }, content, &around, next, found);
        }
        Form::Fixed { size, content } if has_members(content) => {
            let around = [around, &[(Around::Fixed(*size), 0)]].concat();
            members(whole, content, &around, next, found);
        }
        _ => {
            let own = *next..*next + form.buffer_count();
            *next = own.end;
            let offsets = around.iter().filter(|(around, _)| matches!(around, Around::List));
            let buffers = offsets.map(|(_, place)| *place).chain(own).collect();
            let form = around.iter().rev().fold(form.clone(), |form, (around, _)| match around {
                Around::List => Form::list(form),
                Around::Fixed(size) => Form::Fixed { size: *size, content: Box::new(form) },
            });
            found.push(Leaf { form, buffers, ..whole.copied() });
        }
    }
}

impl Leaf {
    fn copied(&self) -> Leaf {
        Leaf {
            name: self.name.clone(),
            title: self.title.clone(),
            typename: self.typename.clone(),
            form: self.form.clone(),
            buffers: self.buffers.clone(),
            counter: self.counter.clone(),
            ..*self
        }
    }
}

/// Whether records are anywhere in a form.
fn has_members(form: &Form) -> bool {
    match form {
        Form::Record { .. } | Form::Tuple(_) => true,
        Form::List(content) | Form::Fixed { content, .. } => has_members(content),
        _ => false,
    }
}

/// The type and the dimensions of the items of a list of numbers or of fixed arrays of them.
fn block(leaf: &Leaf) -> Option<(Primitive, Vec<usize>)> {
    match &leaf.form {
        Form::List(item) => numbers(item),
        _ => None,
    }
}

fn numbers(form: &Form) -> Option<(Primitive, Vec<usize>)> {
    match form {
        Form::Primitive(primitive) => Some((*primitive, Vec::new())),
        Form::Fixed { size, content } => {
            let (primitive, mut dims) = numbers(content)?;
            dims.insert(0, *size);
            Some((primitive, dims))
        }
        _ => None,
    }
}

/// How a branch stores these values without a count branch.
fn storage(form: &Form) -> Option<Storage> {
    match form {
        Form::String => Some(Storage::StdString),
        Form::List(item) => vector_item(item).map(Storage::Vector),
        form => numbers(form).map(|(primitive, dims)| Storage::Numbers { primitive, dims }),
    }
}

fn vector_item(form: &Form) -> Option<VectorItem> {
    match form {
        Form::Primitive(primitive) => Some(VectorItem::Number(*primitive)),
        Form::String => Some(VectorItem::String),
        Form::List(item) => Some(VectorItem::Vector(Box::new(vector_item(item)?))),
        _ => None,
    }
}
