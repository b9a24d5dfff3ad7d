//! What the recording of a job is told of a read: its columns, and which baskets they take.

use crate::elsewhere::Located;
use crate::plan::ColumnPlan;
use crate::{Request, Tree};
use sapwood_source::record::{RecordedBasket, RecordedRead};
use std::borrow::Borrow;
use std::ops::Range;

/// A read of some columns begins. None if nothing is recorded.
pub(crate) fn begin<R: Into<Request> + Clone>(
    kind: &str,
    tree: &Tree,
    requests: &[R],
) -> Option<RecordedRead> {
    let names = requests.iter().map(|request| {
        let Request { branch, member } = request.clone().into();
        let path = tree.branch_path(branch);
        if member.is_empty() { path.to_owned() } else { format!("{path}.{member}") }
    });
    RecordedRead::begin(kind, tree.file().0.fetcher.recorded(), tree.path(), names)
}

/// An entry range of it was planned.
pub(crate) fn range<'t, P: Borrow<ColumnPlan<'t>>>(
    read: Option<&RecordedRead>,
    tree: &Tree,
    plans: impl IntoIterator<Item = P>,
    entries: &Range<u64>,
) {
    let Some(read) = read else { return };
    let mut files = Vec::new();
    let mut basket = |located: Located<'_>| {
        while files.len() <= located.file {
            files.push(tree.fetcher_at(files.len()).recorded().unwrap_or_default());
        }
        let file = files.get(located.file).copied().unwrap_or_default();
        RecordedBasket { file, first_entry: located.basket.first_entry, range: located.range() }
    };
    let mut baskets = Vec::new();
    for plan in plans {
        baskets.extend(plan.borrow().baskets().map(&mut basket));
    }
    read.range(entries, &tree.metadata().cluster_starts, baskets);
}
