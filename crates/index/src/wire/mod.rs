//! What indexes and distributions say, turned into the model's values. Pure: bytes in, values out.

pub mod html;
pub mod json;
mod link;
pub mod metadata;
mod page;

pub(crate) use link::{fragment_value, last_segment, percent_decoded};
pub use metadata::{CoreFields, MetadataError, parse_core};
pub use page::{Format, Page, PageError, ProjectStatus};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reana_model::PackageName;

    use super::*;

    /// Text that looks like a page here and there.
    fn any_page() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("<a href=\"foo-1.0.tar.gz#sha256=".to_owned()),
            Just("<base href='".to_owned()),
            Just("data-requires-python=\"&gt;=3.6.*\" data-yanked ".to_owned()),
            Just(">x</a>".to_owned()),
            Just("{\"files\": [".to_owned()),
            Just("{\"filename\": \"foo-1-py3-none-any.whl\", \"url\": \"%zz%4\", \"hashes\": {}}".to_owned()),
            Just("]}".to_owned()),
            Just("Requires-Dist: foo (>=1.*".to_owned()),
            ".{0,12}",
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_that_is_said_panics(text in any_page()) {
            let address = "https://a.example/simple/foo/".parse().expect("an address");
            let package = PackageName::new("foo".to_owned()).expect("a name");
            for format in [Format::Html, Format::Json] {
                let _ = format.read(text.as_bytes(), &address, &package);
            }
            let _ = html::read_links(text.as_bytes(), &address, &package);
            let text = format!("Name: foo\nVersion: 1\n{text}");
            if let Ok(fields) = parse_core(text.as_bytes()) {
                let _ = fields.to_metadata("foo", reana_model::Grade::Wheel);
            }
        }
    }
}
