//! The inputs digest, scheme 1: one sha256 over a sorted list of everything that goes into the build of an image
//! and that can be known before it. docs/inputs-digest.md has the list's form for whoever wants to compute it
//! elsewhere; its vectors are tested here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use reana_model::{PackageName, Sha256};

use crate::{Digest, Reference};

/// The number of the scheme that lists are written by. A digest of another scheme can't be compared with one of
/// this: it is neither the same nor different.
pub const SCHEME: u32 = 1;

/// The list's first line.
const HEAD: &str = "reana-lock-inputs\t1";

/// What is at a path of the build's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileInput {
    /// A regular file.
    File {
        /// Its owner may execute it.
        is_executable: bool,
        /// Its bytes' hash.
        sha256: Sha256,
    },
    /// A symbolic link: where it points to, as it says. It is not followed.
    Link(Vec<u8>),
}

/// One package of the dependency set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageInput {
    /// The package; `None` for a path or address without a name.
    pub name: Option<PackageName>,
    /// As a lock pins it: `name==version`, `name @ address`; without extras.
    pub pin: String,
    /// When it is installed (PEP 508); empty where always.
    pub marker: String,
    /// The files that may be installed; empty where there are no hashes.
    pub hashes: BTreeSet<Sha256>,
}

/// Everything that goes into one build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The Dockerfile's hash. It counts by itself, too: a build reads it even where .dockerignore hides it.
    pub dockerfile: Option<Sha256>,
    /// What the build sees of the work tree, by path: parts between slashes, as bytes.
    pub files: BTreeMap<Vec<u8>, FileInput>,
    /// The commits of submodules that the build sees, by path.
    pub submodules: BTreeMap<Vec<u8>, String>,
    /// `--build-arg`, by name.
    pub build_args: BTreeMap<String, String>,
    /// `--platform`.
    pub platforms: BTreeSet<String>,
    /// Base images, by what they are called without a digest.
    pub bases: BTreeMap<Reference, Digest>,
    /// What is installed from an index.
    pub packages: BTreeSet<PackageInput>,
}

impl Inputs {
    /// The list's lines, sorted, without the head.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(self.dockerfile.map(|hash| format!("dockerfile\t{hash}")));
        for (path, file) in &self.files {
            let path = Quoted(path);
            lines.push(match file {
                FileInput::File { is_executable, sha256 } => {
                    format!("file\t{path}\t{}\t{sha256}", if *is_executable { "x" } else { "-" })
                }
                FileInput::Link(target) => format!("link\t{path}\t{}", Quoted(target)),
            });
        }
        let submodules = self.submodules.iter();
        lines.extend(
            submodules
                .map(|(path, commit)| format!("submodule\t{}\t{}", Quoted(path), Quoted(commit.as_bytes()))),
        );
        let args = self.build_args.iter();
        lines.extend(
            args.map(|(name, value)| {
                format!("arg\t{}\t{}", Quoted(name.as_bytes()), Quoted(value.as_bytes()))
            }),
        );
        lines.extend(self.platforms.iter().map(|name| format!("platform\t{}", Quoted(name.as_bytes()))));
        lines.extend(self.bases.iter().map(|(base, digest)| format!("base\t{}\t{digest}", whole(base))));
        lines.extend(self.packages.iter().map(PackageInput::line));
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The list as the digest is taken of it: the head, then the lines, each with `\n` at its end.
    #[must_use]
    pub fn list(&self) -> String {
        let mut list = format!("{HEAD}\n");
        for line in self.lines() {
            list.push_str(&line);
            list.push('\n');
        }
        list
    }

    /// The digest of the list.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.list().as_bytes())
    }
}

impl PackageInput {
    fn line(&self) -> String {
        let hashes: Vec<String> = self.hashes.iter().map(ToString::to_string).collect();
        let (pin, marker) = (Quoted(self.pin.as_bytes()), Quoted(self.marker.as_bytes()));
        format!("package\t{pin}\t{marker}\t{}", hashes.join(","))
    }
}

/// A base image's name with its registry, whatever the Dockerfile leaves out.
fn whole(base: &Reference) -> String {
    let tag = base.tag.iter().map(|tag| format!(":{tag}")).collect::<String>();
    format!("{}/{}{tag}", base.registry, base.repository)
}

