//! The dependency set of a build: the lock's pins where they are what is installed, else what a resolve gives now.

use std::collections::BTreeSet;
use std::path::PathBuf;

use reana_images::PackageInput;
use reana_lockfile::{Lock, marker_text, without_credentials};
use reana_model::{MarkerTree, PackageName, PinSource, Sha256, Version};

use super::{Gathered, Half, PackagesFrom, Question};
use crate::args::{CompileArgs, Hashes, OutputArgs, ResolveArgs};
use crate::commands::compile;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::build::Place;
use crate::doors::disk;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::fleet::images::Image;
use crate::fleet::{Plan, UnitKind};
use crate::lock::prepare::{self, Prepared};
use crate::ui::Ui;

/// What the packages are to be taken from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    /// They are there already, or there are none.
    #[default]
    Done,
    /// A resolve of the manifests; old pins are kept where the build installs from the lock.
    Manifests {
        /// Whether old pins are kept.
        keeps_pins: bool,
    },
    /// A resolve of what the build installs from: no manifest is there.
    File(PathBuf),
}

/// Takes the lock's pins, or says what is to be resolved.
pub(super) fn source(image: &Image, dockerfile: &str, gathered: &mut Gathered) -> Result<Source, Failure> {
    let member = &image.member;
    let path = member.lock(&image.config);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let line = Dockerfile::parse(dockerfile).installs_from(&name);
    let text = disk::read_if_there(&path).map_err(|error| Failure::from_disk(&error))?;
    let shown = member.path_shown(&crate::paths::relative(&path, &member.folder));
    let lock = text.map(|text| reana_lockfile::parse(&String::from_utf8_lossy(&text), shown.as_str()));
    match (line, lock) {
        // No resolve gives what a preview pins. It is told as one, and no build of it passes `guard`.
        (Some(line), Some(lock)) if is_hashed(&lock) || is_whole_preview(&lock) => {
            if lock.preview.is_some() {
                let what = format!("{shown} is a preview: no hash covers its local checkouts");
                gathered.unpinned.push(Place { line, what });
            }
            gathered.inputs.packages = pins(&lock);
            gathered.packages_from = PackagesFrom::Lock;
            Ok(Source::Done)
        }
        (Some(line), Some(lock)) => {
            let what = match lock.problems.first() {
                Some(problem) => format!("{shown} is no whole lock ({problem})"),
                None => format!("{shown} has pins without hashes"),
            };
            gathered
                .unpinned
                .push(Place { line, what: format!("{what}: what is installed is resolved now") });
            if member.has_manifest {
                Ok(Source::Manifests { keeps_pins: true })
            } else {
                Ok(Source::File(path))
            }
        }
        (line, _) if member.has_manifest => Ok(Source::Manifests { keeps_pins: line.is_some() }),
        _ => Ok(Source::Done),
    }
}

/// Whether pip would install from it with hashes checked, which it does for all packages or none.
fn is_hashed(lock: &Lock) -> bool {
    lock.problems.is_empty() && lock.unnamed.is_empty() && lock.pins.iter().all(|pin| !pin.hashes.is_empty())
}

fn is_whole_preview(lock: &Lock) -> bool {
    lock.preview.is_some() && lock.problems.is_empty() && lock.unnamed.is_empty()
}

fn pins(lock: &Lock) -> BTreeSet<PackageInput> {
    let pins = lock.pins.iter();
    pins.map(|pin| package(&pin.name, pin.version.as_ref(), &pin.source, &pin.marker, &pin.hashes)).collect()
}

fn package(
    name: &PackageName,
    version: Option<&Version>,
    source: &PinSource,
    marker: &MarkerTree,
    hashes: &BTreeSet<Sha256>,
) -> PackageInput {
    let pin = match (source, version) {
        (PinSource::Arbitrary(text), _) => format!("{name}==={text}"),
        (PinSource::Url(url), _) => format!("{name} @ {}", without_credentials(url)),
        (PinSource::Verbatim(text), _) => without_credentials(text),
        (PinSource::Index, Some(version)) => format!("{name}=={version}"),
        (PinSource::Index, None) => name.to_string(),
    };
    let marker = marker_text(marker).unwrap_or_default();
    PackageInput { name: Some(name.clone()), pin, marker, hashes: hashes.clone() }
}

