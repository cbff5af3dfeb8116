//! From what a project declares to what is required of it with certain extras.

use std::collections::{HashSet, VecDeque};

use indexmap::IndexMap;
use reana_model::requirement::parse_marker;
use reana_model::{ExtraName, MarkerTree, PackageName, Requirement, Source};

use crate::{Declared, Problem, ProblemKind, Text};

/// The most requirements that one project's extras may unfold to, and the most steps on the way.
const MOST_UNFOLDED: usize = 2_000;

/// The extras that are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Extras {
    /// None.
    #[default]
    None,
    /// These.
    Named(Vec<ExtraName>),
    /// All that the project offers.
    All,
}

/// What a project requires, with what its author should know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// What it requires, in the order declared: first without, then with extras.
    pub requirements: Vec<Requirement>,
    /// What could not be understood.
    pub problems: Vec<Problem>,
    /// What was understood, but is not as it should be.
    pub notes: Vec<Problem>,
}

impl Declared {
    /// What the project requires with these extras. Extras of the project itself (`me[test]` inside of an extra
    /// of `me`) are unfolded. Notes are left out; [`Declared::unfold`] gives them.
    ///
    /// # Errors
    /// When something that is declared is unknown or no requirement.
    pub fn requirements(&self, extras: &Extras) -> Result<Vec<Requirement>, Vec<Problem>> {
        let found = self.unfold(extras);
        if found.problems.is_empty() { Ok(found.requirements) } else { Err(found.problems) }
    }

    /// What the project requires with these extras, with all problems and notes.
    pub fn unfold(&self, extras: &Extras) -> Requirements {
        let mut unfolding = Unfolding {
            found: Requirements::default(),
            me: self.own_name(),
            seen: HashSet::new(),
            waiting: VecDeque::new(),
        };
        let base = self.install_requires.as_ref();
        let declared = self.extras_require.as_ref();
        let (base, declared) = match (base, declared) {
            (Ok(base), Ok(declared)) => (base, declared),
            (base, declared) => {
                let unknown = [base.err(), declared.err()].into_iter().flatten();
                unfolding.found.problems = unknown.cloned().map(Problem::from).collect();
                unfolding.found.problems.dedup();
                return unfolding.found;
            }
        };
        let groups = unfolding.groups(declared);
        unfolding.list(base, &MarkerTree::TRUE, &groups);
        unfolding.waiting.push_back((None, MarkerTree::TRUE));
        let offered = self.extra_names();
        let wanted: Vec<ExtraName> = match extras {
            Extras::None => Vec::new(),
            Extras::All => offered,
            Extras::Named(names) => {
                for name in names.iter().filter(|name| !offered.contains(name)) {
                    let origin = reana_model::Origin::whole(self.files.first().map_or("", String::as_str));
                    let kind = ProblemKind::UnknownExtra(name.clone());
                    unfolding.found.notes.push(Problem::new(origin, kind));
                }
                offered.into_iter().filter(|name| names.contains(name)).collect()
            }
        };
        unfolding.waiting.extend(wanted.into_iter().map(|extra| (Some(extra), MarkerTree::TRUE)));
        while let Some((extra, marker)) = unfolding.waiting.pop_front() {
            unfolding.extra(extra.as_ref(), &marker, &groups);
        }
        unfolding.found
    }

    fn own_name(&self) -> Option<PackageName> {
        self.name.as_ref().ok()?.as_ref()?.value.parse().ok()
    }
}

/// The extra that a key of extras_require is for; none for `:marker`, and for what is no name.
pub(crate) fn extra_of(key: &str) -> Option<ExtraName> {
    let name = key.split(':').next().unwrap_or_default().trim();
    // setuptools makes such names safe in this way
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' }).collect();
    if safe.is_empty() { None } else { safe.parse().ok() }
}

/// One key of extras_require, taken apart.
struct Group<'d> {
    extra: Option<ExtraName>,
    marker: MarkerTree,
    list: &'d [Text],
}

