//! Divides work among sources so that all finish at the same time.

/// Bytes below which a share is not worth a request of its own.
const LEAST: f64 = 65_536.0;

/// A source that can be given work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Worker {
    /// Seconds until it starts to deliver: its latency, and what it has to deliver before.
    pub(crate) begin: f64,
    /// Seconds to an answer, without its transfer.
    pub(crate) latency: f64,
    /// Bytes per second.
    pub(crate) bandwidth: f64,
}

impl Worker {
    /// Seconds until it has delivered this many bytes.
    pub(crate) fn finish(&self, bytes: f64) -> f64 {
        self.begin + bytes / self.bandwidth
    }

    /// The smallest share worth dividing for: its transfer takes as long as the round trip to the source.
    fn least(&self) -> f64 {
        (self.latency * self.bandwidth).max(LEAST)
    }
}

/// The shares of `total` bytes, one per worker, so that all finish at the same time. A worker whose share
/// would be small gets nothing, and small totals are not divided.
pub(crate) fn divide(total: u64, workers: &[Worker]) -> Vec<u64> {
    let mut taking: Vec<usize> = (0..workers.len()).collect();
    loop {
        let end = common_end(total as f64, workers, &taking);
        let share = |i: usize| workers.get(i).map_or(0.0, |w| (end - w.begin) * w.bandwidth);
        let worst = taking
            .iter()
            .copied()
            .filter(|&i| workers.get(i).is_some_and(|worker| share(i) < worker.least()))
            .min_by(|&a, &b| share(a).total_cmp(&share(b)));
        match worst {
            Some(worst) if taking.len() > 1 => taking.retain(|&i| i != worst),
            _ => return whole(total, workers.len(), &taking, share),
        }
    }
}

/// Bytes that an idle worker should take over from the `rest` that another one has not requested yet, so that
/// both finish at the same time; 0 if that is not worth a request.
pub(crate) fn steal(rest: u64, owner: &Worker, thief: &Worker) -> u64 {
    let rates = 1.0 / owner.bandwidth + 1.0 / thief.bandwidth;
    let bytes = ((owner.finish(rest as f64) - thief.begin) / rates).min(rest as f64);
    if bytes < LEAST.min(rest as f64) || bytes <= 0.0 { 0 } else { (bytes as u64).clamp(1, rest) }
}

/// The moment at which all participants are done.
fn common_end(total: f64, workers: &[Worker], taking: &[usize]) -> f64 {
    let taking = || taking.iter().filter_map(|&i| workers.get(i));
    let rates: f64 = taking().map(|worker| worker.bandwidth).sum();
    let before: f64 = taking().map(|worker| worker.begin * worker.bandwidth).sum();
    (total + before) / rates.max(1.0)
}

/// Shares in whole bytes that add up to the total.
fn whole(total: u64, count: usize, taking: &[usize], share: impl Fn(usize) -> f64) -> Vec<u64> {
    let mut shares = vec![0; count];
    let mut rest = total;
    for (n, &i) in taking.iter().enumerate() {
        let last = n + 1 == taking.len();
        let bytes = if last { rest } else { (share(i).max(0.0) as u64).min(rest) };
        if let Some(slot) = shares.get_mut(i) {
            *slot = bytes;
        }
        rest -= bytes;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MB: u64 = 1_000_000;

    fn worker(latency: f64, queued: f64, bandwidth: f64) -> Worker {
        Worker { begin: latency + queued / bandwidth, latency, bandwidth }
    }

    #[test]
    fn shares_follow_bandwidth_and_queued_bytes() {
        let [a, b] = [worker(0.01, 0.0, 100e6), worker(0.01, 0.0, 50e6)];
        let shares = divide(30 * MB, &[a, b]);
        assert!(shares[0].abs_diff(20 * MB) < MB / 10, "{shares:?}");
        let shares = divide(30 * MB, &[worker(0.01, 20e6, 100e6), b]);
        assert!(shares[0].abs_diff(40 * MB / 3) < MB / 2, "{shares:?}");
    }

    #[test]
    fn small_work_goes_to_the_first_free_worker() {
        let [near, far] = [worker(0.001, 0.0, 10e6), worker(0.1, 0.0, 100e6)];
        assert_eq!(divide(10_000, &[near, far]), [10_000, 0]);
        assert_eq!(divide(10_000, &[far, near]), [0, 10_000]);
        assert_eq!(divide(MB, &[near, worker(0.001, 0.0, 0.1e6)]), [MB, 0]);
        assert_eq!(divide(0, &[near, far]).iter().sum::<u64>(), 0);
        assert!(divide(5, &[]).is_empty());
    }

    #[test]
    fn work_is_not_taken_if_the_owner_finishes_it_sooner() {
        let [fast, slow] = [worker(0.01, 0.0, 100e6), worker(0.01, 0.0, 1e6)];
        assert_eq!(steal(MB, &fast, &slow), 0);
        assert!(steal(10 * MB, &slow, &fast) > 9 * MB);
        assert!(steal(10 * MB, &fast, &fast).abs_diff(5 * MB) < MB);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_all_finish_together(
            total in 0..1_000_000_000_u64,
            workers in prop::collection::vec((0.0001..0.3, 0.0..1e7, 1e4..1e9).prop_map(|(l, q, b)| worker(l, q, b)), 1..5),
        ) {
            let shares = divide(total, &workers);
            prop_assert_eq!(shares.iter().sum::<u64>(), total);
            let ends: Vec<f64> = workers.iter().zip(&shares).filter(|(_, share)| **share > 0)
                .map(|(worker, &share)| worker.finish(share as f64)).collect();
            let (first, last) = (ends.iter().copied().fold(f64::MAX, f64::min), ends.iter().copied().fold(0.0, f64::max));
            prop_assert!(ends.len() < 2 || last - first < 0.01 + last * 0.01, "{:?}", ends);
        }
    }
}
