//! Which windows are needed next: the declared ones, those in the direction of travel, or any if the reader
//! jumps.

use std::collections::{BTreeMap, VecDeque};

/// How many of the most recent windows determine the direction of travel.
const NEAR: usize = 4;

/// A window that will be opened, and the share of its entries that will be looked at.
pub type ExpectedWindow = (usize, f64);

/// The windows that are needed next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextWindows {
    /// These, in this order; none if nothing is known.
    These(Vec<usize>),
    /// Any: the reader has jumped this many times to windows that it had not opened.
    Any(u64),
}

/// Where a reader is going.
#[derive(Debug, Default)]
pub(super) struct Travel {
    /// Declarations by their number.
    paths: BTreeMap<u64, Vec<ExpectedWindow>>,
    named: u64,
    jumps: u64,
    /// The reader jumped to the most recent window.
    jumped: bool,
}

impl Travel {
    /// Declares the windows that will be opened, each once, in the order in which they will first be opened;
    /// returns the number for [`forget`](Travel::forget).
    pub(super) fn expect(&mut self, path: Vec<ExpectedWindow>) -> u64 {
        self.named += 1;
        self.paths.insert(self.named, path);
        self.named
    }

    /// Withdraws a declaration.
    pub(super) fn forget(&mut self, name: u64) {
        self.paths.remove(&name);
    }

    /// The share of a window's entries that are looked at; 1 if not declared.
    pub(super) fn share(&self, window: usize) -> f64 {
        let stops = self.paths.values().flatten().filter(|(stop, _)| *stop == window);
        stops.map(|(_, share)| *share).reduce(f64::max).unwrap_or(1.0)
    }

    /// A window is opened for the first time; `recent` are those opened before, the newest first.
    pub(super) fn opens(&mut self, window: usize, recent: &VecDeque<usize>) {
        let is_near = recent.iter().take(NEAR).any(|other| window.abs_diff(*other) == 1);
        self.jumped = !recent.is_empty() && !is_near;
        self.jumps += u64::from(self.jumped);
    }

    /// The window that is declared after this one.
    pub(super) fn after(&self, window: usize) -> Option<usize> {
        let next = |path: &Vec<ExpectedWindow>| {
            let at = path.iter().position(|(other, _)| *other == window)?;
            path.get(at + 1).map(|(next, _)| *next)
        };
        self.paths.values().rev().find_map(next)
    }

    /// At most `most` of `windows`: those that are needed after the most recent one. `is_known` means that
    /// the reader repeats from its first window on what another reader did.
    pub(super) fn next(
        &self,
        recent: &VecDeque<usize>,
        windows: usize,
        most: usize,
        is_known: bool,
    ) -> NextWindows {
        let Some(&here) = recent.front() else { return NextWindows::These(Vec::new()) };
        for path in self.paths.values().rev() {
            if let Some(at) = path.iter().position(|(window, _)| *window == here) {
                return NextWindows::These(
                    path.iter().skip(at + 1).take(most).map(|(window, _)| *window).collect(),
                );
            }
        }
        let before: Vec<usize> = recent.iter().skip(1).take(NEAR).copied().collect();
        let forward = here.checked_sub(1).is_some_and(|window| before.contains(&window));
        if forward || (before.is_empty() && is_known) {
            NextWindows::These((here + 1..windows).take(most).collect())
        } else if before.contains(&(here + 1)) {
            NextWindows::These((0..here).rev().take(most).collect())
        } else if self.jumped {
            NextWindows::Any(self.jumps)
        } else {
            NextWindows::These(Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is next after some of ten windows were opened.
    fn after(travel: &mut Travel, opened: &[usize]) -> NextWindows {
        let mut recent = VecDeque::new();
        for &window in opened {
            travel.opens(window, &recent);
            recent.push_front(window);
        }
        travel.next(&recent, 10, 3, false)
    }

    #[test]
    fn neighbours_show_a_direction_and_others_are_jumps() {
        let next = |opened: &[usize]| after(&mut Travel::default(), opened);
        assert_eq!(next(&[]), NextWindows::These(vec![]));
        assert_eq!(next(&[3]), NextWindows::These(vec![]));
        assert_eq!(next(&[3, 4]), NextWindows::These(vec![5, 6, 7]));
        assert_eq!(next(&[3, 4, 2]), NextWindows::These(vec![1, 0]));
        assert_eq!(next(&[3, 7]), NextWindows::Any(1));
        assert_eq!(next(&[3, 7, 1]), NextWindows::Any(2));
        assert_eq!(next(&[3, 7, 1, 8]), NextWindows::These(vec![9]));
    }

    #[test]
    fn declared_windows_take_precedence() {
        let mut travel = Travel::default();
        let path = |windows: &[usize], share| windows.iter().map(|window| (*window, share)).collect();
        let one = travel.expect(path(&[5, 1, 9, 0, 3], 0.2));
        let other = travel.expect(path(&[7, 5], 0.1));
        assert_eq!([4, 5, 7].map(|window| travel.share(window)), [1.0, 0.2, 0.1]);
        assert_eq!(after(&mut travel, &[4, 5]), NextWindows::These(vec![]));
        travel.forget(other);
        assert_eq!(after(&mut travel, &[4, 5]), NextWindows::These(vec![1, 9, 0]));
        assert_eq!(after(&mut travel, &[9]), NextWindows::These(vec![0, 3]));
        assert_eq!([5, 3, 4].map(|window| travel.after(window)), [Some(1), None, None]);
        travel.forget(one);
        assert_eq!(after(&mut travel, &[4, 5]), NextWindows::These(vec![6, 7, 8]));
    }
}
