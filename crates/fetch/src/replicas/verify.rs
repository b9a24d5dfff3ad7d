//! Compares the checksums that servers state, if they do, concurrently with reads that do not wait for it.
//!
//! Size, first and last bytes were compared before ([`super::agree`]). For a checksum, the server may have to
//! read the whole file, so it may arrive when the source is already active: if it differs then, all reads
//! fail.

use super::roster::ReplicaId;
use super::shared::{SharedReplicas, now};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_source::{Checksum, Source};
use std::sync::Arc;
use std::time::Duration;

/// How long a further source is held back for checksums, which arrive behind the data.
const SOON: Duration = Duration::from_millis(200);

/// How long servers may take to state checksums.
const LATEST: Duration = Duration::from_secs(120);

impl SharedReplicas {
    /// Compares the first source with the stated checksums of the file, if there are any.
    pub(crate) fn verify_first(self: &Arc<Self>) {
        let stated = self.finder.checksums();
        let Some(first) = self.source(0).filter(|_| !stated.is_empty()) else { return };
        let shared = Arc::clone(self);
        self.spawn(async move {
            let found = shared.checksums.get_or_init(|| ask(&*first)).await;
            if let Some(difference) = difference(&stated, found) {
                shared.spoil(0, difference.url(&first.identity().url));
            }
        });
    }

    /// Admits a further source, unless its checksum is soon known to differ; a later one is compared on
    /// arrival.
    ///
    /// # Errors
    /// `Changed` if it has a different file.
    pub(crate) async fn verified(
        self: &Arc<Self>,
        source: &Arc<dyn Source>,
        join: impl FnOnce() -> ReplicaId,
    ) -> Result<()> {
        let (shared, source) = (Arc::clone(self), Arc::clone(source));
        let mut judged = Box::pin(async move {
            let first = async {
                let first = shared.source(0)?;
                Some(shared.checksums.get_or_init(|| ask(&*first)).await.as_slice())
            };
            let (first, found) = futures::join!(first, ask(&*source));
            let known = [shared.finder.checksums(), first.unwrap_or_default().to_vec()].concat();
            difference(&known, &found).map(|difference| difference.url(&source.identity().url))
        });
        let is_read = self.lock().roster.active().next().is_some();
        let soon = if is_read { SOON } else { Duration::ZERO };
        match tokio::time::timeout(soon, &mut judged).await {
            Ok(Some(difference)) => return Err(difference),
            Ok(None) => drop(join()),
            Err(_) => {
                let (shared, id) = (Arc::clone(self), join());
                self.spawn(async move {
                    if let Some(difference) = judged.await {
                        shared.spoil(id, difference);
                    }
                });
            }
        }
        Ok(())
    }

    /// A source has a different file. If it was active, nothing more is answered: earlier answers may come
    /// from that file.
    fn spoil(&self, id: ReplicaId, difference: Error) {
        let text = format!("{}; what was read from it cannot be trusted", difference.message());
        let spoiled = Error::new(ErrorKind::Changed, text).url(difference.url_str().unwrap_or_default());
        let spoiled = spoiled.hint("remove that replica, or correct the stated checksum");
        {
            let state = &mut *self.lock();
            let was_read =
                id == 0 || state.roster.replicas().get(id).is_some_and(|replica| replica.bytes > 0);
            state.spoiled = Some(spoiled).filter(|_| was_read).or(state.spoiled.take());
        }
        self.change(|roster, now| {
            roster.refuse(id, difference);
            roster.refresh(now);
        });
    }
}

/// The checksums that the server of a source states.
async fn ask(source: &dyn Source) -> Vec<Checksum> {
    source.checksums(Deadline::at(now() + LATEST)).await
}

fn difference(known: &[Checksum], found: &[Checksum]) -> Option<Error> {
    let (known, found) = Checksum::contradiction(known, found)?;
    Some(Error::new(ErrorKind::Changed, format!("a different file: its {found} is not {known}")))
}
