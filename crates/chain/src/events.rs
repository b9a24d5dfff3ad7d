//! The run, luminosity block and event numbers of a batch, found among its columns.

use super::claim::Claim;
use super::column::Column;
use sapwood_core::{Column as Values, Counters, Result};
use sapwood_dataset::{Template, event_queries};
use sapwood_root::Tree;
use sapwood_table::member;
use sapwood_table::{Selection, names};
use sapwood_ttree::{BasketBytes, Interpretation, Meaning, decode};

/// The columns with run, luminosity block and event number.
#[derive(Debug, Clone)]
pub(super) struct EventColumns(Vec<EventColumn>);

#[derive(Debug, Clone)]
struct EventColumn {
    /// Its index among the columns of the chain.
    column: usize,
    interpretation: Interpretation,
    /// The path of the number in the objects of the column.
    member: Vec<String>,
}

impl EventColumns {
    /// None if a source has no event numbers. `trees` are those of the schemas.
    pub(super) fn of(template: &Template, trees: &[Tree], columns: &[Column]) -> Option<EventColumns> {
        let places = template.products.iter();
        let places = places.flat_map(|one| one.branches.iter().map(|&branch| (one.schema, branch)));
        let places: Vec<(usize, usize)> = places.collect();
        let found = trees.iter().enumerate().find_map(|(schema, tree)| {
            let queries = event_queries(tree)?.into_iter();
            let columns = queries.map(|query| {
                let column = places.iter().position(|place| *place == (schema, query.column))?;
                let member = names(&query.member);
                let selection = Selection::of_members(query.column, std::slice::from_ref(&member));
                let interpretation = match &tree.ttree().ok()?.branch_type(&selection).ok()?.meaning {
                    Meaning::Column(interpretation) if !selection.members.is_empty() => {
                        interpretation.clone()
                    }
                    _ => columns.get(column)?.interpretation.clone()?,
                };
                Some(EventColumn { column, interpretation, member })
            });
            columns.collect::<Option<Vec<_>>>()
        });
        found.map(EventColumns)
    }

    /// The numbers of a batch.
    pub(super) fn values(&self, claim: &Claim, counters: &Counters) -> Result<Vec<Values>> {
        let values = self.0.iter().map(|one| {
            let pieces = claim.pieces(one.column)?;
            let baskets: Vec<_> = (pieces.iter())
                .map(|piece| BasketBytes { basket: &piece.plain.basket, bytes: piece.plain.record.clone() })
                .collect();
            let entries = claim.first..claim.first + claim.entries;
            let whole = decode(&one.interpretation, &baskets, entries, None, None, counters)?;
            member(&whole, &one.member)
        });
        values.collect()
    }
}
