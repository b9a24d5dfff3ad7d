//! What a read selects: whole columns, or members of the objects in them.

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

/// A column to read, and the members of its objects that are needed.
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

    /// The members at these paths, given as lists of names; the whole column if one of the lists is empty.
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