/// Bytes as a field of a line: what is no printable ASCII, and `\`, becomes `\x` and two digits.
pub struct Quoted<'a>(pub &'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| match byte {
            b'\\' | 0..=0x1f | 0x7f.. => write!(f, "\\x{byte:02x}"),
            _ => write!(f, "{}", char::from(*byte)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use proptest::prelude::*;

    use super::*;

    fn file(text: &str, is_executable: bool) -> FileInput {
        FileInput::File { is_executable, sha256: Sha256::of(text.as_bytes()) }
    }

    fn package(pin: &str, marker: &str, hashes: &[&str]) -> PackageInput {
        let name = pin.split(['=', ' ']).next().and_then(|name| PackageName::from_str(name).ok());
        let hashes = hashes.iter().map(|text| Sha256::of(text.as_bytes())).collect();
        PackageInput { name, pin: pin.to_owned(), marker: marker.to_owned(), hashes }
    }

    /// The builds that the documented vectors are about.
    fn vectors() -> [Inputs; 3] {
        let smallest = Inputs { dockerfile: Some(Sha256::of(b"FROM scratch\n")), ..Inputs::default() };
        let dockerfile = b"FROM python:3.12\n";
        let component = Inputs {
            dockerfile: Some(Sha256::of(dockerfile)),
            files: BTreeMap::from([
                (b"Dockerfile".to_vec(), file("FROM python:3.12\n", false)),
                (b"run.sh".to_vec(), file("#!/bin/sh\n", true)),
            ]),
            build_args: BTreeMap::from([("DEBUG".to_owned(), "0".to_owned())]),
            platforms: BTreeSet::from(["linux/amd64".to_owned()]),
            bases: BTreeMap::from([("python:3.12".parse().expect("a name"), Digest::of(b"python"))]),
            packages: BTreeSet::from([
                package("reana-db==0.7.0.dev20200427", "", &["wheel", "sdist"]),
                package("click==8.1.7", "", &[]),
            ]),
            ..Inputs::default()
        };
        let odd = Inputs {
            files: BTreeMap::from([
                (b"a b\tc\\d\n".to_vec(), file("", false)),
                (vec![0xff, b'/', 0xc3, 0xa9], FileInput::Link("../é".as_bytes().to_vec())),
            ]),
            submodules: BTreeMap::from([(b"modules/x".to_vec(), "0".repeat(40))]),
            build_args: BTreeMap::from([
                ("EMPTY".to_owned(), String::new()),
                ("T".to_owned(), "a\tb\n".to_owned()),
            ]),
            packages: BTreeSet::from([
                package("x==1", "python_full_version < '3.9'", &["x"]),
                package("x==2", "python_full_version >= '3.9'", &["y"]),
                package("y @ https://index.test/y.whl", "", &[]),
            ]),
            ..Inputs::default()
        };
        [smallest, component, odd]
    }

    #[test]
    fn the_documented_vectors_hold() {
        let page = include_str!("../../../docs/inputs-digest.md");
        let mut parts = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
        for (at, inputs) in vectors().iter().enumerate() {
            // Tabs are shown as `→`: a page must survive editors.
            let list = inputs.list().replace('\t', "→");
            assert_eq!(parts.next(), Some(list.as_str()), "vector {}", at + 1);
            let digest = inputs.digest();
            assert!(page.contains(&format!("`{digest}`")), "vector {}: {digest}", at + 1);
        }
    }

    #[test]
    fn everything_that_counts_changes_the_digest() {
        let [_, base, _] = vectors();
        let mut all = vec![base.clone()];
        let mut change = |change: &dyn Fn(&mut Inputs)| {
            let mut inputs = base.clone();
            change(&mut inputs);
            all.push(inputs);
        };
        change(&|it| it.dockerfile = None);
        change(&|it| drop(it.files.insert(b"run.sh".to_vec(), file("#!/bin/sh\n", false))));
        change(&|it| drop(it.files.insert(b"run.sh".to_vec(), file("#!/bin/bash\n", true))));
        change(&|it| drop(it.files.insert(b"run.sh".to_vec(), FileInput::Link(b"x".to_vec()))));
        change(&|it| drop(it.files.insert(b"run.sh".to_vec(), FileInput::Link(b"y".to_vec()))));
        change(&|it| drop(it.files.remove(b"run.sh".as_slice())));
        change(&|it| drop(it.submodules.insert(b"m".to_vec(), "1".repeat(40))));
        change(&|it| drop(it.submodules.insert(b"m".to_vec(), "2".repeat(40))));
        change(&|it| drop(it.build_args.insert("DEBUG".to_owned(), "1".to_owned())));
        change(&|it| it.build_args.clear());
        change(&|it| it.platforms = BTreeSet::from(["linux/arm64".to_owned()]));
        change(&|it| it.bases.values_mut().for_each(|digest| *digest = Digest::of(b"moved")));
        change(&|it| it.packages.extend([package("reana-db==0.7.0.dev20200520", "", &[])]));
        change(&|it| it.packages.extend([package("click==8.1.7", "", &["wheel"])]));
        let digests: BTreeSet<Digest> = all.iter().map(Inputs::digest).collect();
        assert_eq!(digests.len(), all.len());
    }

    proptest! {
        /// Two different builds never share a list: whatever is in the names, fields and lines can be told apart.
        #[test]
        fn fields_can_be_told_apart(a in any::<Vec<u8>>(), b in any::<Vec<u8>>()) {
            let (left, right) = (Quoted(&a).to_string(), Quoted(&b).to_string());
            prop_assert_eq!(a == b, left == right);
            prop_assert!(left.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
        }

        /// The order in which things are found is nothing.
        #[test]
        fn order_is_nothing(paths in proptest::collection::vec("[a-c/\\\\é]{1,6}", 1..8), seed in any::<prop::sample::Index>()) {
            let inputs = |paths: &[String]| {
                let mut inputs = Inputs::default();
                for path in paths {
                    inputs.files.insert(path.clone().into_bytes(), file(path, false));
                    inputs.platforms.insert(path.clone());
                }
                inputs
            };
            let mut turned = paths.clone();
            turned.rotate_left(seed.index(paths.len()));
            turned.reverse();
            prop_assert_eq!(inputs(&paths).list(), inputs(&turned).list());
            let list = inputs(&paths).list();
            let lines: Vec<&str> = list.lines().skip(1).collect();
            prop_assert!(lines.is_sorted());
        }
    }
}
