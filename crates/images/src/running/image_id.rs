//! `imageID` of a container's status, in all spellings.

use std::str::FromStr as _;

use crate::Digest;

/// What a node says that a container's image is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ImageId {
    /// Nothing yet: the image is not there.
    #[default]
    None,
    /// An index or a manifest of a repository: `repository@sha256:…`, with or without `docker-pullable://`.
    Named {
        /// The repository that the runtime knows the content by; not always the one that was asked for.
        repository: String,
        /// The digest of an index or of a manifest.
        digest: Digest,
    },
    /// An image's configuration: `docker://sha256:…`, `sha256:…`, or the digits alone. The image was built on the
    /// node, or the runtime doesn't know where it came from.
    Config(Digest),
    /// Something else.
    Other(String),
}

impl ImageId {
    /// Reads the text of an `imageID`; every text is one.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest).trim();
        if bare.is_empty() {
            return Self::None;
        }
        let named = bare.rsplit_once('@').filter(|(repository, _)| !repository.is_empty());
        if let Some((repository, digest)) = named {
            return Digest::from_str(digest).map_or_else(
                |_| Self::Other(text.to_owned()),
                |digest| Self::Named { repository: repository.to_owned(), digest },
            );
        }
        let config = Digest::from_str(bare).or_else(|_| Digest::from_str(&format!("sha256:{bare}")));
        config.map_or_else(|_| Self::Other(text.to_owned()), Self::Config)
    }

    /// The digest, whatever it is of.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        match self {
            Self::Named { digest, .. } | Self::Config(digest) => Some(digest),
            Self::None | Self::Other(_) => None,
        }
    }
}
