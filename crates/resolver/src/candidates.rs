//! The versions of one package as one target sees them: which have files that an installer could use.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::sync::Arc;

use reana_model::{DistFile, Listing, PackageName, Tags, Target, Version, VersionSpecifiers};

use crate::lacks::Lacks;
use crate::ranges::{self, Point};
use crate::request::Policy;

/// The versions of one package, ascending. What their files are good for is found out when it is asked.
pub(crate) struct Candidates {
    listing: Arc<dyn Listing>,
    points: Vec<Point>,
    usable: Vec<OnceCell<Usable>>,
}

/// What an installer could do with one version.
#[derive(Clone, Debug)]
pub(crate) struct Usable {
    /// Positions of the files that could be installed, best first.
    pub(crate) files: Vec<usize>,
    /// Whether they were all withdrawn.
    pub(crate) yanked: bool,
    /// What is lacking, where there are none.
    pub(crate) lacks: Lacks,
}

/// What decides whether a file may be used.
pub(crate) struct Rules<'a> {
    pub(crate) target: &'a Target,
    pub(crate) tags: &'a Tags,
    pub(crate) policy: &'a Policy,
}

impl Candidates {
    pub(crate) fn new(listing: Arc<dyn Listing>) -> Self {
        let usable = listing.versions().iter().map(|_| OnceCell::new()).collect();
        let points = listing.versions().iter().cloned().map(Point::on).collect();
        Self { listing, points, usable }
    }

    /// Whether any index knows the name.
    pub(crate) fn known(&self) -> bool {
        self.listing.known()
    }

    /// All versions, ascending.
    pub(crate) fn versions(&self) -> &[Version] {
        self.listing.versions()
    }

    /// The same, as points of ranges.
    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }

    /// The position of a version.
    pub(crate) fn position(&self, version: &Version) -> Option<usize> {
        self.versions().binary_search(version).ok()
    }

    /// The files of the version at a position.
    pub(crate) fn files(&self, index: usize) -> &[Arc<DistFile>] {
        self.listing.files(index)
    }

    /// What could be done with the version at a position; `None` out of range.
    pub(crate) fn usable(&self, index: usize, name: &PackageName, rules: &Rules<'_>) -> Option<&Usable> {
        let cell = self.usable.get(index)?;
        Some(cell.get_or_init(|| rules.judge(self.listing.files(index), name)))
    }
}

/// Order of preference of a file, best first: wheels by tag and build, then sdists. Of equal ones the last
/// on the page is taken, as pip does.
type Order = (u32, Reverse<Option<(u64, String)>>, Reverse<usize>);

impl Rules<'_> {
    fn judge(&self, files: &[Arc<DistFile>], name: &PackageName) -> Usable {
        let mut lacks = Lacks::default();
        let mut fitting: Vec<(Order, usize)> = Vec::new();
        for (index, file) in files.iter().enumerate() {
            if let Some(order) = self.order(file, name, index, &mut lacks) {
                fitting.push((order, index));
            }
        }
        fitting.sort();
        let is_yanked = |index: &usize| files.get(*index).is_some_and(|file| file.yanked.is_yanked());
        let all: Vec<usize> = fitting.into_iter().map(|(_, index)| index).collect();
        let offered: Vec<usize> = all.iter().copied().filter(|index| !is_yanked(index)).collect();
        let yanked = offered.is_empty() && !all.is_empty();
        Usable { files: if yanked { all } else { offered }, yanked, lacks }
    }

    fn order(&self, file: &DistFile, name: &PackageName, index: usize, lacks: &mut Lacks) -> Option<Order> {
        if let Some(python) = &file.requires_python
            && !self.python_fits(python)
        {
            lacks.python.get_or_insert_with(|| python.to_string());
            return None;
        }
        match file.name.wheel() {
            Some(_) if self.policy.no_binary.applies(name) => {
                lacks.no_binary = true;
                None
            }
            Some(wheel) => {
                let rank = self.tags.rank(wheel);
                if rank.is_none() {
                    lacks.wheels.push(wheel.clone());
                }
                Some((rank?, Reverse(wheel.build.clone()), Reverse(index)))
            }
            None if self.policy.only_binary.applies(name) => {
                lacks.only_binary = true;
                None
            }
            None => Some((u32::MAX, Reverse(None), Reverse(index))),
        }
    }

    /// Whether the target's Python satisfies a `Requires-Python`.
    pub(crate) fn python_fits(&self, python: &VersionSpecifiers) -> bool {
        let version = Point::on(self.target.python.version());
        python.iter().all(|specifier| ranges::of(specifier).contains(&version))
    }
}