struct Unfolding {
    found: Requirements,
    me: Option<PackageName>,
    seen: HashSet<(Option<ExtraName>, MarkerTree)>,
    waiting: VecDeque<(Option<ExtraName>, MarkerTree)>,
}

impl Unfolding {
    fn groups<'d>(&mut self, declared: &'d IndexMap<String, Vec<Text>>) -> Vec<Group<'d>> {
        let mut groups = Vec::new();
        for (key, list) in declared {
            let (name, marker) =
                key.split_once(':').map_or((&**key, None), |(name, marker)| (name, Some(marker)));
            // a key has no place of its own; the first requirement below it has
            let Some(first) = list.first() else { continue };
            let mut problem = |kind| self.found.problems.push(Problem::new(first.origin.clone(), kind));
            let extra = extra_of(key);
            if extra.is_none() && !name.trim().is_empty() {
                problem(ProblemKind::ExtraName(name.to_owned()));
                continue;
            }
            let marker = match marker.map(str::trim).filter(|marker| !marker.is_empty()) {
                None => MarkerTree::TRUE,
                Some(text) => match parse_marker(text) {
                    Ok(marker) => marker,
                    Err(_) => {
                        problem(ProblemKind::Marker(text.to_owned()));
                        continue;
                    }
                },
            };
            groups.push(Group { extra, marker, list });
        }
        groups
    }

    /// All that stands below an extra (or below no extra, with a marker alone).
    fn extra(&mut self, extra: Option<&ExtraName>, marker: &MarkerTree, groups: &[Group<'_>]) {
        // an extra that includes itself comes back here with the same marker sooner or later
        if !self.seen.insert((extra.cloned(), marker.clone())) {
            return;
        }
        if self.seen.len() > MOST_UNFOLDED || self.found.requirements.len() > MOST_UNFOLDED {
            let origin = groups.first().and_then(|group| group.list.first()).map(|text| text.origin.clone());
            let problem = origin.map(|origin| Problem::new(origin, ProblemKind::TooManyExtras));
            self.waiting.clear();
            if !self.found.problems.iter().any(|known| known.kind == ProblemKind::TooManyExtras) {
                self.found.problems.extend(problem);
            }
            return;
        }
        for group in groups.iter().filter(|group| group.extra.as_ref() == extra) {
            let mut both = group.marker.clone();
            both.and(marker.clone());
            self.list(group.list, &both, groups);
        }
    }

    fn list(&mut self, list: &[Text], marker: &MarkerTree, groups: &[Group<'_>]) {
        for text in list {
            let mut requirement = match Requirement::parse(&text.value, text.origin.clone()) {
                Ok(requirement) => requirement,
                Err(error) => match Requirement::parse_mended(&text.value, text.origin.clone()) {
                    Ok(requirement) => {
                        let kind = ProblemKind::Mended {
                            written: text.value.clone(),
                            read: requirement.text.clone(),
                        };
                        self.found.notes.push(Problem::new(text.origin.clone(), kind));
                        requirement
                    }
                    Err(_) => {
                        let kind = ProblemKind::Requirement(error);
                        self.found.problems.push(Problem::new(text.origin.clone(), kind));
                        continue;
                    }
                },
            };
            requirement.marker.and(marker.clone());
            let is_me = self.me.as_ref() == Some(&requirement.name);
            if is_me && matches!(requirement.source, Source::Index(_)) {
                for extra in &requirement.extras {
                    if groups.iter().any(|group| group.extra.as_ref() == Some(extra)) {
                        self.waiting.push_back((Some(extra.clone()), requirement.marker.clone()));
                    } else {
                        let kind = ProblemKind::UnknownExtra(extra.clone());
                        self.found.notes.push(Problem::new(text.origin.clone(), kind));
                    }
                }
                continue;
            }
            if !self.found.requirements.contains(&requirement) || self.found.requirements.len() > 500 {
                self.found.requirements.push(requirement);
            }
        }
    }
}
