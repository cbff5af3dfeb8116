//! A lock beside what is installed.

use std::collections::{BTreeMap, BTreeSet};

use pep508_rs::MarkerEnvironment;
use reana_lockfile::{Lock, LockedPin};
use reana_model::{PackageName, PinSource, Sha256, Version};
use serde::Serialize;

use super::installed::{Package, Place};

/// What installs packages, and is in images without having been asked for.
const TOOLS: [&str; 4] = ["pip", "setuptools", "wheel", "distribute"];

/// What came of comparing.
#[derive(Debug, Default, Serialize, schemars::JsonSchema)]
pub(crate) struct Compared {
    /// How many pins apply to the image.
    pub(crate) pins: usize,
    /// What differs.
    pub(crate) findings: Vec<Finding>,
    /// What installs packages, and is not pinned.
    pub(crate) tools: Vec<Unpinned>,
    /// The component's own package.
    pub(crate) own: Vec<Unpinned>,
}

/// A package that the lock does not pin.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Unpinned {
    /// The package.
    pub(crate) name: String,
    /// Its version as pip shows it.
    pub(crate) version: String,
}

/// One difference.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Finding {
    /// What kind of difference it is.
    pub(crate) kind: Kind,
    /// The package, normalised (PEP 503).
    pub(crate) name: String,
    /// The lock's line, counted from 1; null where the lock doesn't name the package.
    pub(crate) line: Option<u32>,
    /// What the lock pins: a version or an address.
    pub(crate) pinned: Option<String>,
    /// What is installed: a version, an address or a hash.
    pub(crate) installed: Option<String>,
}

/// How an image can differ from its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Pinned, and not installed.
    Missing,
    /// Installed in another version.
    Version,
    /// Installed from another place than the lock says.
    Source,
    /// Installed from an archive whose hash the lock doesn't have.
    Hash,
    /// Installed twice.
    Twice,
    /// Installed, and not pinned.
    Extra,
}

/// What is known of the component besides its lock.
#[derive(Debug, Default)]
pub(crate) struct Own {
    /// The names of the component's own packages, where its manifests say them.
    pub(crate) names: BTreeSet<PackageName>,
    /// The packages of the lock's lines without a name, with the lines.
    pub(crate) unnamed: BTreeMap<PackageName, u32>,
}

/// Compares a lock with what is installed, for the image's environment.
pub(crate) fn compare(
    lock: &Lock,
    installed: &[Package],
    environment: &MarkerEnvironment,
    own: &Own,
) -> Compared {
    let applying = lock.pins.iter().filter(|pin| pin.marker.evaluate(environment, &[]));
    let pins: BTreeMap<&PackageName, &LockedPin> = applying.map(|pin| (&pin.name, pin)).collect();
    let mut compared = Compared { pins: pins.len() + own.unnamed.len(), ..Compared::default() };
    let mut seen: BTreeSet<&PackageName> = BTreeSet::new();
    let mut unpinned: Vec<&Package> = Vec::new();
    for package in installed {
        if !seen.insert(&package.name) {
            let line = pins.get(&package.name).map(|pin| pin.line);
            compared.find(Kind::Twice, &package.name, line, None, Some(package.version.clone()));
            continue;
        }
        match pins.get(&package.name) {
            Some(pin) => compared.pinned(pin, package),
            None if own.unnamed.contains_key(&package.name) => {}
            None => unpinned.push(package),
        }
    }
    for (name, pin) in &pins {
        if !seen.contains(name) {
            compared.find(Kind::Missing, name, Some(pin.line), Some(shown(pin)), None);
        }
    }
    for (name, line) in &own.unnamed {
        if !seen.contains(name) {
            compared.find(Kind::Missing, name, Some(*line), None, None);
        }
    }
    compared.sort_out(&unpinned, lock, own);
    compared.findings.sort_by(|one, other| {
        (&one.name, one.kind as u8, &one.installed).cmp(&(&other.name, other.kind as u8, &other.installed))
    });
    compared
}

