//! What indexes and distributions say, turned into the model's values. Pure: bytes in, values out.

pub mod html;
pub mod json;
mod link;
pub mod metadata;
mod page;

pub(crate) use link::{fragment_value, last_segment, percent_decoded};
pub use metadata::{CoreFields, MetadataError, parse_core};
pub use page::{Format, Page, PageError, ProjectStatus};
