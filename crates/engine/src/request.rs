//! What a read is asked for: branches, and members of the objects in them.

use crate::member::member;
use crate::{Column, Error, Outcome, Result, Tree};
use std::collections::HashMap;
use std::sync::Arc;

/// One column of a read.
///
/// ```
/// use sapwood::Request;
/// assert_eq!(Request::from(3), Request { branch: 3, member: String::new() });
/// assert_eq!(Request::from((3, "obj.pt_")).member, "obj.pt_");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// The branch, by its index in [`Tree::branches`](crate::Tree::branches).
    pub branch: usize,
    /// The member of the objects in the branch: names from the outside in, joined with dots. Lists on the way
    /// need no name. Empty for the whole.
    pub member: String,
}

impl From<usize> for Request {
    fn from(branch: usize) -> Self {
        Request { branch, member: String::new() }
    }
}

impl From<(usize, &str)> for Request {
    fn from((branch, member): (usize, &str)) -> Self {
        Request { branch, member: member.to_owned() }
    }
}

/// The names of a path.
pub(crate) fn names(path: &str) -> Vec<String> {
    path.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A branch to be read, and what of it.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) branch: usize,
    /// What an entry holds of that which is wanted; `None` for all of it.
    pub(crate) selected: Option<Arc<Outcome>>,
}

/// Requests by branch: each branch is read once, whatever is wanted from it.
#[derive(Debug, Clone)]
pub(crate) struct Requests {
    pub(crate) wanted: Vec<Wanted>,
    /// Which of these each request is a part of, and where in it.
    parts: Vec<(usize, Vec<String>)>,
}

impl Requests {
    pub(crate) fn new<R: Into<Request> + Clone>(tree: &Tree, requests: &[R]) -> Requests {
        let mut place_of: HashMap<usize, usize> = HashMap::with_capacity(requests.len());
        let mut members: Vec<(usize, Vec<Vec<String>>)> = Vec::with_capacity(requests.len());
        let mut parts = Vec::with_capacity(requests.len());
        for request in requests {
            let Request { branch, member } = request.clone().into();
            let place = *place_of.entry(branch).or_insert_with(|| {
                members.push((branch, Vec::new()));
                members.len() - 1
            });
            let path = names(&member);
            members[place].1.push(path.clone());
            parts.push((place, path));
        }
        let wanted = members.into_iter().map(|(branch, members)| {
            let selected = tree.selected(branch, &members);
            Wanted { branch, selected }
        });
        Requests { wanted: wanted.collect(), parts }
    }

    /// The columns of the requests, from those of the branches.
    pub(crate) fn split(&self, tree: &Tree, columns: &[Column]) -> Result<Vec<Column>> {
        let part = |(place, path): &(usize, Vec<String>)| {
            let column = columns.get(*place).ok_or_else(|| Error::usage("a column was not read"))?;
            let branch = self.wanted.get(*place).and_then(|wanted| tree.branches().get(wanted.branch));
            member(column, path).map_err(|error| {
                error.branch(branch.map_or("", |branch| &branch.path)).url(tree.file().url())
            })
        };
        self.parts.iter().map(part).collect()
    }
}
