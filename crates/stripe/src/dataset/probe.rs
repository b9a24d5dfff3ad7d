//! Tests whether a store has the guarantee that commits build upon: of all concurrent creators of an object,
//! one succeeds.

use crate::Id;
use crate::record::found;
use bytes::Bytes;
use futures::future::join_all;
use sapwood_core::{Deadline, Error, Result};
use sapwood_store::{CreateOutcome, Store};

/// Concurrent creators of the same object.
const RACERS: usize = 16;
/// Number of races. The one server known to fail them fails nine of ten.
const RACES: usize = 3;

/// Tests the guarantees of a store, and removes its test objects.
///
/// Some servers ignore the condition of a conditional write, and others check it before they write, which
/// only a race reveals. A dataset there would lose commits.
///
/// # Errors
/// `Unsupported` if the store lacks the guarantee; those of the store.
pub async fn probe(store: &dyn Store, deadline: Deadline) -> Result<()> {
    let keys: Vec<String> = (0..=RACES).map(|_| format!("probe/{}", Id::random())).collect();
    let tried = try_all(store, &keys, deadline).await;
    let removed = store.delete(&keys, deadline).await;
    tried.and(removed)
}

async fn try_all(store: &dyn Store, keys: &[String], deadline: Deadline) -> Result<()> {
    let Some((first, races)) = keys.split_first() else { return Ok(()) };
    let refused = |what: &str| {
        Err(Error::unsupported(format!("this store cannot hold a dataset that changes: {what}"))
            .url(store.url())
            .hint(
                "conditional writes (If-None-Match) must be atomic; a proxy may have dropped the condition",
            ))
    };
    let (one, other) = (Bytes::from_static(b"first"), Bytes::from_static(b"second"));
    match store.create(first, one.clone(), deadline).await? {
        CreateOutcome::Done => {}
        CreateOutcome::Exists => return refused("it reports an object that was never written"),
        // A lost answer proves nothing.
        CreateOutcome::Unclear(error) => return Err(error),
    }
    let again = store.create(first, other, deadline).await?;
    if matches!(again, CreateOutcome::Done) || store.get(first, None, deadline).await? != one {
        return refused("it overwrites an existing object");
    }
    let listed = store.list("probe/", deadline).await?;
    if !listed.iter().any(|object| object.key == *first) {
        return refused("it does not list an object that was written");
    }
    for key in races {
        let contents: Vec<Bytes> = (0..RACERS).map(|racer| Bytes::from(format!("racer {racer}"))).collect();
        let race = contents.iter().map(|content| store.create(key, content.clone(), deadline));
        let ends = join_all(race).await.into_iter().collect::<Result<Vec<_>>>()?;
        let won: Vec<&Bytes> = (ends.iter().zip(&contents))
            .filter_map(|(end, content)| matches!(end, CreateOutcome::Done).then_some(content))
            .collect();
        let unclear = ends.iter().any(|end| matches!(end, CreateOutcome::Unclear(_)));
        let is = found(store.get(key, None, deadline).await)?;
        match won.as_slice() {
            [winner] if is.as_ref() == Some(*winner) => {}
            [] if unclear && is.is_none_or(|is| contents.contains(&is)) => {}
            [] | [_] => return refused("an object is not from the writer whose creation succeeded"),
            _ => return refused("several writers succeeded in creating the same object"),
        }
    }
    Ok(())
}
