//! The places of a file that are known, and which of them is tried next.

use crate::replicas::{Known, Standing};
use sapwood_core::redact;
use sapwood_source::{Checksum, Replica, normalized_server, normalized_server_of, site_of};

/// What became of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is to be tried.
    Untried,
    /// Somebody is trying it.
    BeingTried,
    /// It could not be opened; it is tried again in the next round.
    Failed,
    /// It was opened, or is of no use: it is not tried again.
    Done,
}

/// A place, and what became of it.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) place: Replica,
    /// Size of the file there, where that is stated.
    pub(super) size: Option<u64>,
    /// Its checksums, where some are stated.
    pub(super) checksums: Vec<Checksum>,
    /// The caller named it. Others do not get the headers that he gave, which may be secret.
    pub(super) is_named: bool,
    /// It was named by a redirector, and may be one that does not let everybody in: failures are no news.
    pub(super) is_guess: bool,
    pub(super) outcome: Outcome,
}

impl Spot {
    pub(super) fn new(place: Replica) -> Spot {
        let (size, checksums, outcome) = (None, Vec::new(), Outcome::Untried);
        Spot { place, size, checksums, is_named: true, is_guess: false, outcome }
    }

    /// A place that a redirector named.
    pub(super) fn guess(url: String) -> Spot {
        Spot { is_named: false, is_guess: true, ..Spot::new(Replica::of(url)) }
    }

    fn site(&self) -> Option<String> {
        self.place
            .site
            .clone()
            .or_else(|| normalized_server_of(&self.place.url).map(|server| site_of(&server)))
    }
}

/// The sites of sources that are known, as far as these are in use or were left because of errors.
pub(super) fn sites(spots: &[Spot], known: &[Known]) -> Vec<String> {
    let of = |known: &Known| {
        let spot = spots.iter().find(|spot| redact(&spot.place.url) == known.url);
        spot.and_then(|spot| spot.place.site.clone()).or_else(|| known.server.as_deref().map(site_of))
    };
    known.iter().filter(|known| known.standing != Standing::Refused).filter_map(of).collect()
}

/// Whether a server, given as `host:port`, is among those that are known.
pub(super) fn is_known(server: &str, known: &[Known]) -> bool {
    let server = normalized_server(server);
    known.iter().filter_map(|known| known.server.as_deref()).any(|known| normalized_server(known) == server)
}

/// The place to try next: the first at a site that is not used yet; else the first.
pub(super) fn next(spots: &[Spot], known: &[Known]) -> Option<usize> {
    let used = sites(spots, known);
    let untried = || spots.iter().enumerate().filter(|(_, spot)| spot.outcome == Outcome::Untried);
    let elsewhere = |spot: &Spot| spot.site().is_none_or(|site| !used.contains(&site));
    let chosen = untried().find(|(_, spot)| elsewhere(spot)).or_else(|| untried().next());
    chosen.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(url: &str, server: &str, standing: Standing) -> Known {
        Known { url: url.to_owned(), server: Some(server.to_owned()), standing }
    }

    fn spots(places: &[(&str, Option<&str>)]) -> Vec<Spot> {
        let place = |&(url, site): &(&str, Option<&str>)| Replica {
            url: url.to_owned(),
            site: site.map(str::to_owned),
        };
        places.iter().map(|one| Spot::new(place(one))).collect()
    }

    #[test]
    fn another_site_goes_first() {
        let mut spots = spots(&[
            ("root://a.x.org//f?authz=1", None),
            ("root://b.x.org//f", None),
            ("root://c.y.org//f", None),
            ("root://d.y.org//f", Some("X")),
        ]);
        assert_eq!(next(&spots, &[]), Some(0));
        spots[0].outcome = Outcome::Done;
        let first = known("root://a.x.org//f?authz=…", "a.x.org:1094", Standing::Active);
        assert_eq!(next(&spots, std::slice::from_ref(&first)), Some(2));
        spots[2].outcome = Outcome::Failed;
        assert_eq!(next(&spots, std::slice::from_ref(&first)), Some(3));
        spots[3].outcome = Outcome::BeingTried;
        assert_eq!(next(&spots, std::slice::from_ref(&first)), Some(1));
        spots[1].outcome = Outcome::Done;
        assert_eq!(next(&spots, &[first]), None);
    }

    #[test]
    fn a_site_that_is_stated_counts_more_than_the_domain() {
        let mut spots = spots(&[
            ("root://a.x.org//f", Some("T2_X")),
            ("root://b.z.org//f", Some("T2_X")),
            ("root://c.x.org//f", Some("T2_Y")),
        ]);
        spots[0].outcome = Outcome::Done;
        let first = known("root://a.x.org//f", "a.x.org:1094", Standing::Resting);
        assert_eq!(next(&spots, &[first]), Some(2));
    }

    #[test]
    fn servers_are_compared_however_they_are_written() {
        let one = [known("root://r//f", "127.0.0.1:1", Standing::Active)];
        assert!(is_known("[::127.0.0.1]:1", &one) && !is_known("127.0.0.1:2", &one));
    }
}
