//! `reana-lock guard`: whether images may be built under the tags that they would have.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reana_images::{Change, Different, Ledger, Record, Reference, Seen, Unknown, Verdict, judge};
use reana_registry::{Error, Image, Scope};
use serde_json::{Value, json};

use super::record;
use crate::args::{Format, GuardArgs};
use crate::config::Config;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::guard::{Built, Candidate, Candidates, Refusal, ledger, short};
use crate::ui::Ui;

/// The verdicts, from the best to the worst: that of a fleet is the worst of its images'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Same,
    New,
    Unknown,
    Refused,
    Different,
}

impl Word {
    fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::New => "new",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
            Self::Different => "different",
        }
    }
}

/// What is said of one image.
struct Judged<'c> {
    candidate: &'c Candidate,
    word: Word,
    build: bool,
    exit: Exit,
    reasons: Vec<String>,
    advice: Vec<String>,
    warnings: Vec<String>,
    change: Option<Change>,
}

/// Judges what the arguments name.
pub(crate) fn run(args: &GuardArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    let candidates = Candidates::find(&args.image, env, ui)?;
    let ledgers = ledgers(&candidates, env)?;
    let seen = ask(&candidates, args.image.inputs.index.offline)?;
    let mut judged = Vec::new();
    for (candidate, seen) in candidates.all.iter().zip(seen) {
        let ledger = ledgers.get(&candidate.image.root);
        let mut it = one(candidate, seen.as_ref(), ledger, args);
        if args.adopt {
            it = adopted(it, seen.as_ref(), &candidates, env)?;
        }
        judged.push(it);
    }
    tell(&judged, args.image.inputs.format, ui);
    let is_wanting = judged.iter().any(|it| it.exit == Exit::Wanting);
    let worst = judged.iter().map(|it| it.exit).max().unwrap_or(Exit::Done);
    // A refusal beats an answer that can't be had (DESIGN decision 9).
    Ok(if is_wanting && worst == Exit::NoAnswer { Exit::Wanting } else { worst })
}

fn ledgers(candidates: &Candidates<'_>, env: &Env) -> Result<BTreeMap<PathBuf, Ledger>, Failure> {
    let mut ledgers = BTreeMap::new();
    for candidate in &candidates.all {
        let root = &candidate.image.root;
        if !ledgers.contains_key(root) {
            ledgers.insert(root.clone(), ledger::read(root, &env.cwd)?);
        }
    }
    Ok(ledgers)
}

/// Asks the registries about all images that have a name; `None` for those without.
fn ask(candidates: &Candidates<'_>, offline: bool) -> Result<Vec<Option<Seen>>, Failure> {
    let named = candidates.all.iter().map(|candidate| {
        let built = candidate.outcome.as_ref().ok()?;
        Some((&candidate.image.config, built.reference.clone()))
    });
    let named: Vec<Option<(&Config, Reference)>> = named.collect();
    if offline {
        let unasked = || Seen::NoAnswer("its registry is not asked (--offline)".to_owned());
        return Ok(named.iter().map(|named| named.as_ref().map(|_| unasked())).collect());
    }
    let asked: Vec<(&Config, Reference)> = named.iter().flatten().cloned().collect();
    let mut answers = candidates.clients.images(&asked, Scope::Labels)?.into_iter();
    Ok(named.iter().map(|named| named.as_ref().and_then(|_| answers.next()).map(seen)).collect())
}

fn seen(answer: Result<Option<Image>, Error>) -> Seen {
    match answer {
        Ok(None) => Seen::Absent,
        Err(error) => {
            let failure = Failure::from_registry(&error);
            let words = std::iter::once(error.kind.to_string()).chain(failure.hints);
            Seen::NoAnswer(words.collect::<Vec<_>>().join("; "))
        }
        Ok(Some(image)) => match (image.labels(), image.gone().next()) {
            (Some(labels), _) => {
                Seen::There { digest: image.digest.clone(), record: Record::from_labels(labels) }
            }
            (None, Some(gone)) => {
                Seen::NoAnswer(format!("its image {} is gone from the registry", gone.digest))
            }
            (None, None) => Seen::NoAnswer("it is an index without any image".to_owned()),
        },
    }
}

