//! Repositories, and who requires whom.

use std::collections::{BTreeMap, BTreeSet};

use reana_model::{ExtraName, PackageName, Requirement, Version};

use crate::order::ReleaseOrder;

/// One repository of the fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repository {
    /// Its name: the folder's, or as reana-lock.toml lists it.
    pub name: String,
    /// The Python package that its manifest declares, if it declares one.
    pub package: Option<PackageName>,
    /// The package's version, where it is known.
    pub version: Option<Version>,
    /// It has a lock, or is to have one.
    pub is_locked: bool,
    /// It has a Dockerfile.
    pub is_image: bool,
    /// reana-lock.toml calls it a shared package.
    pub is_named_shared: bool,
    /// What its manifests require.
    pub requires: Vec<Requires>,
}

/// One requirement of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Requires {
    /// The requirement, with its place.
    pub requirement: Requirement,
    /// The extra, or the dependency group (PEP 735), that it belongs to, if to one.
    pub extra: Option<ExtraName>,
}

/// All repositories, sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    repositories: Vec<Repository>,
}

/// A repository that requires the package of another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge<'f> {
    /// Whose requirement it is.
    pub from: &'f Repository,
    /// Whose package is required.
    pub to: &'f Repository,
    /// The requirement.
    pub requires: &'f Requires,
}

impl Fleet {
    /// A fleet of these repositories.
    pub fn new(mut repositories: Vec<Repository>) -> Self {
        repositories.sort_by(|a, b| a.name.cmp(&b.name));
        Self { repositories }
    }

    /// The repositories, sorted by name.
    pub fn repositories(&self) -> &[Repository] {
        &self.repositories
    }

    /// The repository that makes a package. Where several claim to, the first by name.
    pub fn maker(&self, package: &PackageName) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.package.as_ref() == Some(package))
    }

    /// All repositories that make a package, by name: more than one where a checkout is there twice.
    pub fn all_makers(&self, package: &PackageName) -> Vec<&Repository> {
        self.repositories.iter().filter(|repository| repository.package.as_ref() == Some(package)).collect()
    }

    /// The packages that others require and several repositories make.
    pub fn made_twice(&self) -> Vec<&PackageName> {
        let twice = |package: &&PackageName| {
            self.all_makers(package).len() > 1 && !self.requirers(package).is_empty()
        };
        self.makers().into_keys().filter(twice).collect()
    }

    fn makers(&self) -> BTreeMap<&PackageName, usize> {
        let mut makers = BTreeMap::new();
        for (at, repository) in self.repositories.iter().enumerate() {
            if let Some(package) = &repository.package {
                makers.entry(package).or_insert(at);
            }
        }
        makers
    }

    /// Who requires whose package, by repository and then in the manifests' order. A package's requirement of
    /// itself (`me[tests]`) is none.
    pub fn edges(&self) -> Vec<Edge<'_>> {
        let makers = self.makers();
        let mut edges = Vec::new();
        for (at, from) in self.repositories.iter().enumerate() {
            for requires in &from.requires {
                let maker = makers.get(&requires.requirement.name).filter(|maker| **maker != at);
                if let Some(to) = maker.and_then(|maker| self.repositories.get(*maker)) {
                    edges.push(Edge { from, to, requires });
                }
            }
        }
        edges
    }

    /// The shared packages, by name: those that other repositories require, and those that reana-lock.toml calls so.
    pub fn shared(&self) -> Vec<&PackageName> {
        let mut shared: BTreeSet<&PackageName> =
            self.edges().into_iter().filter_map(|edge| edge.to.package.as_ref()).collect();
        let named = self.repositories.iter().filter(|repository| repository.is_named_shared);
        shared.extend(named.filter_map(|repository| repository.package.as_ref()));
        shared.into_iter().collect()
    }

    /// The repositories that require a package, and how; in the fleet or not, the package itself left out.
    pub fn requirers(&self, package: &PackageName) -> Vec<(&Repository, Vec<&Requires>)> {
        let all = self.repositories.iter().filter(|repository| repository.package.as_ref() != Some(package));
        let with = all.map(|repository| {
            let requires = repository.requires.iter().filter(|it| it.requirement.name == *package);
            (repository, requires.collect::<Vec<_>>())
        });
        with.filter(|(_, requires)| !requires.is_empty()).collect()
    }

    /// The order in which the repositories must be released: each after those whose packages it requires.
    pub fn release_order(&self) -> ReleaseOrder {
        let place: BTreeMap<&str, usize> =
            self.repositories.iter().enumerate().map(|(at, it)| (it.name.as_str(), at)).collect();
        let mut needs: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.repositories.len()];
        for edge in self.edges() {
            let (from, to) = (place.get(edge.from.name.as_str()), place.get(edge.to.name.as_str()));
            if let (Some(from), Some(to)) = (from, to)
                && let Some(needs) = needs.get_mut(*from)
            {
                needs.insert(*to);
            }
        }
        let names: Vec<&str> = self.repositories.iter().map(|repository| repository.name.as_str()).collect();
        ReleaseOrder::of(&names, &needs)
    }
}

#[cfg(test)]
mod tests {
    use reana_model::Origin;

    use super::*;

    pub(crate) fn repository(name: &str, requires: &[&str]) -> Repository {
        let requires = requires.iter().zip(1..).map(|(text, line)| Requires {
            requirement: Requirement::parse(text, Origin::new(format!("{name}/setup.py"), line))
                .expect("a requirement"),
            extra: None,
        });
        Repository {
            name: name.to_owned(),
            package: name.parse().ok(),
            requires: requires.collect(),
            ..Repository::default()
        }
    }

    fn fleet() -> Fleet {
        Fleet::new(vec![
            repository("server", &["commons[k]>=1", "db>=1", "flask"]),
            repository("db", &["commons>=1", "sql"]),
            repository("commons", &["commons[k]", "click"]),
            repository("client", &["commons"]),
        ])
    }

    #[test]
    fn shared_packages_are_those_that_others_require() {
        let fleet = fleet();
        let shared: Vec<String> = fleet.shared().iter().map(ToString::to_string).collect();
        assert_eq!(shared, ["commons", "db"]);
        let edges: Vec<String> = fleet
            .edges()
            .iter()
            .map(|edge| format!("{} {} {}", edge.from.name, edge.to.name, edge.requires.requirement.origin))
            .collect();
        assert_eq!(
            edges,
            [
                "client commons client/setup.py:1",
                "db commons db/setup.py:1",
                "server commons server/setup.py:1",
                "server db server/setup.py:2"
            ]
        );
        let flask = "flask".parse().expect("a name");
        let requirers: Vec<&str> = fleet.requirers(&flask).iter().map(|(it, _)| it.name.as_str()).collect();
        assert_eq!(requirers, ["server"]);
    }

    #[test]
    fn named_packages_are_shared() {
        let mut named = repository("alone", &[]);
        named.is_named_shared = true;
        assert_eq!(Fleet::new(vec![named]).shared().len(), 1);
    }

    #[test]
    fn releases_come_after_what_they_require() {
        let order = fleet().release_order();
        assert_eq!(
            order.steps,
            [
                vec!["commons".to_owned()],
                vec!["client".to_owned(), "db".to_owned()],
                vec!["server".to_owned()]
            ]
        );
        assert!(order.cycles.is_empty());
    }
}
