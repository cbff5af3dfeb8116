//! What was learnt from sdists, kept under their sha256 (and the project's folder in them): static facts for good and for
//! every target, evaluated ones for the evaluator's version and for what was consulted of the target.

use reana_model::{ExtraName, Grade, Metadata, Origin, PackageName, Requirement, Sha256, Source, Target};
use rkyv::{Archive, Deserialize, Serialize, rancor};

use crate::cache::{Bucket, Cache};
use crate::sdist::{BuildAnswer, BuildRequirements, EVALUATOR_VERSION, SdistAnswer};

#[derive(Archive, Serialize, Deserialize)]
enum Stored {
    Known(StoredMetadata),
    Unreadable(String),
    Invalid(String),
}

#[derive(Archive, Serialize, Deserialize)]
enum StoredBuild {
    Known { backend: String, requires: Vec<StoredRequirement>, open: Vec<String> },
    Unknown(String),
}

/// A requirement in canonical form, the text it is shown as, and where it was written.
type StoredRequirement = (String, String, String, u32);

#[derive(Archive, Serialize, Deserialize)]
struct StoredMetadata {
    name: String,
    version: String,
    requires_dist: Vec<StoredRequirement>,
    requires_python: Option<String>,
    provides_extra: Vec<String>,
    grade: u8,
    is_static: bool,
    consulted: (bool, bool),
}

/// The grades that an sdist's metadata can have; the place is what is stored.
const GRADES: [Grade; 6] = [
    Grade::Static,
    Grade::Pyproject,
    Grade::Evaluated,
    Grade::EvaluatedDisagrees,
    Grade::EggInfo,
    Grade::Built,
];

/// What answers of an archive are told apart by: its sha256, and the project's folder where that is not its top.
pub(crate) fn archive_key(sha256: Sha256, folder: &str) -> String {
    match folder {
        "" => sha256.to_string(),
        folder => format!("{sha256}-{}", Sha256::of(folder.as_bytes())),
    }
}

/// The keys under which an answer for a target may stand.
fn keys(archive: &str, target: Target) -> [String; 5] {
    let [python, platform] = [target.python.to_string(), target.platform.machine().to_owned()];
    let evaluated = |rest: &str| format!("{archive}.{EVALUATOR_VERSION}{rest}");
    [
        format!("{archive}.static"),
        evaluated(""),
        evaluated(&format!(".{python}")),
        evaluated(&format!(".{platform}")),
        evaluated(&format!(".{python}.{platform}")),
    ]
}

/// The answer that is kept for a target.
pub(crate) fn read(cache: &Cache, archive: &str, target: Target, file: &str) -> Option<SdistAnswer> {
    keys(archive, target).iter().find_map(|key| {
        let bytes = cache.read(Bucket::Sdists, key)?;
        let mut aligned: rkyv::util::AlignedVec = rkyv::util::AlignedVec::with_capacity(bytes.len());
        aligned.extend_from_slice(&bytes);
        rkyv::from_bytes::<Stored, rancor::Error>(&aligned).ok()?.into_answer(file)
    })
}

/// Keeps an answer.
pub(crate) fn write(cache: &Cache, archive: &str, target: Target, answer: &SdistAnswer) {
    let [is_static, any, python, platform, both] = keys(archive, target);
    let key = match answer {
        SdistAnswer::Known { is_static: true, .. } => is_static,
        SdistAnswer::Known { consulted_python, consulted_platform, .. } => {
            match (consulted_python, consulted_platform) {
                (false, false) => any,
                (true, false) => python,
                (false, true) => platform,
                (true, true) => both,
            }
        }
        _ => both,
    };
    let Some(stored) = Stored::of(answer) else { return };
    if let Ok(bytes) = rkyv::to_bytes::<rancor::Error>(&stored) {
        cache.write(Bucket::Sdists, &key, &[&bytes]);
    }
}

impl Stored {
    fn of(answer: &SdistAnswer) -> Option<Self> {
        Some(match answer {
            SdistAnswer::Known { metadata, consulted_python, consulted_platform, is_static } => {
                let grade = GRADES.iter().position(|grade| *grade == metadata.grade)?;
                Self::Known(StoredMetadata {
                    name: metadata.name.to_string(),
                    version: metadata.version.to_string(),
                    requires_dist: metadata.requires_dist.iter().map(canonical).collect(),
                    requires_python: metadata.requires_python.as_ref().map(ToString::to_string),
                    provides_extra: metadata.provides_extra.iter().map(ToString::to_string).collect(),
                    grade: u8::try_from(grade).ok()?,
                    is_static: *is_static,
                    consulted: (*consulted_python, *consulted_platform),
                })
            }
            SdistAnswer::Unreadable { reason } => Self::Unreadable(reason.clone()),
            SdistAnswer::Invalid { reason } => Self::Invalid(reason.clone()),
        })
    }

