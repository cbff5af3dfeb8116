//! `reana-lock running`: which content runs, per job and pod, and where a tag stands for several.

use reana_images::running::{Cluster, Selector};

use crate::args::{Format, RunningArgs};
use crate::doors::cluster::{self, ClusterError, Question};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::running::{drift, pods, trace};
use crate::ui::Ui;

/// Shows what runs.
pub(crate) fn run(args: &RunningArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for what is found in files"));
    }
    let cluster = if args.input.is_empty() { ask(args, ui)? } else { read(args, ui, env)? };
    if args.drift {
        return drift::run(args, ui, env, &cluster);
    }
    let traced = if args.trace { Some(trace::trace(args, ui, env, &cluster)?) } else { None };
    match args.format {
        Format::Json => ui.data(&format!("{:#}\n", pods::json(&cluster, args.nodes, traced.as_ref()))),
        Format::Text | Format::Github => ui.data(&pods::text(&cluster, args.nodes, traced.as_ref())),
    }
    if traced.is_some_and(|traced| traced.is_unanswered) {
        return Ok(Exit::NoAnswer);
    }
    if cluster.pods.is_empty() {
        ui.note("no pod was found");
    }
    Ok(Exit::Done)
}

/// What kubectl says. Nodes are asked for where they tell something; who may not see them goes on without.
fn ask(args: &RunningArgs, ui: &Ui) -> Result<Cluster, Failure> {
    let question = Question {
        kubeconfig: args.kubeconfig.as_deref(),
        context: args.context.as_deref(),
        timeout: args.timeout,
    };
    let place =
        args.namespace.as_ref().map_or("--all-namespaces".to_owned(), |name| format!("--namespace={name}"));
    let selector = args.selector.as_ref().map(|selector| format!("--selector={selector}"));
    let words: Vec<&str> = ["pods", place.as_str()].into_iter().chain(selector.as_deref()).collect();
    let mut cluster = Cluster::default();
    add(&mut cluster, &cluster::get(&question, &words).map_err(|error| Failure::from_cluster(&error))?)?;
    if args.drift {
        match cluster::get(&question, &["nodes"]) {
            Ok(answer) => add(&mut cluster, &answer)?,
            Err(ClusterError::Forbidden { said, .. }) => ui.warn(&format!(
                "nodes can't be seen, so that only what pods run is compared, and only by the digest that each \
                 reports: {said}"
            )),
            Err(error) => return Err(Failure::from_cluster(&error)),
        }
    }
    Ok(cluster)
}

fn add(cluster: &mut Cluster, answer: &[u8]) -> Result<(), Failure> {
    cluster
        .read(answer)
        .map_err(|error| Failure::no_answer(format!("what kubectl says can't be read: {error}")))
}

/// What files say. The namespace and the labels are looked at here, as kubectl would have.
fn read(args: &RunningArgs, ui: &Ui, env: &Env) -> Result<Cluster, Failure> {
    let selector = args.selector.as_deref().map(str::parse::<Selector>).transpose();
    let selector =
        selector.map_err(|error| Failure::input(format!("--selector: {error}")))?.unwrap_or_default();
    let mut cluster = Cluster::default();
    for name in &args.input {
        let text = cluster::read(&env.cwd, name).map_err(|error| Failure::from_cluster(&error))?;
        let shown = if name == "-" { "stdin" } else { name };
        cluster.read(&text).map_err(|error| {
            Failure::input(format!("{shown}: {error}")).hint(
                "what is wanted is the answer of `kubectl get pods --all-namespaces -o json`, of `kubectl get nodes \
                 -o json`, or both",
            )
        })?;
    }
    cluster.pods.retain(|pod| {
        let is_there = args.namespace.as_ref().is_none_or(|namespace| *namespace == pod.namespace);
        is_there && selector.takes(&pod.labels)
    });
    if !cluster.passed_over.is_empty() {
        let kinds: Vec<String> =
            cluster.passed_over.iter().map(|(kind, count)| format!("{count} of kind {kind}")).collect();
        ui.note(&format!("passed over, as neither pods nor nodes: {}", kinds.join(", ")));
    }
    Ok(cluster)
}
