//! One lock for several targets: equal pins once, differing ones with the smallest marker that tells
//! their targets apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reana_model::{DistFile, ExtraName, Grade, MarkerTree, PackageName, Target, Version};

use crate::resolution::{Chosen, DirectChoice, Reason, Resolution};

/// One line of a lock, before it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedPin {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// All extras that somebody asked for.
    pub extras: BTreeSet<ExtraName>,
    /// The place it comes from, where that is no index.
    pub direct: Option<DirectChoice>,
    /// The version as a direct requirement asked for it with `===`.
    pub arbitrary: Option<String>,
    /// When it is to be installed; true where always.
    pub marker: MarkerTree,
    /// All files of the version, for any target; yanked ones left out where others are not.
    pub files: Vec<Arc<DistFile>>,
    /// The files that the targets of this pin could install, best first for the first of them.
    pub target_files: Vec<Arc<DistFile>>,
    /// Who wants it, sorted, each once.
    pub wanted_by: Vec<Reason>,
    /// The worst grade of any target.
    pub grade: Grade,
    /// Why the version was withdrawn, if it was.
    pub yanked: Option<String>,
}

impl Resolution {
    /// The pins of all targets together, by name and then by the targets' order.
    pub fn merged(&self) -> Vec<MergedPin> {
        let mut by_name: BTreeMap<&PackageName, Vec<Group>> = BTreeMap::new();
        for solved in &self.solved {
            for (name, chosen) in &solved.packages {
                let groups = by_name.entry(name).or_default();
                match groups.iter_mut().find(|group| group.pin.is_same(chosen)) {
                    Some(group) => group.add(solved.target, chosen),
                    None => groups.push(Group::new(name, solved.target, chosen)),
                }
            }
        }
        let targets: Vec<Target> = self.solved.iter().map(|solved| solved.target).collect();
        let groups = by_name.into_values().flatten();
        groups.map(|group| group.finish(&targets)).collect()
    }
}

/// Targets that have the same pin.
struct Group {
    pin: MergedPin,
    targets: Vec<Target>,
}

impl MergedPin {
    fn is_same(&self, chosen: &Chosen) -> bool {
        self.version == chosen.version && self.direct == chosen.direct && self.arbitrary == chosen.arbitrary
    }
}

impl Group {
    fn new(name: &PackageName, target: Target, chosen: &Chosen) -> Self {
        let pin = MergedPin {
            name: name.clone(),
            version: chosen.version.clone(),
            extras: chosen.extras.clone(),
            direct: chosen.direct.clone(),
            arbitrary: chosen.arbitrary.clone(),
            marker: chosen.marker.clone(),
            files: chosen.files.clone(),
            target_files: chosen.usable.clone(),
            wanted_by: chosen.wanted_by.clone(),
            grade: chosen.grade,
            yanked: chosen.yanked.clone(),
        };
        Self { pin, targets: vec![target] }
    }

    fn add(&mut self, target: Target, chosen: &Chosen) {
        let pin = &mut self.pin;
        self.targets.push(target);
        pin.extras.extend(chosen.extras.iter().cloned());
        pin.marker.or(chosen.marker.clone());
        for (mine, other) in [(&mut pin.files, &chosen.files), (&mut pin.target_files, &chosen.usable)] {
            let new: Vec<Arc<DistFile>> = other.iter().filter(|file| !mine.contains(file)).cloned().collect();
            mine.extend(new);
        }
        pin.wanted_by.extend(chosen.wanted_by.iter().cloned());
        pin.wanted_by.sort();
        pin.wanted_by.dedup();
        pin.grade = pin.grade.max(chosen.grade);
        pin.yanked = pin.yanked.take().or_else(|| chosen.yanked.clone());
    }

    /// The user's own marker is enough where it is false on all other targets.
    fn finish(mut self, all: &[Target]) -> MergedPin {
        let others: Vec<Target> = all.iter().filter(|other| !self.targets.contains(other)).copied().collect();
        let holds = |marker: &MarkerTree, target: &Target| marker.evaluate(&target.marker_environment(), &[]);
        if others.iter().any(|other| holds(&self.pin.marker, other)) {
            self.pin.marker.and(telling_apart(&self.targets, &others));
        }
        self.pin
    }
}

/// The smallest marker that is true on `ours` and false on `others`: by Python, else by machine, else by both,
/// else by Python's patch releases.
fn telling_apart(ours: &[Target], others: &[Target]) -> MarkerTree {
    let python = |target: &Target| (target.python.major, target.python.minor);
    let machine = |target: &Target| target.platform.machine();
    let is_apart = |same: &dyn Fn(&Target, &Target) -> bool| {
        ours.iter().all(|our| others.iter().all(|other| !same(our, other)))
    };
    if is_apart(&|a, b| python(a) == python(b)) {
        return by_python(ours, others);
    }
    if is_apart(&|a, b| machine(a) == machine(b)) {
        return any_of(ours.iter().map(|target| format!("platform_machine == '{}'", machine(target))));
    }
    let both = |target: &Target, key: &str, python: String| {
        format!("{key} == '{python}' and platform_machine == '{}'", machine(target))
    };
    if is_apart(&|a, b| python(a) == python(b) && machine(a) == machine(b)) {
        return any_of(ours.iter().map(|target| both(target, "python_version", target.python.short())));
    }
    any_of(ours.iter().map(|target| both(target, "python_full_version", target.python.to_string())))
}

fn by_python(ours: &[Target], others: &[Target]) -> MarkerTree {
    let bounds = |targets: &[Target]| {
        let pythons = targets.iter().map(|target| (target.python.major, target.python.minor));
        (pythons.clone().min(), pythons.max())
    };
    let ((our_first, our_last), (other_first, other_last)) = (bounds(ours), bounds(others));
    let short = |version: Option<(u8, u8)>| {
        version.map(|(major, minor)| format!("{major}.{minor}")).unwrap_or_default()
    };
    if our_last < other_first {
        return any_of(std::iter::once(format!("python_version < '{}'", short(other_first))));
    }
    if our_first > other_last {
        return any_of(std::iter::once(format!("python_version >= '{}'", short(our_first))));
    }
    any_of(ours.iter().map(|target| format!("python_version == '{}'", target.python.short())))
}

fn any_of(texts: impl Iterator<Item = String>) -> MarkerTree {
    let mut any = MarkerTree::FALSE;
    for text in texts {
        // Made of fixed names and of numbers: always valid. Were one not, the pin would hold everywhere.
        any.or(text.parse().unwrap_or(MarkerTree::TRUE));
    }
    any
}
