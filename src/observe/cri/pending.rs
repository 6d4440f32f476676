//! Owns the waiting for what may not be there: an instant, an answer, or the next of several.
//! It must not know what is waited for.

use std::pin::Pin;
use std::time::Instant;

use futures_util::stream::{Stream, StreamExt};
use tokio::time::sleep_until;

/// An answer that may be under way.
pub(super) type PendingFuture<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;
/// Several that may be.
pub(super) type PendingStream<T> = Option<Pin<Box<dyn Stream<Item = T> + Send>>>;

pub(super) async fn at(instant: Instant) {
    sleep_until(instant.into()).await;
}

pub(super) async fn at_some(instant: Option<Instant>) {
    match instant {
        Some(instant) => at(instant).await,
        None => std::future::pending().await,
    }
}

pub(super) async fn pending<T>(future: &mut PendingFuture<T>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

pub(super) async fn next_item<T>(stream: &mut PendingStream<T>) -> Option<T> {
    match stream {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}
