//! Candidates: where replicas of a file may be, and which one is tried next.

use crate::replicas::{KnownReplica, ReplicaStanding};
use sapwood_core::redact;
use sapwood_source::{Checksum, Replica, normalized_server, normalized_server_of, site_of};

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CandidateState {
    /// It has not been tried.
    Untried,
    /// It is being tried.
    BeingTried,
    /// It could not be opened; it is tried again in the next round.
    Failed,
    /// It was opened, or cannot be used: it is not tried again.
    Done,
}

/// A location where a replica may be, and what became of it.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) place: Replica,
    /// Size of the file there, if stated.
    pub(super) size: Option<u64>,
    /// Its checksums, if stated.
    pub(super) checksums: Vec<Checksum>,
    /// The caller named it. Others do not get the caller's headers, which may be secret.
    pub(super) is_named: bool,
    /// A redirector named it, and it may not admit everyone: failures are not reported.
    pub(super) is_guess: bool,
    pub(super) outcome: CandidateState,
}

impl Candidate {
    pub(super) fn new(place: Replica) -> Candidate {
        let (size, checksums, outcome) = (None, Vec::new(), CandidateState::Untried);
        Candidate { place, size, checksums, is_named: true, is_guess: false, outcome }
    }

    /// A location that a redirector named.
    pub(super) fn guess(url: String) -> Candidate {
        Candidate { is_named: false, is_guess: true, ..Candidate::new(Replica::of(url)) }
    }

    fn site(&self) -> Option<String> {
        self.place
            .site
            .clone()
            .or_else(|| normalized_server_of(&self.place.url).map(|server| site_of(&server)))
    }
}

/// The sites of known replicas that are in use, or that failed.
pub(super) fn sites(spots: &[Candidate], known: &[KnownReplica]) -> Vec<String> {
    let of = |known: &KnownReplica| {
        let spot = spots.iter().find(|spot| redact(&spot.place.url) == known.url);
        spot.and_then(|spot| spot.place.site.clone()).or_else(|| known.server.as_deref().map(site_of))
    };
    known.iter().filter(|known| known.standing != ReplicaStanding::Refused).filter_map(of).collect()
}

/// Whether a server, given as `host:port`, is among the known replicas.
pub(super) fn is_known(server: &str, known: &[KnownReplica]) -> bool {
    let server = normalized_server(server);
    known.iter().filter_map(|known| known.server.as_deref()).any(|known| normalized_server(known) == server)
}

/// The candidate to try next: the first one at a site that is not in use; otherwise the first one.
pub(super) fn next(spots: &[Candidate], known: &[KnownReplica]) -> Option<usize> {
    let used = sites(spots, known);
    let untried = || spots.iter().enumerate().filter(|(_, spot)| spot.outcome == CandidateState::Untried);
    let elsewhere = |spot: &Candidate| spot.site().is_none_or(|site| !used.contains(&site));
    let chosen = untried().find(|(_, spot)| elsewhere(spot)).or_else(|| untried().next());
    chosen.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(url: &str, server: &str, standing: ReplicaStanding) -> KnownReplica {
        KnownReplica { url: url.to_owned(), server: Some(server.to_owned()), standing }
    }

    fn spots(places: &[(&str, Option<&str>)]) -> Vec<Candidate> {
        let place = |&(url, site): &(&str, Option<&str>)| Replica {
            url: url.to_owned(),
            site: site.map(str::to_owned),
        };
        places.iter().map(|one| Candidate::new(place(one))).collect()
    }

    #[test]
    fn replicas_at_other_sites_come_first() {
        let mut spots = spots(&[
            ("root://a.x.org//f?authz=1", None),
            ("root://b.x.org//f", None),
            ("root://c.y.org//f", None),
            ("root://d.y.org//f", Some("X")),
        ]);
        assert_eq!(next(&spots, &[]), Some(0));
        spots[0].outcome = CandidateState::Done;
        let first = known("root://a.x.org//f?authz=…", "a.x.org:1094", ReplicaStanding::Active);
        assert_eq!(next(&spots, std::slice::from_ref(&first)), Some(2));
        spots[2].outcome = CandidateState::Failed;
        assert_eq!(next(&spots, std::slice::from_ref(&first)), Some(3));
        spots[3].outcome = CandidateState::BeingTried;
        assert_eq!(next(&spots, std::slice::from_ref(&first)), Some(1));
        spots[1].outcome = CandidateState::Done;
        assert_eq!(next(&spots, &[first]), None);
    }

    #[test]
    fn a_stated_site_takes_precedence_over_the_domain() {
        let mut spots = spots(&[
            ("root://a.x.org//f", Some("T2_X")),
            ("root://b.z.org//f", Some("T2_X")),
            ("root://c.x.org//f", Some("T2_Y")),
        ]);
        spots[0].outcome = CandidateState::Done;
        let first = known("root://a.x.org//f", "a.x.org:1094", ReplicaStanding::Resting);
        assert_eq!(next(&spots, &[first]), Some(2));
    }

    #[test]
    fn servers_are_compared_in_normal_form() {
        let one = [known("root://r//f", "127.0.0.1:1", ReplicaStanding::Active)];
        assert!(is_known("[::127.0.0.1]:1", &one) && !is_known("127.0.0.1:2", &one));
    }
}
