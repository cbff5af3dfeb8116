//! What goes into the build of an image, gathered: files after .dockerignore, arguments, base images, packages.

mod context;
mod packages;

use std::collections::{BTreeMap, BTreeSet};

use reana_images::{Digest, Inputs, Reference};

use crate::args::{BuildArgs, IndexArgs};
use crate::config::Config;
use crate::dockerfile::build::{self, Outside, Place};
use crate::doors::env::{self, Env};
use crate::error::Failure;
use crate::fleet::images::Image;
use crate::ui::Ui;

/// Says which digest an image has now, by the settings that hold and its name and tag; or in words why that is not to be
/// had.
pub(crate) type Lookup<'a> = dyn Fn(&Config, &Reference) -> Result<Digest, String> + Sync + 'a;

/// Nobody is asked.
pub(crate) fn unasked(_: &Config, _: &Reference) -> Result<Digest, String> {
    Err("its registry is not asked (--offline)".to_owned())
}

/// What a build is told, understood.
#[derive(Clone, Debug, Default)]
pub(crate) struct Build {
    /// `--build-arg`, those with a value.
    pub(crate) args: BTreeMap<String, String>,
    /// `--platform`.
    pub(crate) platforms: BTreeSet<String>,
    /// `--base`.
    pub(crate) bases: BTreeMap<Reference, Digest>,
}

/// Where the dependency set comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PackagesFrom {
    /// There is none: no manifest, no lock.
    #[default]
    Nothing,
    /// The lock, which has all hashes and is installed from.
    Lock,
    /// What a resolve gives now.
    Resolve,
}

/// A base image as the Dockerfile names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// Its line in the Dockerfile.
    pub(crate) line: u32,
    /// As it is written there.
    pub(crate) written: String,
    /// Its digest, or why there is none.
    pub(crate) digest: Result<Digest, String>,
}

/// What goes into one image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    /// The repository's name.
    pub(crate) name: String,
    /// Its Dockerfile as the user sees it.
    pub(crate) dockerfile: String,
    /// What counts. Not whole where a base image has no digest: ask [`Gathered::digest`].
    pub(crate) inputs: Inputs,
    /// The base images.
    pub(crate) bases: Vec<Base>,
    /// Where the packages come from.
    pub(crate) packages_from: PackagesFrom,
    /// What no list can pin.
    pub(crate) unpinned: Vec<Place>,
    /// Files that count and that git ignores.
    pub(crate) ignored: Vec<Vec<u8>>,
    /// Files that count and that git does not track.
    pub(crate) untracked: Vec<Vec<u8>>,
    /// Shared packages that are built from `modules/`: an image with any must not have a release's tag.
    pub(crate) modules: Vec<String>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl Gathered {
    /// The inputs digest.
    ///
    /// # Errors
    /// A base image's digest is not known, so that the digest is not, either.
    pub(crate) fn digest(&self) -> Result<Digest, Failure> {
        let unknown = self.bases.iter().filter_map(|base| {
            let why = base.digest.as_ref().err()?;
            Some(format!("{}:{}: {}: not pinned: {why}", self.dockerfile, base.line, base.written))
        });
        let unknown: Vec<String> = unknown.collect();
        if unknown.is_empty() {
            return Ok(self.inputs.digest());
        }
        let message = format!("{}: no inputs digest: {}", self.name, unknown.join("; "));
        Err(Failure::no_answer(message).hint(
            "write the digest into the Dockerfile (`FROM name:tag@sha256:...`), or give it by `--base IMAGE=DIGEST`",
        ))
    }
}

impl Build {
    /// Understands what was typed. An argument without a value has that of the environment, or none.
    pub(crate) fn of(args: &BuildArgs) -> Result<Self, Failure> {
        let mut build = Self::default();
        for given in &args.build_arg {
            let (name, value) = match given.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (given.as_str(), env::variable(given)),
            };
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err(Failure::input(format!("--build-arg: `{given}` is no NAME=VALUE")));
            }
            match value {
                Some(value) => drop(build.args.insert(name.to_owned(), value)),
                None => drop(build.args.remove(name)),
            }
        }
        build.platforms = args.platform.iter().map(|name| name.trim().to_owned()).collect();
        if build.platforms.contains("") {
            return Err(Failure::input("--platform: an empty name is no platform"));
        }
        for given in &args.base {
            let wrong = |why: String| Failure::input(format!("--base: `{given}`: {why}"));
            let (image, digest) =
                given.rsplit_once('=').ok_or_else(|| wrong("IMAGE=DIGEST is expected".to_owned()))?;
            let image: Reference = image.parse().map_err(|error| wrong(format!("{error}")))?;
            let digest: Digest = digest.parse().map_err(|error| wrong(format!("{error}")))?;
            build.bases.insert(Reference { digest: None, ..image }, digest);
        }
        Ok(build)
    }
}

