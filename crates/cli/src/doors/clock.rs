//! The door to the clock.
#![expect(clippy::disallowed_methods, reason = "this is the door to the clock")]

use std::time::{Duration, Instant, SystemTime};

/// The present moment. A clock that stands outside of what a timestamp can say is read as its nearest end.
pub(crate) fn now() -> jiff::Timestamp {
    jiff::Timestamp::try_from(SystemTime::now()).unwrap_or(jiff::Timestamp::MAX)
}

/// Measures how long something took, for the summary alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
