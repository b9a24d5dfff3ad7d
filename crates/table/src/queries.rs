//! The queries of a read, by column: each column is read once, however many queries need it.

use crate::members::{member, names};
use crate::selection::{Query, Selection};
use crate::table::Table;
use sapwood_core::{Column, Error, Result};
use std::collections::{HashMap, HashSet};

/// The queries of a read.
#[derive(Debug, Clone)]
pub(crate) struct Queries {
    /// The columns to read, each once.
    pub(crate) selections: Vec<Selection>,
    /// For each query, its selection and the path of the member in it.
    parts: Vec<(usize, Vec<String>)>,
}

impl Queries {
    pub(crate) fn new<Q: Into<Query> + Clone>(table: &dyn Table, queries: &[Q]) -> Queries {
        let queries: Vec<Query> = queries.iter().map(|query| query.clone().into()).collect();
        let whole = queries.iter().filter(|query| query.member.is_empty()).map(|query| query.column);
        let whole: HashSet<usize> = whole.collect();
        let mut number_of: HashMap<usize, usize> = HashMap::with_capacity(queries.len());
        let mut members: Vec<(usize, Vec<Vec<String>>)> = Vec::with_capacity(queries.len());
        let mut parts = Vec::with_capacity(queries.len());
        for query in queries {
            let twin = table.same_as(query.column).filter(|twin| whole.contains(&twin.column));
            let Query { column, member } = match twin {
                Some(twin) if query.member.is_empty() => twin,
                _ => query,
            };
            let number = *number_of.entry(column).or_insert_with(|| {
                members.push((column, Vec::new()));
                members.len() - 1
            });
            let path = names(&member);
            members[number].1.push(path.clone());
            parts.push((number, path));
        }
        let selections = members.iter().map(|(column, members)| Selection::of_members(*column, members));
        Queries { selections: selections.collect(), parts }
    }

    /// The columns of the queries, from those of the selections.
    pub(crate) fn split(&self, table: &dyn Table, columns: &[Column]) -> Result<Vec<Column>> {
        let part = |(number, path): &(usize, Vec<String>)| {
            let column = columns.get(*number).ok_or_else(|| Error::usage("a column was not read"))?;
            member(column, path).map_err(|error| {
                let name = self.selections.get(*number).map_or("", |one| column_name(table, one.column));
                error.branch(name).url(table.url())
            })
        };
        self.parts.iter().map(part).collect()
    }
}

/// The name of a column; empty beyond the last.
pub(crate) fn column_name(table: &dyn Table, column: usize) -> &str {
    table.schema(column).map_or("", |schema| schema.name)
}
