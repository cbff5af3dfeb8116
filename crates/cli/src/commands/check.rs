//! `reana-lock check`: whether locks hold, for CI. `compile --check` is the same.

use crate::args::{CheckArgs, CompileArgs};
use crate::check::{examine, report};
use crate::commands::compile;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::fleet::{self, Plan};
use crate::ui::Ui;

/// Checks what the arguments name. Writes nothing.
pub(crate) fn run(args: &CheckArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    let args = CompileArgs::from(args.clone());
    let plan = fleet::discover(&args.what, &env.cwd).map_err(|error| Failure::from_fleet(&error))?;
    compile::check_usage(&args, &plan)?;
    plan.notes.iter().for_each(|note| note.tell(ui));
    all(&plan, &args, ui, env)
}

/// Checks a plan's locks and tells what was found.
pub(crate) fn all(plan: &Plan, args: &CompileArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    let examined = examine::examine(plan, args, ui, env)?;
    let several = examined.checked.len() > 1;
    for checked in &examined.checked {
        checked.job.prepared.notes.iter().for_each(|note| ui.note(note));
    }
    for checked in &examined.checked {
        if let Ok(made) = &checked.made {
            compile::tell_notes(&checked.job.prepared, made, several, ui);
        }
    }
    compile::write_trace(args, examined.checked.iter().map(|checked| &checked.job), ui, env)?;
    report::tell(&examined, args.output.format, ui);
    Ok(examined.exit())
}
