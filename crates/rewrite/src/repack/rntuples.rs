//! Writes trees as RNTuples: their columns are read, and written as fields of the same types.
//!
//! Lists with a common count become one collection of records, as with ROOT's importer, so that their lengths are stored
//! once; projections give the lists and the count their names.

use super::inputs::Inputs;
use super::options::RepackOptions;
use super::output::OutputFile;
use super::plan::TreePlan;
use super::values::{TakeViews, convert, schemas};
use crate::new_file;
use crate::new_table::{Format, NewTable};
use sapwood_core::{Call, Column, Error, Form, Primitive, Result};
use sapwood_rntuple::write::{FieldSpec, Projection, RNTupleBuilder, RNTupleOptions};
use sapwood_table::write::ColumnView;
use sapwood_table::{ColumnContent, ColumnSchema, Table};
use std::collections::BTreeMap;

/// Where a field gets its values from.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    /// A column, by its place among those that are read.
    Column(usize),
    /// The lists that become members of the records of a collection.
    Lists(Vec<usize>),
}

/// The fields of an RNTuple with the content of a tree.
#[derive(Debug, Default, PartialEq)]
struct FieldPlan {
    /// Names and forms of the columns that are read.
    columns: Vec<(String, Form)>,
    sources: Vec<Source>,
    fields: Vec<FieldSpec>,
    projections: Vec<Projection>,
}

/// Writes a tree as an RNTuple; its number of entries.
pub(super) fn write(
    tree: &TreePlan,
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    call: &mut Call<'_>,
) -> Result<u64> {
    let (first, _) = tree.table(0, inputs, call)?;
    let mut fields = FieldPlan::new(&*first.table(), &tree.wanted)?;
    let target = fields.begin(&tree.path, first.title(), output, options)?;
    let views = |columns: &[Column], take: &mut TakeViews<'_>| take(&fields.views(columns)?);
    convert(tree, (&fields.columns, &views), target, inputs, output, options, call)
}