/// What is asked of all images together.
pub(crate) struct Question<'a> {
    /// What the build is told.
    pub(crate) args: &'a BuildArgs,
    /// Where packages come from.
    pub(crate) index: &'a IndexArgs,
    /// Who knows digests of base images.
    pub(crate) lookup: &'a Lookup<'a>,
}

/// Gathers what goes into each of these images; the results are in their order. One catalog serves all that are
/// resolved.
pub(crate) fn inputs_of(
    images: &[Image],
    question: &Question<'_>,
    env: &Env,
    ui: &Ui,
) -> Result<Vec<Result<Gathered, Failure>>, Failure> {
    let build = Build::of(question.args)?;
    let mut all = each(images, &|image| one(image, &build, question.lookup));
    packages::fill(images, &mut all, question, env, ui)?;
    Ok(all.into_iter().map(|result| result.map(|(gathered, _)| gathered)).collect())
}

/// A gathered image, and what its packages are to be taken from.
type Half = (Gathered, packages::Source);

/// Does the same for all images, a few at a time.
fn each(
    images: &[Image],
    work: &(dyn Fn(&Image) -> Result<Half, Failure> + Sync),
) -> Vec<Result<Half, Failure>> {
    const MOST: usize = 8;
    let mut results = Vec::new();
    for some in images.chunks(MOST) {
        std::thread::scope(|scope| {
            let threads: Vec<_> = some.iter().map(|image| scope.spawn(move || work(image))).collect();
            let lost = || Err(Failure::internal("an image was not looked at"));
            results.extend(threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())));
        });
    }
    results
}

/// All but what is resolved.
fn one(image: &Image, build: &Build, lookup: &Lookup<'_>) -> Result<Half, Failure> {
    let member = &image.member;
    let shown = member.path_shown("Dockerfile");
    let text = context::dockerfile(member)?;
    let lock = member.lock(&image.config);
    let lock_name = lock.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let outside = build::outside(&text, &build.args, &build.platforms, &lock_name);
    if !outside.has_stage {
        return Err(Failure::input(format!("{shown}: no image can be built from it: it has no FROM")));
    }
    let mut gathered =
        Gathered { name: member.name.clone(), dockerfile: shown.clone(), ..Gathered::default() };
    context::fill(member, &mut gathered)?;
    gathered.inputs.build_args = counted_args(build, &outside);
    gathered.inputs.platforms.clone_from(&build.platforms);
    fill_bases(&mut gathered, &outside, build, &|name| lookup(&image.config, name))?;
    gathered.unpinned.extend(outside.unpinned);
    let source = packages::source(image, &text, &mut gathered)?;
    Ok((gathered, source))
}

/// The arguments that count: those for proxies don't, unless the Dockerfile declares them.
fn counted_args(build: &Build, outside: &Outside) -> BTreeMap<String, String> {
    const PROXIES: [&str; 5] = ["http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"];
    let counts =
        |name: &String| outside.arguments.contains(name) || !PROXIES.contains(&name.to_lowercase().as_str());
    build
        .args
        .iter()
        .filter(|(name, _)| counts(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn fill_bases(
    gathered: &mut Gathered,
    outside: &Outside,
    build: &Build,
    lookup: &dyn Fn(&Reference) -> Result<Digest, String>,
) -> Result<(), Failure> {
    let mut asked: BTreeMap<Reference, Result<Digest, String>> = BTreeMap::new();
    for Place { line, what } in &outside.images {
        let place = format!("{}:{line}", gathered.dockerfile);
        if what.contains('$') {
            return Err(Failure::input(format!("{place}: no value is known for a variable in `{what}`"))
                .hint("give it as the build is given it: `--build-arg NAME=VALUE`, or `--platform` for one of the builder's own"));
        }
        let whole: Reference = what.parse().map_err(|error| Failure::input(format!("{place}: {error}")))?;
        let name = Reference { digest: None, ..whole.clone() };
        let digest = match (whole.digest, build.bases.get(&name)) {
            (Some(digest), _) => Ok(digest),
            (None, Some(digest)) => Ok(digest.clone()),
            (None, None) => asked.entry(name.clone()).or_insert_with(|| lookup(&name)).clone(),
        };
        if let Ok(digest) = &digest {
            gathered.inputs.bases.insert(name, digest.clone());
        }
        gathered.bases.push(Base { line: *line, written: what.clone(), digest });
    }
    Ok(())
}