/// Resolves what is to be resolved, all together.
pub(super) fn fill(
    images: &[Image],
    all: &mut [Result<Half, Failure>],
    question: &Question<'_>,
    env: &Env,
    ui: &Ui,
) -> Result<(), Failure> {
    let mut waiting: Vec<(usize, Prepared, Plan)> = Vec::new();
    for (at, (image, result)) in images.iter().zip(all.iter_mut()).enumerate() {
        let Ok((gathered, source)) = result else { continue };
        if *source == Source::Done {
            continue;
        }
        match prepared(image, source, question, env) {
            Ok((prepared, plan)) => {
                gathered.packages_from = PackagesFrom::Resolve;
                waiting.push((at, prepared, plan));
            }
            Err(failure) => *result = Err(failure),
        }
    }
    while let Some((_, _, plan)) = waiting.first() {
        // One client is for one set of settings.
        let plan = plan.clone();
        let (now, later): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, _, other)| other.config == plan.config);
        waiting = later;
        let (places, ready): (Vec<usize>, Vec<Prepared>) =
            now.into_iter().map(|(at, prepared, _)| (at, prepared)).unzip();
        let jobs = compile::jobs(ready, &compile_args(question, false), &plan, env, ui)?;
        ui.start_progress();
        let solved = compile::solve_all(&jobs, &[], ui);
        ui.end_progress();
        for (at, solved) in places.into_iter().zip(solved) {
            let Some(slot) = all.get_mut(at) else { continue };
            match (solved, slot) {
                (Ok(locked), Ok((gathered, _))) => {
                    let pins = locked.pins.iter();
                    gathered.inputs.packages = pins
                        .map(|pin| {
                            package(&pin.name, Some(&pin.version), &pin.source, &pin.marker, &pin.hashes)
                        })
                        .collect();
                }
                (Err(failure), slot) => *slot = Err(failure),
                (Ok(_), Err(_)) => {}
            }
        }
    }
    Ok(())
}

fn prepared(
    image: &Image,
    source: &Source,
    question: &Question<'_>,
    env: &Env,
) -> Result<(Prepared, Plan), Failure> {
    let mut unit = image.member.unit(&image.config);
    if let Source::File(path) = source {
        let file = path.strip_prefix(&image.member.folder).unwrap_or(path).to_path_buf();
        unit.kind = UnitKind::Files(vec![file]);
        unit.lock = None;
    }
    let args = compile_args(question, *source == Source::Manifests { keeps_pins: true });
    let plan = Plan {
        fleet_root: Some(image.root.clone()),
        config: image.config.clone(),
        units: vec![unit],
        notes: Vec::new(),
    };
    let mut ready = prepare::all(&plan, &args, env)?;
    let mut prepared = ready.pop().ok_or_else(|| Failure::internal("nothing was prepared"))?;
    prepared.build = None;
    Ok((prepared, plan))
}

/// What `compile` would be called with.
fn compile_args(question: &Question<'_>, keeps_pins: bool) -> CompileArgs {
    let build = question.args;
    // `linux/arm64/v8`: wheels know no variants.
    let platform = |name: &String| name.trim().splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
    CompileArgs {
        what: Vec::new(),
        output: OutputArgs {
            output_file: Some("-".to_owned()),
            hashes: Some(Hashes::Target),
            ..OutputArgs::default()
        },
        resolve: ResolveArgs {
            upgrade: !keeps_pins,
            extra: build.extra.clone(),
            python_version: build.python_version.clone(),
            platform: build.platform.iter().map(platform).collect(),
            allow_build: build.allow_build.clone(),
            skip_unreadable: build.skip_unreadable.clone(),
            ..ResolveArgs::default()
        },
        index: question.index.clone(),
    }
}
