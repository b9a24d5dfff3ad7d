//! A test of the contract of [`Log`], for implementations outside the store.

use crate::log::Log;
use bytes::Bytes;
use futures::future::join_all;
use sapwood_core::{Deadline, Error, Result};
use sapwood_store::CreateOutcome;
use std::sync::Arc;

/// Concurrent writers of the same entry.
const RACERS: u64 = 16;
/// Races.
const RACES: u64 = 5;

/// Fills an empty log, and checks whether it keeps the contract of [`Log`].
///
/// # Errors
/// `Unsupported` if it does not; those of the log.
pub async fn check_log(log: &Arc<dyn Log>, deadline: Deadline) -> Result<()> {
    let rule = |holds: bool, what: &str| match holds {
        true => Ok(()),
        false => Err(Error::unsupported(format!("this log breaks its contract: {what}")).url(log.url())),
    };
    rule(log.read(1, deadline).await?.is_none(), "it is not empty, or has an entry that nobody wrote")?;
    rule(log.hint(deadline).await?.is_none(), "its hint names an entry that was never written")?;
    let content = |n: u64, racer: u64| Bytes::from(format!("{{\"n\":{n},\"racer\":{racer},\"text\":\"ä\"}}"));
    for n in 1..=RACES {
        let race = (0..RACERS).map(|racer| log.create(n, content(n, racer), deadline));
        let ends = join_all(race).await.into_iter().collect::<Result<Vec<_>>>()?;
        let won = (0..RACERS)
            .zip(&ends)
            .filter(|(_, end)| matches!(end, CreateOutcome::Done))
            .map(|(racer, _)| racer);
        let [winner] = won.collect::<Vec<_>>()[..] else {
            return rule(false, "not exactly one of the concurrent creators of an entry succeeded");
        };
        let kept = Some(content(n, winner));
        rule(log.read(n, deadline).await? == kept, "an entry changed after it was written")?;
        let late = log.create(n, content(n, RACERS), deadline).await?;
        rule(matches!(late, CreateOutcome::Exists), "it creates an existing entry again")?;
        rule(log.read(n, deadline).await? == kept, "it overwrites an existing entry")?;
        rule(log.read(n + 1, deadline).await?.is_none(), "it has an entry that nobody wrote")?;
        log.advise(n, content(n, winner), deadline).await?;
        rule(
            log.hint(deadline).await? == kept.map(|kept| (n, kept)),
            "its hint does not name the newest entry",
        )?;
    }
    Ok(())
}