    fn into_answer(self, file: &str) -> Option<SdistAnswer> {
        let stored = match self {
            Self::Known(stored) => stored,
            Self::Unreadable(reason) => return Some(SdistAnswer::Unreadable { reason }),
            Self::Invalid(reason) => return Some(SdistAnswer::Invalid { reason }),
        };
        let read = |stored| requirement(stored, file);
        let metadata = Metadata {
            name: PackageName::new(stored.name).ok()?,
            version: stored.version.parse().ok()?,
            requires_dist: stored.requires_dist.into_iter().map(read).collect::<Option<_>>()?,
            requires_python: match stored.requires_python {
                None => None,
                Some(text) => Some(text.parse().ok()?),
            },
            provides_extra: stored
                .provides_extra
                .into_iter()
                .map(|extra| ExtraName::new(extra).ok())
                .collect::<Option<_>>()?,
            grade: *GRADES.get(usize::from(stored.grade))?,
        };
        let (consulted_python, consulted_platform) = stored.consulted;
        Some(SdistAnswer::Known {
            metadata,
            consulted_python,
            consulted_platform,
            is_static: stored.is_static,
        })
    }
}

fn requirement((canonical, text, place, line): StoredRequirement, file: &str) -> Option<Requirement> {
    let place = if place.is_empty() { file.to_owned() } else { place };
    let requirement = Requirement::parse(&canonical, Origin::new(place, line)).ok()?;
    Some(Requirement { text, ..requirement })
}

/// The key of what a build needs. What was consulted of the target is not told apart: builds are few.
fn build_key(archive: &str, target: Target) -> String {
    format!("{archive}.build{EVALUATOR_VERSION}.{}.{}", target.python, target.platform.machine())
}

/// What is kept of an sdist's build, for a target.
pub(crate) fn read_build(cache: &Cache, archive: &str, target: Target, file: &str) -> Option<BuildAnswer> {
    let bytes = cache.read(Bucket::Sdists, &build_key(archive, target))?;
    let mut aligned: rkyv::util::AlignedVec = rkyv::util::AlignedVec::with_capacity(bytes.len());
    aligned.extend_from_slice(&bytes);
    Some(match rkyv::from_bytes::<StoredBuild, rancor::Error>(&aligned).ok()? {
        StoredBuild::Known { backend, requires, open } => {
            let requires = requires.into_iter().map(|stored| requirement(stored, file));
            BuildAnswer::Known(BuildRequirements {
                backend,
                requires: requires.collect::<Option<_>>()?,
                open,
            })
        }
        StoredBuild::Unknown(reason) => BuildAnswer::Unknown(reason),
    })
}

/// Keeps what is known of an sdist's build.
pub(crate) fn write_build(cache: &Cache, archive: &str, target: Target, answer: &BuildAnswer) {
    let stored = match answer {
        BuildAnswer::Known(needs) => StoredBuild::Known {
            backend: needs.backend.clone(),
            requires: needs.requires.iter().map(canonical).collect(),
            open: needs.open.clone(),
        },
        BuildAnswer::Unknown(reason) => StoredBuild::Unknown(reason.clone()),
    };
    if let Ok(bytes) = rkyv::to_bytes::<rancor::Error>(&stored) {
        cache.write(Bucket::Sdists, &build_key(archive, target), &[&bytes]);
    }
}

/// A requirement as PEP 508 text that means the same: its own text may lack a marker that came from its place.
fn canonical(requirement: &Requirement) -> StoredRequirement {
    let extras = match requirement.extras.as_slice() {
        [] => String::new(),
        extras => format!("[{}]", extras.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
    };
    let source = match &requirement.source {
        Source::Index(specifiers) => specifiers.to_string(),
        Source::Direct(direct) => format!(" @ {} ", direct.url),
    };
    let marker = requirement.marker.try_to_string().map(|it| format!(" ; {it}")).unwrap_or_default();
    let origin = &requirement.origin;
    let text = format!("{}{extras}{source}{marker}", requirement.name);
    (text, requirement.text.clone(), origin.file.to_string(), origin.line)
}
