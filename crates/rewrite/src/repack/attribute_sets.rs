//! Copies the attribute sets of RNTuples: their ranges of entries become those of the new file.

use super::entry_ranges::EntryRanges;
use super::inputs::Inputs;
use super::options::{RepackOptions, RepackReport};
use super::output::OutputFile;
use super::plan::TreePlan;
use super::values::for_each_piece;
use crate::new_table::NewTable;
use sapwood_core::{Call, Column, Error, Form, Primitive, Result};
use sapwood_rntuple::RNTuple;
use sapwood_rntuple::write::{AttributeSetLink, CopiedFields};
use sapwood_table::pool::{compute, computing};
use sapwood_table::write::ColumnView;
use sapwood_table::{Table, read};
use std::ops::Range;
use std::sync::Arc;

/// The fields with the range of entries that an attribute is about.
const RANGE: [&str; 2] = ["_rangeStart", "_rangeLen"];
const U64: usize = 8;

/// A set that is being written, from the sets of this name in all inputs.
struct SetCopy {
    name: String,
    signatures: Vec<String>,
    fields: CopiedFields,
    target: NewTable,
}

/// The attributes of a set that speak of entries that are written.
struct Attributes {
    /// Their places in the set.
    chosen: Vec<Range<u64>>,
    /// The new values of the fields in `RANGE`, in the byte order of the machine.
    ranges: [Vec<u8>; 2],
}

/// Writes the attribute sets of all inputs of an RNTuple. An attribute whose entries are all dropped is dropped.
pub(super) fn copy(
    tree: &TreePlan,
    ranges: Option<&Vec<Vec<Range<u64>>>>,
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    report: &mut RepackReport,
    call: &mut Call<'_>,
) -> Result<Vec<AttributeSetLink>> {
    let mut sets: Vec<SetCopy> = Vec::new();
    let mut before = 0;
    for position in 0..tree.inputs.len() {
        let (table, _) = tree.table(position, inputs, call)?;
        let chosen = tree.chosen(position, ranges);
        for name in table.attribute_sets() {
            let set = table.attribute_set(name, call)?;
            let set: &RNTuple =
                set.as_format().ok_or_else(|| Error::corrupt("an attribute set is no RNTuple"))?;
            let set = Arc::new(set.with_objects_as_bytes());
            let signatures = set.signatures();
            let known = sets.iter().position(|known| known.name == name);
            let place = match known {
                Some(place) => place,
                None => {
                    sets.push(SetCopy::begin(name, &set, signatures.clone(), tree, output, options)?);
                    sets.len() - 1
                }
            };
            let Some(copy) = sets.get_mut(place).filter(|copy| copy.signatures == signatures) else {
                let (url, path) = (table.file().url(), &tree.path);
                let why = "its fields are not those of the set in an earlier file";
                report
                    .notes
                    .push(format!("{url}: the attribute set '{name}' of '{path}' is not copied: {why}"));
                continue;
            };
            copy.add(&set, (&chosen, before), output, options, call).map_err(|error| error.url(set.url()))?;
        }
        before += chosen.total();
    }
    let pool = computing(options.threads)?;
    let end = |SetCopy { name, mut target, .. }| {
        let (file, sink) = output.both();
        compute(&pool, call, |_| target.end_unlisted(name, file, sink))
    };
    sets.into_iter().map(end).collect()
}

/// Says that the attribute sets of an RNTuple are lost in another format.
pub(super) fn note_lost(
    tree: &TreePlan,
    inputs: &mut Inputs<'_>,
    report: &mut RepackReport,
    call: &mut Call<'_>,
) -> Result<()> {
    for position in 0..tree.inputs.len() {
        let (table, _) = tree.table(position, inputs, call)?;
        for name in table.attribute_sets() {
            let (url, path) = (table.file().url(), &tree.path);
            report
                .notes
                .push(format!("{url}: a tree has no attribute sets: '{name}' of '{path}' is not copied"));
        }
    }
    Ok(())
}