fn one<'c>(
    candidate: &'c Candidate,
    seen: Option<&Seen>,
    ledger: Option<&Ledger>,
    args: &GuardArgs,
) -> Judged<'c> {
    let mut judged = match (&candidate.outcome, seen) {
        (Ok(built), Some(seen)) => {
            let entry = ledger.and_then(|ledger| ledger.get(&built.reference));
            by_verdict(candidate, built, judge(&built.record, seen, entry), args)
        }
        (Err(failure), _) => by_failure(candidate, failure),
        (Ok(_), None) => by_failure(candidate, &Failure::internal("its registry was not asked")),
    };
    if !candidate.refusals.is_empty() && judged.word < Word::Different {
        judged.word = Word::Refused;
        judged.exit = Exit::Wanting;
        judged.build = false;
        judged.reasons = candidate.refusals.iter().map(|Refusal { reason, .. }| reason.clone()).collect();
        judged.advice = candidate.refusals.iter().map(|Refusal { advice, .. }| advice.clone()).collect();
        judged.advice.dedup();
    }
    judged
}

fn by_failure<'c>(candidate: &'c Candidate, failure: &Failure) -> Judged<'c> {
    Judged {
        candidate,
        word: Word::Unknown,
        build: false,
        exit: failure.exit,
        reasons: vec![failure.message.clone()],
        advice: failure.hints.clone(),
        warnings: Vec::new(),
        change: None,
    }
}

fn by_verdict<'c>(candidate: &'c Candidate, built: &Built, verdict: Verdict, args: &GuardArgs) -> Judged<'c> {
    let mut judged = Judged {
        candidate,
        word: Word::New,
        build: true,
        exit: Exit::Done,
        reasons: Vec::new(),
        advice: Vec::new(),
        warnings: built.notes.clone(),
        change: None,
    };
    if candidate.is_dirty() {
        judged
            .warnings
            .push("tracked files have uncommitted changes, which the tag does not tell".to_owned());
    }
    match verdict {
        Verdict::New => {}
        Verdict::Same { rebuilt } => {
            judged.word = Word::Same;
            judged.build = args.allow_rebuild;
            if args.allow_rebuild {
                judged.warnings.push(format!(
                    "{} stands for these inputs already: what is built again has another digest under the same tag",
                    built.reference
                ));
            } else {
                judged.reasons.push("these inputs are there already: don't build or push".to_owned());
            }
            if let Some(digest) = rebuilt {
                judged.warnings.push(format!(
                    "the registry has {} under this tag, built from the same inputs, and the ledger another one: \
                     `reana-lock record` records it",
                    short(&digest)
                ));
            }
        }
        Verdict::Different(different) => {
            judged.word = Word::Different;
            judged.build = false;
            judged.exit = Exit::Wanting;
            differ(&mut judged, built, different);
        }
        Verdict::Unknown(unknown) => {
            judged.word = Word::Unknown;
            judged.build = false;
            judged.exit = Exit::NoAnswer;
            if unknown.can_be_adopted().is_some() {
                judged.advice.push(
                    "`--adopt` records it as built from what is here, if you know that it was".to_owned(),
                );
            }
            judged.reasons.push(unknown.to_string());
        }
    }
    judged
}

fn differ(judged: &mut Judged<'_>, built: &Built, different: Different) {
    match different {
        Different::Inputs(mut change) => {
            change.put_first(&judged.candidate.direct);
            judged.reasons.push(format!("{change} under the unchanged tag {}", built.tag));
            judged.advice = change.advice(&judged.candidate.direct);
            judged.change = Some(change);
        }
        Different::Sources { registry, ledger } => {
            judged.reasons.push(format!(
                "the registry has {} under the tag {}, and the ledger {}: the tag was moved",
                short(&registry),
                built.tag,
                short(&ledger)
            ));
            judged.advice.push("make a new commit, so that the build has a tag of its own".to_owned());
        }
    }
}