impl FieldPlan {
    /// The fields for the wanted columns of a table.
    fn new(table: &dyn Table, wanted: &[bool]) -> Result<FieldPlan> {
        let schemas = schemas(table, wanted);
        let written: Vec<&(usize, ColumnSchema<'_>)> =
            schemas.iter().filter(|(_, schema)| is_written(schema, &schemas)).collect();
        let is_count = |column: usize| {
            written.iter().any(|(own, schema)| {
                *own == column
                    && matches!(
                        schema.content,
                        ColumnContent::Values(Form::Primitive(Primitive::I32 | Primitive::U32))
                    )
            })
        };
        let mut plan = FieldPlan::default();
        let mut collections: BTreeMap<usize, Vec<(usize, &ColumnSchema<'_>, &Form)>> = BTreeMap::new();
        let mut single = Vec::new();
        for (column, schema) in &written {
            let form = match schema.content {
                ColumnContent::Values(form) => form,
                ColumnContent::Group => continue,
                ColumnContent::Unreadable(why) => {
                    return Err(Error::unsupported(why).branch(schema.name).hint("drop the branch"));
                }
            };
            match (schema.count_column, form) {
                (Some(count), Form::List(item)) if is_count(count) => {
                    let place = plan.columns.len();
                    plan.columns.push((schema.name.to_owned(), form.clone()));
                    collections.entry(count).or_default().push((place, schema, item));
                }
                _ => single.push((*column, schema, form)),
            }
        }
        for (column, schema, form) in single {
            if !collections.contains_key(&column) {
                plan.sources.push(Source::Column(plan.columns.len()));
                plan.columns.push((schema.name.to_owned(), form.clone()));
                plan.field(field_name(schema.name), description(schema), form.clone());
            }
        }
        for (number, (count, members)) in collections.into_iter().enumerate() {
            let name = format!("_collection{number}");
            plan.sources.push(Source::Lists(members.iter().map(|(place, ..)| *place).collect()));
            let named = members.iter().map(|(_, schema, item)| (field_name(schema.name), (*item).clone()));
            plan.field(name.clone(), String::new(), Form::list(Form::record(named)));
            for (_, schema, item) in members {
                // ROOT projects no arrays: these are only in the collection.
                if matches!(item, Form::Primitive(_) | Form::String) {
                    let member = Some(field_name(schema.name));
                    plan.project(&name, member, schema);
                }
            }
            if let Some((_, schema)) = written.iter().find(|(own, _)| *own == count) {
                plan.project(&name, None, schema);
            }
        }
        Ok(plan)
    }

    fn field(&mut self, name: String, title: String, form: Form) {
        let compression = sapwood_codec::Compression::default();
        self.fields.push(FieldSpec { name, title, form, compression });
    }

    fn project(&mut self, of: &str, member: Option<String>, schema: &ColumnSchema<'_>) {
        let (name, title) = (field_name(schema.name), description(schema));
        self.projections.push(Projection { name, title, of: of.to_owned(), member });
    }

    fn begin(
        &mut self,
        path: &str,
        title: &str,
        output: &mut OutputFile,
        options: &RepackOptions,
    ) -> Result<NewTable> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = output.directory(above, None)?;
        let compression = options.compression.unwrap_or_else(|| output.file.compression());
        self.fields.iter_mut().for_each(|field| field.compression = compression);
        let mut chosen = RNTupleOptions { compression, ..RNTupleOptions::default() };
        chosen.cluster = options.cluster.unwrap_or(chosen.cluster);
        chosen.page_size = options.basket_size.map_or(chosen.page_size, |size| size as usize);
        let (file, sink) = output.both();
        let mut place = |parts| file.blob(directory, parts);
        let (fields, projections) = (self.fields.clone(), &self.projections);
        let builder = RNTupleBuilder::new(name, title, fields, projections, chosen, &mut place)?;
        new_file::flush(file, sink)?;
        let format = Format::RNTuple(Box::new(builder));
        Ok(NewTable { format, directory, name: name.to_owned(), title: String::new() })
    }

    /// The columns of the fields.
    fn views<'c>(&self, columns: &'c [Column]) -> Result<Vec<ColumnView<'c>>> {
        let column = |place: usize| columns.get(place).ok_or_else(|| Error::corrupt("a column was not read"));
        let buffers = |column: &'c Column| column.buffers.iter().map(|buffer| buffer.as_bytes());
        let view = |source: &Source| match source {
            Source::Column(place) => column(*place).map(ColumnView::from),
            Source::Lists(places) => {
                let lists: Vec<&Column> = places.iter().map(|place| column(*place)).collect::<Result<_>>()?;
                let offsets = lists.first().and_then(|list| list.buffers.first());
                let (Some(offsets), Some(first)) = (offsets, lists.first()) else {
                    return Err(Error::corrupt("a collection has no members"));
                };
                if lists.iter().any(|list| list.buffers.first() != Some(offsets)) {
                    return Err(Error::corrupt("lists with a common count have different lengths"));
                }
                let contents = lists.iter().flat_map(|list| buffers(list).skip(1));
                let buffers = std::iter::once(offsets.as_bytes()).chain(contents).collect();
                Ok(ColumnView { length: first.length, buffers })
            }
        };
        self.sources.iter().map(view).collect()
    }
}

/// True unless the column groups others, or its values are part of those of another column.
fn is_written(schema: &ColumnSchema<'_>, all: &[(usize, ColumnSchema<'_>)]) -> bool {
    let holds = |(_, above): &(usize, ColumnSchema<'_>)| {
        let below = schema.name.strip_prefix(above.name).is_some_and(|rest| rest.starts_with('/'));
        below && matches!(above.content, ColumnContent::Values(_))
    };
    !matches!(schema.content, ColumnContent::Group) && !all.iter().any(holds)
}

/// The name of the field for a column: without the names of the columns above, and without dots.
fn field_name(column: &str) -> String {
    let name = column.rsplit('/').next().unwrap_or(column);
    name.trim_end_matches('.').replace('.', "_")
}

/// The title of a column, unless it only repeats its name and its type.
fn description(schema: &ColumnSchema<'_>) -> String {
    let name = schema.name.rsplit('/').next().unwrap_or_default();
    if schema.title.starts_with(name) { String::new() } else { schema.title.to_owned() }
}