/// What a pin pins.
fn shown(pin: &LockedPin) -> String {
    match (&pin.source, &pin.version) {
        (PinSource::Url(text) | PinSource::Verbatim(text), _) => text.clone(),
        (PinSource::Arbitrary(text), _) => text.clone(),
        (PinSource::Index, version) => version.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

impl Compared {
    fn find(
        &mut self,
        kind: Kind,
        name: &PackageName,
        line: Option<u32>,
        pinned: Option<String>,
        installed: Option<String>,
    ) {
        self.findings.push(Finding { kind, name: name.to_string(), line, pinned, installed });
    }

    /// A package that the lock pins.
    fn pinned(&mut self, pin: &LockedPin, package: &Package) {
        let name = &package.name;
        if let Some(version) = &pin.version
            && package.version.parse::<Version>().ok().as_ref() != Some(version)
        {
            let installed = Some(package.version.clone());
            self.find(Kind::Version, name, Some(pin.line), Some(shown(pin)), installed);
        }
        let Some(place) = &package.place else { return };
        let is_right = match &pin.source {
            PinSource::Index | PinSource::Arbitrary(_) => false,
            PinSource::Url(url) => is_same_place(url, place.url()),
            // written as a path, which pip shows in another form
            PinSource::Verbatim(_) => true,
        };
        if !is_right {
            let installed = Some(place.url().to_owned());
            self.find(Kind::Source, name, Some(pin.line), Some(shown(pin)), installed);
        }
        let Place::Archive { sha256: Some(recorded), .. } = place else { return };
        let is_admitted = recorded.parse::<Sha256>().is_ok_and(|hash| pin.hashes.contains(&hash));
        if !pin.hashes.is_empty() && !is_admitted {
            let installed = Some(format!("sha256:{recorded}"));
            self.find(Kind::Hash, name, Some(pin.line), Some(shown(pin)), installed);
        }
    }

    /// Packages that the lock doesn't pin: the component's own, what installs packages, and the rest.
    fn sort_out(&mut self, unpinned: &[&Package], lock: &Lock, own: &Own) {
        let folders: Vec<&&Package> =
            unpinned.iter().filter(|package| matches!(package.place, Some(Place::Folder(_)))).collect();
        // Where no manifest says the name, the only package from a folder is the component's own.
        let only = match folders[..] {
            [only] if own.names.is_empty() => Some(&only.name),
            _ => None,
        };
        for package in unpinned {
            let as_unpinned =
                || Unpinned { name: package.name.to_string(), version: package.version.clone() };
            if own.names.contains(&package.name) || only == Some(&package.name) {
                self.own.push(as_unpinned());
            } else if is_tool(&package.name, lock) && package.place.is_none() {
                self.tools.push(as_unpinned());
            } else {
                let place = package.place.as_ref().map(|place| format!(" from {}", place.url()));
                let installed = format!("{}{}", package.version, place.unwrap_or_default());
                self.find(Kind::Extra, &package.name, None, None, Some(installed));
            }
        }
    }
}

fn is_tool(name: &PackageName, lock: &Lock) -> bool {
    TOOLS.contains(&name.as_ref()) || lock.left_out.contains(name)
}

/// Whether a lock's address is the one that was recorded, which has no fragment.
fn is_same_place(pinned: &str, recorded: &str) -> bool {
    let bare = |url: &str| {
        let url = url.split('#').next().unwrap_or(url);
        url.trim_end_matches('/').to_owned()
    };
    bare(pinned) == bare(recorded)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use reana_model::{Platform, Target};

    use super::*;

    fn check(lock: &str, installed: &str, own: &[&str], expected: &Expect) {
        let lock = reana_lockfile::parse(lock, "requirements.txt");
        let installed = super::super::installed::read(installed).expect("what pip prints");
        let target = Target { python: "3.12".parse().expect("a version"), platform: Platform::LinuxAmd64 };
        let names = own.iter().map(|name| name.parse().expect("a name")).collect();
        let own = Own { names, ..Own::default() };
        let compared = compare(&lock, &installed.packages, &target.marker_environment(), &own);
        expected.assert_eq(&serde_json::to_string(&compared).expect("JSON"));
    }

    #[test]
    fn an_equal_version_in_other_words() {
        check(
            "Ruamel.yaml==1.0.0\nfoo==2.0rc1\n",
            r#"[{"name": "ruamel_yaml", "version": "1.0"}, {"name": "FOO", "version": "2.0.rc1"}]"#,
            &[],
            &expect![[r#"{"pins":2,"findings":[],"tools":[],"own":[]}"#]],
        );
    }

    #[test]
    fn an_archive_from_elsewhere() {
        let hash = "a".repeat(64);
        let lock = format!("a @ https://x.example/a-1.zip \\\n    --hash=sha256:{hash}\nb==1\n");
        let entry = |name: &str, url: &str, digit: &str| {
            format!(
                r#"{{"metadata": {{"name": "{name}", "version": "1"}}, "direct_url": {{"url": "{url}", "archive_info": {{"hash": "sha256={}"}}}}}}"#,
                digit.repeat(64)
            )
        };
        let report = |a: &str, b: &str| format!(r#"{{"version": "1", "installed": [{a}, {b}]}}"#);
        let right = entry("a", "https://x.example/a-1.zip", "a");
        let wrong = entry("a", "https://y.example/a-1.zip", "b");
        let b = r#"{"metadata": {"name": "b", "version": "1"}}"#;
        check(&lock, &report(&right, b), &[], &expect![[r#"{"pins":2,"findings":[],"tools":[],"own":[]}"#]]);
        check(
            &lock,
            &report(&wrong, &entry("b", "https://x.example/b-1.zip", "c")),
            &[],
            &expect![[
                r#"{"pins":2,"findings":[{"kind":"source","name":"a","line":1,"pinned":"https://x.example/a-1.zip","installed":"https://y.example/a-1.zip"},{"kind":"hash","name":"a","line":1,"pinned":"https://x.example/a-1.zip","installed":"sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},{"kind":"source","name":"b","line":3,"pinned":"1","installed":"https://x.example/b-1.zip"}],"tools":[],"own":[]}"#
            ]],
        );
    }

    #[test]
    fn of_several_folders_none_is_taken_for_the_component() {
        let folder = |name: &str| {
            format!(
                r#"{{"metadata": {{"name": "{name}", "version": "1"}}, "direct_url": {{"url": "file:///code/{name}", "dir_info": {{"editable": true}}}}}}"#
            )
        };
        let report = |packages: &[&str]| {
            let each: Vec<String> = packages.iter().map(|name| folder(name)).collect();
            format!(r#"{{"version": "1", "installed": [{}]}}"#, each.join(", "))
        };
        check(
            "",
            &report(&["app"]),
            &[],
            &expect![[r#"{"pins":0,"findings":[],"tools":[],"own":[{"name":"app","version":"1"}]}"#]],
        );
        check(
            "",
            &report(&["app", "lib"]),
            &[],
            &expect![[
                r#"{"pins":0,"findings":[{"kind":"extra","name":"app","line":null,"pinned":null,"installed":"1 from file:///code/app"},{"kind":"extra","name":"lib","line":null,"pinned":null,"installed":"1 from file:///code/lib"}],"tools":[],"own":[]}"#
            ]],
        );
        check(
            "",
            &report(&["app", "lib"]),
            &["app"],
            &expect![[
                r#"{"pins":0,"findings":[{"kind":"extra","name":"lib","line":null,"pinned":null,"installed":"1 from file:///code/lib"}],"tools":[],"own":[{"name":"app","version":"1"}]}"#
            ]],
        );
        check(
            "",
            &report(&["pip", "app"]),
            &["app"],
            &expect![[
                r#"{"pins":0,"findings":[{"kind":"extra","name":"pip","line":null,"pinned":null,"installed":"1 from file:///code/pip"}],"tools":[],"own":[{"name":"app","version":"1"}]}"#
            ]],
        );
    }
}
