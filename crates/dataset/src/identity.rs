//! Identifies the event of each entry: run, luminosity block and event number.

use sapwood_core::{Call, Column, Form, Primitive, Result};
use sapwood_root::{Query, ReadOptions, Tree};
use sapwood_stripe::EventIndex;

/// The names of the three numbers in NanoAOD, in EDM files of CMS, and in xAOD.
const NAMES: [[(&str, &str); 3]; 4] = [
    [("run", ""), ("luminosityBlock", ""), ("event", "")],
    [
        ("EventAuxiliary", "id_.run_"),
        ("EventAuxiliary", "id_.luminosityBlock_"),
        ("EventAuxiliary", "id_.event_"),
    ],
    [
        ("EventInfoAuxDyn.runNumber", ""),
        ("EventInfoAuxDyn.lumiBlock", ""),
        ("EventInfoAuxDyn.eventNumber", ""),
    ],
    [("EventInfoAux.runNumber", ""), ("EventInfoAux.lumiBlock", ""), ("EventInfoAux.eventNumber", "")],
];
/// Entries to read at once.
const TOGETHER: u64 = 1 << 20;

/// The event numbers of consecutive entries.
#[derive(Debug, Default)]
pub struct EventNumbers {
    runs: Vec<u32>,
    blocks: Vec<u32>,
    events: Vec<u64>,
}

impl EventNumbers {
    /// Adds the columns that [`queries`] selects; false if their values are not event numbers.
    pub fn add(&mut self, columns: &[Column]) -> bool {
        let numbers: Option<Vec<Vec<u64>>> = columns.iter().map(numbers).collect();
        let Some([run, block, event]) = numbers.as_deref() else { return false };
        let short = |numbers: &[u64]| numbers.iter().map(|&number| u32::try_from(number).ok()).collect();
        let short: (Option<Vec<u32>>, Option<Vec<u32>>) = (short(run), short(block));
        let (Some(run), Some(block)) = short else { return false };
        self.runs.extend(run);
        self.blocks.extend(block);
        self.events.extend(event);
        true
    }

    /// The index of all entries.
    pub fn index(self) -> Result<EventIndex> {
        EventIndex::new(self.runs, self.blocks, self.events)
    }
}

/// The events of all entries of a tree; `None` if it has no branches with integer event numbers.
///
/// # Errors
/// Those of reading.
pub(crate) fn events(tree: &Tree, options: &ReadOptions, call: &mut Call<'_>) -> Result<Option<EventIndex>> {
    let Some(queries) = queries(tree) else { return Ok(None) };
    let (mut events, mut from) = (EventNumbers::default(), 0);
    while from < tree.entries() {
        let to = (from + TOGETHER).min(tree.entries());
        if !events.add(&tree.read(&queries, from..to, options, call)?) {
            return Ok(None);
        }
        from = to;
    }
    events.index().map(Some)
}

/// The queries for run, luminosity block and event number, if the tree has them.
pub fn queries(tree: &Tree) -> Option<Vec<Query>> {
    NAMES.iter().find_map(|names| named(tree, names))
}

/// The queries for these branches and members, if the tree has them.
fn named(tree: &Tree, names: &[(&str, &str); 3]) -> Option<Vec<Query>> {
    let query = |(branch, member): &(&str, &str)| {
        let inside = |path: &str| {
            path.strip_prefix(branch)
                .is_some_and(|rest| rest.starts_with('/') && rest.ends_with(&format!("/{member}")))
        };
        let find =
            |is: &dyn Fn(&str) -> bool| (0..tree.column_count()).find(|column| is(tree.branch_path(*column)));
        if let Some(part) = find(&|path| !member.is_empty() && inside(path)) {
            return Some(Query::from(part));
        }
        let whole = find(&|path| path == *branch)?;
        if !member.is_empty() {
            tree.member(whole, member).ok()?;
        }
        Some(Query::from((whole, *member)))
    };
    names.iter().map(query).collect()
}

/// The values of an integer column; negative ones as their two's complement.
fn numbers(column: &Column) -> Option<Vec<u64>> {
    let Form::Primitive(primitive) = &column.form else { return None };
    let buffer = column.buffers.first()?;
    Some(match primitive {
        Primitive::U32 => buffer.view::<u32>().iter().map(|&value| u64::from(value)).collect(),
        Primitive::U64 => buffer.view::<u64>().to_vec(),
        Primitive::I32 => {
            buffer.view::<i32>().iter().map(|&value| i64::from(value).cast_unsigned()).collect()
        }
        Primitive::I64 => buffer.view::<i64>().iter().map(|value| value.cast_unsigned()).collect(),
        Primitive::U16 => buffer.view::<u16>().iter().map(|&value| u64::from(value)).collect(),
        _ => return None,
    })
}
