//! Checking locks: what can be found (`finding`), judged without any I/O of the lock itself (`lock`), of what the
//! index has (`offered`) and of the Dockerfile (`image`); `examine` puts it together, `report` tells it.

pub(crate) mod examine;
pub(crate) mod finding;
mod image;
mod lock;
mod offered;
pub(crate) mod report;
