//! The solver's decisions as text (`--trace`): one a line, in their order.

use std::fmt::Write as _;

use reana_model::Target;
use reana_resolver::TraceStep;

use super::prepare::Prepared;

/// The decisions for all targets of a lock.
pub(crate) fn text(prepared: &Prepared, trace: &[(Target, Vec<TraceStep>)]) -> String {
    let mut out = String::new();
    let lock = if prepared.name.is_empty() { &prepared.lock_shown } else { &prepared.name };
    for (target, steps) in trace {
        let _ = writeln!(out, "# {lock}, {target}");
        for step in steps {
            let version =
                step.version.as_ref().map_or_else(|| "none is left".to_owned(), ToString::to_string);
            let because = step.because.replace(char::is_control, " ");
            let because = if because.is_empty() { String::new() } else { format!(": {because}") };
            let _ = writeln!(out, "{} {version}{because}", step.what);
        }
    }
    out
}
