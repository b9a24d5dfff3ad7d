//! Places baskets in the new file, cluster by cluster.

use super::baskets::{BasketEncoding, ClusterBorders, CodecTimes, OutputBasket, encode_basket};
use super::options::RepackReport;
use super::output::OutputFile;
use super::output_tree::OutputTree;
use rayon::ThreadPool;
use rayon::prelude::*;
use sapwood_core::{Call, Result};
use sapwood_table::pool::compute;

/// Most bytes of baskets that wait for their cluster.
const WAITING: usize = 32 << 20;

/// Baskets that wait for their cluster.
#[derive(Debug, Default)]
pub(super) struct PendingBaskets {
    /// Cluster, index of the branch, basket.
    ready: Vec<(u64, usize, OutputBasket)>,
    bytes: usize,
}

impl PendingBaskets {
    pub(super) fn add(&mut self, ready: Vec<(usize, OutputBasket)>, borders: &ClusterBorders, cut: bool) {
        for (place, ready) in ready {
            let cluster = if cut { borders.cluster(ready.first_entry) } else { 0 };
            self.bytes += ready.payload.len();
            self.ready.push((cluster, place, ready));
        }
    }

    /// Places the baskets of all clusters up to `next`, that of the next basket; all baskets if they use too much
    /// memory.
    pub(super) fn place(
        &mut self,
        next: u64,
        target: &mut OutputTree,
        output: &mut OutputFile,
        pid_shift: u16,
        report: &mut RepackReport,
    ) -> Result<()> {
        let next = if self.bytes > WAITING { u64::MAX } else { next };
        self.ready.sort_by_key(|(cluster, ..)| *cluster);
        let end = self.ready.partition_point(|(cluster, ..)| *cluster <= next);
        for (_, place, ready) in self.ready.drain(..end) {
            self.bytes -= ready.payload.len();
            let placement = target.place(place, ready, pid_shift, &mut output.file)?;
            output.placed(&placement, report)?;
        }
        Ok(())
    }
}

/// Places the open baskets of all cutters of a tree.
pub(super) fn close_cutters(
    target: &mut OutputTree,
    output: &mut OutputFile,
    report: &mut RepackReport,
    pool: &ThreadPool,
    times: &CodecTimes,
    call: &mut Call<'_>,
) -> Result<()> {
    let ready: Vec<Option<OutputBasket>> = compute(pool, call, |_| {
        let branches = target.branches.par_iter_mut();
        let close = branches.map(|branch| {
            let Some(branch) = branch else { return Ok(None) };
            let Some(cutter) = &mut branch.cutter else { return Ok(None) };
            let (base, compression) = (cutter.base, branch.compression);
            cutter
                .cutter
                .close()?
                .map(|cut| encode_basket(cut, base, compression, BasketEncoding::Root, times))
                .transpose()
        });
        close.collect()
    })?;
    for (place, ready) in ready.into_iter().enumerate() {
        if let Some(ready) = ready {
            let placement = target.place(place, ready, 0, &mut output.file)?;
            output.placed(&placement, report)?;
        }
    }
    Ok(())
}