impl SetCopy {
    fn begin(
        name: &str,
        first: &RNTuple,
        signatures: Vec<String>,
        tree: &TreePlan,
        output: &mut OutputFile,
        options: &RepackOptions,
    ) -> Result<SetCopy> {
        let columns: Vec<usize> = (0..first.column_count()).collect();
        let usual = output.file.compression();
        let fields = CopiedFields::new(first, &columns, options.compression, usual)?;
        fields.check_readable()?;
        let options = RepackOptions { cluster: None, ..options.clone() };
        let target = output.rntuple_like(first, &fields, &tree.path, &options)?;
        Ok(SetCopy { name: name.to_owned(), signatures, fields, target })
    }

    /// Adds the attributes of an input, of which the `chosen` entries follow `before` others in the new file.
    fn add(
        &mut self,
        set: &Arc<RNTuple>,
        (chosen, before): (&EntryRanges, u64),
        output: &mut OutputFile,
        options: &RepackOptions,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let table: Arc<dyn Table> = Arc::<RNTuple>::clone(set);
        let columns = self.fields.columns_to_read();
        let place_of = |name: &str| {
            let is_it = |column: &usize| table.schema(*column).is_some_and(|schema| schema.name == name);
            let place = columns.iter().position(is_it);
            place.ok_or_else(|| Error::corrupt("the field of an attribute set is missing").branch(name))
        };
        let places = [place_of(RANGE[0])?, place_of(RANGE[1])?];
        let wanted: Vec<usize> = places.iter().filter_map(|place| columns.get(*place).copied()).collect();
        let found = read(&table, &wanted, 0..table.entries(), options.threads, call)?;
        let attributes = Attributes::new(&found, chosen, before)?;
        let pool = computing(options.threads)?;
        let (target, mut done) = (&mut self.target, 0);
        for_each_piece(
            &table,
            columns,
            &attributes.chosen,
            options.threads,
            call,
            &mut |columns, entries, call| {
                let mut views: Vec<ColumnView<'_>> = columns.iter().map(ColumnView::from).collect();
                for (place, ranges) in places.into_iter().zip(&attributes.ranges) {
                    if let Some(view) = views.get_mut(place) {
                        view.buffers =
                            vec![ranges.get(done * U64..(done + entries) * U64).unwrap_or_default()];
                    }
                }
                done += entries;
                target.check(&views, entries)?;
                let (file, sink) = output.both();
                compute(&pool, call, |cancelled| target.extend(&views, entries, cancelled, file, sink))
            },
        )
    }
}

impl Attributes {
    /// Those of a set whose fields in `RANGE` are given.
    fn new(ranges: &[Column], chosen: &EntryRanges, before: u64) -> Result<Attributes> {
        let [starts, lens] = ranges else { return Err(Error::corrupt("a field was not read")) };
        let mut found = Attributes { chosen: Vec::new(), ranges: [Vec::new(), Vec::new()] };
        for (at, (start, len)) in (0..).zip(numbers(starts)?.zip(numbers(lens)?)) {
            let first = chosen.rank(start);
            let kept = chosen.rank(start.saturating_add(len)) - first;
            if len > 0 && kept == 0 {
                continue;
            }
            match found.chosen.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => found.chosen.push(at..at + 1),
            }
            for (values, value) in found.ranges.iter_mut().zip([before + first, kept]) {
                values.extend(value.to_ne_bytes());
            }
        }
        Ok(found)
    }
}

/// The values of a column of unsigned numbers.
fn numbers(column: &Column) -> Result<impl Iterator<Item = u64>> {
    let (Form::Primitive(Primitive::U64), Some(values)) = (&column.form, column.buffers.first()) else {
        return Err(Error::corrupt("the range of an attribute has no numbers of 64 bits"));
    };
    let numbers =
        values.as_bytes().chunks_exact(U64).map(|bytes| bytes.try_into().map_or(0, u64::from_ne_bytes));
    Ok(numbers)
}
