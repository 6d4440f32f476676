//! Waits for an instant, a result or the next item of a stream; never returns when there is none.

use std::pin::Pin;
use std::time::Instant;

use futures_util::stream::{Stream, StreamExt};
use tokio::time::sleep_until;

/// A result that may be in progress.
pub(super) type PendingFuture<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;
/// Several results that may be in progress.
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
