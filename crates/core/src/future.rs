//! The type of futures that the traits of this workspace return.

use std::future::Future;
use std::pin::Pin;

/// A future on the heap that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