/// Records an image without labels as built from what is here.
fn adopted<'c>(
    judged: Judged<'c>,
    seen: Option<&Seen>,
    candidates: &Candidates<'_>,
    env: &Env,
) -> Result<Judged<'c>, Failure> {
    let (Ok(built), Some(Seen::There { record: Err(error), digest })) = (&judged.candidate.outcome, seen)
    else {
        return Ok(judged);
    };
    let unknown = Unknown::Labels { digest: digest.clone(), error: error.clone() };
    if judged.word != Word::Unknown || unknown.can_be_adopted().is_none() {
        return Ok(judged);
    }
    if judged.candidate.is_dirty() {
        let mut judged = judged;
        judged.advice = vec!["it is not adopted from a tree with uncommitted changes".to_owned()];
        return Ok(judged);
    }
    let client = candidates.clients.of(&judged.candidate.image.config)?;
    let image = record::pushed(built, &client)?;
    let entry = record::entry(&image, &built.record);
    ledger::update(&judged.candidate.image.root, &env.cwd, |ledger| {
        ledger.set(&built.reference, entry);
        Ok(())
    })?;
    let reasons = vec![format!("{} is adopted: recorded as built from what is here", short(&image.digest))];
    Ok(Judged { word: Word::Same, exit: Exit::Done, reasons, advice: Vec::new(), ..judged })
}

fn tell(judged: &[Judged<'_>], format: Format, ui: &Ui) {
    for it in judged {
        it.warnings.iter().for_each(|warning| ui.warn(&format!("{}: {warning}", it.candidate.name())));
    }
    match format {
        Format::Text => judged.iter().for_each(|it| ui.data(&it.text())),
        Format::Github => {
            judged.iter().filter(|it| it.exit != Exit::Done).for_each(|it| ui.data(&it.github()));
        }
        Format::Json => {
            let worst = judged.iter().map(|it| it.word).max().unwrap_or(Word::Same);
            let is_good = judged.iter().all(|it| it.exit == Exit::Done);
            let all = json!({
                "verdict": worst.as_str(),
                "build": is_good && judged.iter().any(|it| it.build),
                "images": judged.iter().map(Judged::json).collect::<Vec<_>>(),
            });
            ui.data(&format!("{all:#}\n"));
        }
    }
}

impl Judged<'_> {
    fn tag(&self) -> String {
        let built = self.candidate.outcome.as_ref().ok();
        built.map_or_else(String::new, |built| format!(" {}", built.tag))
    }

    fn text(&self) -> String {
        let reasons = self.reasons.join("; ");
        let colon = if reasons.is_empty() { "" } else { ": " };
        let mut text =
            format!("{}{} {}{colon}{reasons}\n", self.candidate.name(), self.tag(), self.word.as_str());
        for advice in &self.advice {
            text.push_str(&format!("  {advice}\n"));
        }
        text
    }

    fn github(&self) -> String {
        let file = self.candidate.image.member.path_shown("Dockerfile");
        let lines = self.reasons.iter().chain(&self.advice).cloned().collect::<Vec<_>>().join("\n");
        let lines = lines.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
        format!(
            "::error file={file},title={}{} {}::{lines}\n",
            self.candidate.name(),
            self.tag(),
            self.word.as_str()
        )
    }

    fn json(&self) -> Value {
        let built = self.candidate.outcome.as_ref().ok();
        let pairs = |list: &[(String, String, String)]| {
            let each = list.iter().map(|(name, old, new)| json!({ "name": name, "old": old, "new": new }));
            each.collect::<Vec<_>>()
        };
        let change = self.change.as_ref().map(|change| {
            json!({
                "packages": pairs(&change.packages),
                "added": change.added,
                "removed": change.removed,
                "bases": pairs(&change.moved_bases),
                "others": change.others,
            })
        });
        json!({
            "component": self.candidate.name(),
            "image": built.map(|built| built.reference.to_string()),
            "tag": built.map(|built| built.tag.as_str()),
            "inputs": built.map(|built| built.record.inputs.as_str()),
            "verdict": self.word.as_str(),
            "build": self.build,
            "exit": self.exit as u8,
            "reasons": self.reasons,
            "advice": self.advice,
            "change": change,
            "warnings": self.warnings,
        })
    }
}
