//! What PubGrub decides about: the root, packages, and packages with extras.

use std::fmt;
use std::rc::Rc;

use pubgrub::Ranges;
use reana_model::requirement::Direct;
use reana_model::{ExtraName, PackageName, Requirement, Source};

use crate::ranges::{self, Point};

/// One thing to decide. A package with extras is decided apart from the package, as in pip, and depends on
/// the same version of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// What the user wants.
    Root,
    /// A package.
    Package(PackageName),
    /// A package's extras, sorted.
    Extras(PackageName, Rc<[ExtraName]>),
}

impl Node {
    /// The node of a package with extras, which may be none.
    pub(crate) fn of(name: &PackageName, extras: &[ExtraName]) -> Self {
        if extras.is_empty() {
            Self::Package(name.clone())
        } else {
            Self::Extras(name.clone(), extras.into())
        }
    }

    /// The package's name; `None` for the root.
    pub(crate) fn name(&self) -> Option<&PackageName> {
        match self {
            Self::Root => None,
            Self::Package(name) | Self::Extras(name, _) => Some(name),
        }
    }

    /// The extras asked for.
    pub(crate) fn extras(&self) -> &[ExtraName] {
        match self {
            Self::Root | Self::Package(_) => &[],
            Self::Extras(_, extras) => extras,
        }
    }
}

impl fmt::Display for Node {
    /// As pip names it: `name[a,b]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the manifests"),
            Self::Package(name) => write!(f, "{name}"),
            Self::Extras(name, extras) => {
                let extras: Vec<&str> = extras.iter().map(AsRef::as_ref).collect();
                write!(f, "{name}[{}]", extras.join(","))
            }
        }
    }
}

/// What one node requires of another.
#[derive(Debug)]
pub(crate) struct Demand {
    /// Of whom.
    pub(crate) node: Node,
    /// Which versions.
    pub(crate) range: Ranges<Point>,
    /// The requirement behind it; `None` for what ties a package with extras to the package.
    pub(crate) requirement: Option<Rc<Requirement>>,
    /// Its kinds, which pip's order of decisions looks at.
    pub(crate) kinds: Kinds,
}

/// The kinds of a requirement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// It names one place or one very candidate.
    pub(crate) direct: bool,
    /// It names one version.
    pub(crate) pinned: bool,
    /// It bounds versions from above.
    pub(crate) bounded: bool,
    /// It has any specifier.
    pub(crate) unfree: bool,
    /// It names a pre-release, and so admits them.
    pub(crate) consents: bool,
}

impl Demand {
    /// What a requirement demands: the package with its extras, and the package itself where the requirement
    /// says which versions.
    pub(crate) fn of(requirement: &Rc<Requirement>) -> Vec<Self> {
        let (range, kinds) = match &requirement.source {
            Source::Direct(_) => (Ranges::full(), Kinds { direct: true, ..Kinds::default() }),
            Source::Index(specifiers) => {
                let kinds = Kinds {
                    direct: false,
                    pinned: ranges::pins(specifiers),
                    bounded: ranges::bounds_above(specifiers),
                    unfree: !specifiers.is_empty(),
                    consents: ranges::consents(specifiers),
                };
                (ranges::of_all(specifiers), kinds)
            }
        };
        let demand =
            |node| Self { node, range: range.clone(), requirement: Some(Rc::clone(requirement)), kinds };
        let package = Node::Package(requirement.name.clone());
        if requirement.extras.is_empty() {
            return vec![demand(package)];
        }
        let extras = demand(Node::Extras(requirement.name.clone(), requirement.extras.clone().into()));
        if kinds.unfree || kinds.direct { vec![demand(package), extras] } else { vec![extras] }
    }

    /// What ties a package with extras to the package itself.
    pub(crate) fn tie(name: &PackageName, at: &Point) -> Self {
        Self {
            node: Node::Package(name.clone()),
            range: Ranges::singleton(at.clone()),
            requirement: None,
            kinds: Kinds { direct: true, ..Kinds::default() },
        }
    }

    /// The place that the requirement names, if it does.
    pub(crate) fn place(&self) -> Option<&Direct> {
        self.requirement.as_ref().and_then(|requirement| requirement.direct())
    }
}
