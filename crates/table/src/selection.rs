//! What a read takes of a table: whole columns, or members of the objects in them.

use crate::members::{member, names};
use crate::table::Table;
use sapwood_core::{Column, Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// One column of a read.
///
/// ```
/// use sapwood_table::Query;
/// assert_eq!(Query::from(3), Query { column: 3, member: String::new() });
/// assert_eq!(Query::from((3, "obj.pt_")).member, "obj.pt_");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    /// The column, by its index in the table.
    pub column: usize,
    /// The member of the objects in the column: names from the outside in, joined with dots. Lists on the way
    /// need no name. Empty for the whole column.
    pub member: String,
}

impl From<usize> for Query {
    fn from(column: usize) -> Self {
        Query { column, member: String::new() }
    }
}

impl From<(usize, &str)> for Query {
    fn from((column, member): (usize, &str)) -> Self {
        Query { column, member: member.to_owned() }
    }
}

/// A column to be read, and which members of its objects: it is read once, whatever is asked of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selection {
    /// The column, by its index in the table.
    pub column: usize,
    /// Paths of members, joined with dots, in order; empty for the whole column.
    pub members: Arc<[String]>,
}

impl Selection {
    /// All of a column.
    pub fn whole(column: usize) -> Selection {
        Selection { column, members: Arc::default() }
    }

    /// What holds these members, given as lists of names; all of the column if one of the lists is empty.
    pub fn of_members(column: usize, members: &[Vec<String>]) -> Selection {
        if members.iter().any(Vec::is_empty) {
            return Selection::whole(column);
        }
        let mut paths: Vec<String> = members.iter().map(|names| names.join(".")).collect();
        paths.sort_unstable();
        paths.dedup();
        Selection { column, members: paths.into() }
    }
}

/// The queries of a read, by column: each column is read once.
#[derive(Debug, Clone)]
pub(crate) struct Queries {
    pub(crate) selections: Vec<Selection>,
    /// Which of these each query is a part of, and where in it.
    parts: Vec<(usize, Vec<String>)>,
}

impl Queries {
    pub(crate) fn new<Q: Into<Query> + Clone>(queries: &[Q]) -> Queries {
        let mut number_of: HashMap<usize, usize> = HashMap::with_capacity(queries.len());
        let mut members: Vec<(usize, Vec<Vec<String>>)> = Vec::with_capacity(queries.len());
        let mut parts = Vec::with_capacity(queries.len());
        for query in queries {
            let Query { column, member } = query.clone().into();
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
