//! The baskets of a dataset's tree: in the stripes of its products, located on first use.

use super::schema::BranchOrigin;
use super::view::DatasetView;
use sapwood_core::{Call, Error, Result};
use sapwood_fetch::Fetcher;
use sapwood_table::pool::wait;
use sapwood_table::{EntryStatistics, FileIndex};
use sapwood_ttree::{BasketRef, BasketStorage, TTree};
use std::sync::{Arc, OnceLock};

/// The storage of the baskets of one version.
#[derive(Debug)]
pub(crate) struct StripeBaskets {
    view: Arc<DatasetView>,
    fetcher: Fetcher,
    /// The origin of each branch.
    origins: Vec<BranchOrigin>,
    /// The baskets of each branch, once located.
    baskets: Vec<OnceLock<Vec<BasketRef>>>,
}

impl StripeBaskets {
    pub(crate) fn new(view: Arc<DatasetView>, fetcher: Fetcher, origins: Vec<BranchOrigin>) -> StripeBaskets {
        let baskets = origins.iter().map(|_| OnceLock::new()).collect();
        StripeBaskets { view, fetcher, origins, baskets }
    }
}

impl BasketStorage for StripeBaskets {
    fn url(&self) -> &str {
        self.view.url()
    }

    fn locate(&self, tree: &TTree, branches: &[usize], call: &mut Call<'_>) -> Result<()> {
        if self.origins.len() != tree.branches.len() {
            let message = "the branches of the products differ from those of their schemas";
            return Err(Error::corrupt(message).url(self.url()));
        }
        let all =
            branches.iter().filter_map(|branch| self.baskets.get(*branch).zip(self.origins.get(*branch)));
        let unknown: Vec<_> = all.filter(|(baskets, _)| baskets.get().is_none()).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let origins: Vec<BranchOrigin> = unknown.iter().map(|(_, origin)| **origin).collect();
        let find = self.view.find_stripes_of(&origins, call.deadline());
        wait(find, call).map_err(|error| self.fetcher.counters().explain(error))?;
        for (baskets, origin) in unknown {
            baskets.get_or_init(|| self.view.baskets(*origin));
        }
        Ok(())
    }

    fn baskets<'a>(&'a self, _: &'a TTree, branch: usize) -> &'a [BasketRef] {
        self.baskets.get(branch).and_then(OnceLock::get).map(Vec::as_slice).unwrap_or_default()
    }

    fn file(&self, _: &TTree, _: usize) -> Result<FileIndex> {
        Ok(0)
    }

    fn fetcher(&self, _: FileIndex) -> Fetcher {
        self.fetcher.clone()
    }

    fn group(&self, branch: usize) -> Option<&str> {
        self.view.product(*self.origins.get(branch)?)
    }

    fn statistics(&self, tree: &TTree, branch: usize, call: &mut Call<'_>) -> Result<Vec<EntryStatistics>> {
        self.locate(tree, &[branch], call)?;
        Ok(self.origins.get(branch).map(|origin| self.view.statistics(*origin)).unwrap_or_default())
    }
}
