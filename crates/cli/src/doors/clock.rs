//! The door to the clock.
#![expect(clippy::disallowed_methods, reason = "this is the door to the clock")]

use std::time::SystemTime;

/// The present moment. A clock that stands outside of what a timestamp can say is read as its nearest end.
pub(crate) fn now() -> jiff::Timestamp {
    jiff::Timestamp::try_from(SystemTime::now()).unwrap_or(jiff::Timestamp::MAX)
}
