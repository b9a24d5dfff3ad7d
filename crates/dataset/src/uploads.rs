//! Uploads objects to a store: many at once, in bounded memory.

use bytes::Bytes;
use sapwood_core::{Call, Deadline, Error, Result, redact};
use sapwood_store::Store;
use sapwood_stripe::Dataset;
use sapwood_table::pool::{runtime, wait};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Most objects in flight.
const TOGETHER: usize = 32;
/// Most bytes in flight, unless a single object is larger.
const BYTES: usize = 64 << 20;

/// Objects in flight. Dropping this abandons them.
#[derive(Debug)]
pub struct Uploads {
    store: Arc<dyn Store>,
    /// Number of the base to which objects go; 0 for the store of the dataset.
    pub base: u32,
    handle: Handle,
    deadline: Deadline,
    flight: VecDeque<(usize, JoinHandle<Result<()>>)>,
    bytes: usize,
    /// Number of objects so far.
    pub objects: u64,
    /// Their size in bytes.
    pub sent: u64,
}

impl Uploads {
    /// Uploads to a store, each until the deadline.
    ///
    /// # Errors
    /// `Io` if no threads can be started.
    pub fn new(store: Arc<dyn Store>, deadline: Deadline) -> Result<Uploads> {
        let (handle, flight) = (runtime()?, VecDeque::new());
        Ok(Uploads { store, base: 0, handle, deadline, flight, bytes: 0, objects: 0, sent: 0 })
    }

    /// Uploads to the store of a dataset, or of one of its bases.
    ///
    /// # Errors
    /// `Usage` if the dataset has no such base; those of opening its store.
    pub fn of(dataset: &Dataset, base: Option<&str>, deadline: Deadline) -> Result<Uploads> {
        let Some(url) = base else { return Uploads::new(Arc::clone(dataset.store()), deadline) };
        let known = &dataset.snapshot().bases;
        let place = known.iter().position(|known| known == url.trim_end_matches('/'));
        let place = place.and_then(|place| u32::try_from(place + 1).ok()).ok_or_else(|| {
            Error::usage("this is not a base of the dataset")
                .url(redact(url))
                .hint("add it first: 'sapwood stripe base'")
        })?;
        let mut uploads = Uploads::new(dataset.base(place)?, deadline)?;
        uploads.base = place;
        Ok(uploads)
    }

    /// Begins to upload an object; waits while too many are in flight.
    ///
    /// # Errors
    /// Those of earlier uploads.
    pub fn put(&mut self, key: String, content: Bytes, call: &mut Call<'_>) -> Result<()> {
        let len = content.len();
        while self.flight.len() >= TOGETHER || (self.bytes + len > BYTES && !self.flight.is_empty()) {
            self.oldest(call)?;
        }
        let (store, deadline) = (Arc::clone(&self.store), self.deadline);
        let task = self.handle.spawn(async move { store.put(&key, content, deadline).await });
        self.flight.push_back((len, task));
        self.bytes += len;
        self.objects += 1;
        self.sent += len as u64;
        Ok(())
    }

    /// Waits for all uploads.
    ///
    /// # Errors
    /// Those of the uploads.
    pub fn finish(&mut self, call: &mut Call<'_>) -> Result<()> {
        while !self.flight.is_empty() {
            self.oldest(call)?;
        }
        Ok(())
    }

    fn oldest(&mut self, call: &mut Call<'_>) -> Result<()> {
        let Some((len, task)) = self.flight.front_mut() else { return Ok(()) };
        let len = *len;
        let done = async move {
            task.await.unwrap_or_else(|_| {
                Err(Error::corrupt("a thread that wrote an object ended without a result"))
            })
        };
        wait(done, call)?;
        self.flight.pop_front();
        self.bytes -= len;
        Ok(())
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        self.flight.iter().for_each(|(_, task)| task.abort());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::ByteRange;
    use sapwood_testkit::MemoryStore;

    #[test]
    fn all_objects_arrive_or_an_error_is_returned() {
        let store = Arc::new(MemoryStore::new("memory:uploads"));
        let mut uploads = Uploads::new(store.clone(), Deadline::default()).unwrap();
        let mut never = || false;
        let mut call = Call::new(Deadline::default(), &mut never);
        for index in 0..100_u8 {
            uploads.put(format!("d/{index}"), vec![index; 10].into(), &mut call).unwrap();
        }
        uploads.finish(&mut call).unwrap();
        assert_eq!((uploads.objects, uploads.sent), (100, 1000));
        let range = Some(ByteRange { start: 0, len: 10 });
        let read = wait(store.get("d/99", range, Deadline::default()), &mut call);
        assert_eq!(read.unwrap(), vec![99; 10]);
        uploads.put("../no key".to_owned(), Bytes::new(), &mut call).unwrap();
        assert!(uploads.finish(&mut call).is_err());
    }
}
