//! The command in a lock's header: the one that makes the lock anew, without what is the same for everybody
//! (defaults) or different for anybody (cache, network, date, index).

use reana_lockfile::{AnnotationStyle, Command, Style, UnsafePackages, default_unsafe_packages};
use reana_model::Target;

use super::declared::Read;
use super::prepare::Context;
use super::targets::Choice;
use crate::args::{Hashes, OutputFormat, Resolution};
use crate::config::DEFAULT_PLATFORM;
use crate::paths;

/// The command, with paths relative to the lock.
pub(crate) fn canonical(
    context: &Context<'_>,
    choice: &Choice,
    named: &[String],
    read: &Read,
    style: &Style,
    hashes: Hashes,
) -> Command {
    if let Some(custom) = &context.env.custom_compile_command {
        return Command::Custom(custom.clone());
    }
    let mut options: Vec<(String, Option<String>)> = Vec::new();
    let mut flag = |name: &str| options.push((name.to_owned(), None));
    if read.all_extras {
        flag("--all-extras");
    }
    if style.annotation.is_none() {
        flag("--no-annotate");
    }
    if style.strip_extras {
        flag("--strip-extras");
    }
    if style.unsafe_handling == UnsafePackages::LeftOut {
        flag("--no-allow-unsafe");
    }
    if hashes == Hashes::None {
        flag("--no-generate-hashes");
    }
    if context.args.resolve.pre {
        flag("--pre");
    }
    if context.args.output.emit_index_url {
        flag("--emit-index-url");
    }
    let mut add = |name: &str, value: String| options.push((name.to_owned(), Some(value)));
    if style.annotation == Some(AnnotationStyle::Line) {
        add("--annotation-style", "line".to_owned());
    }
    if hashes == Hashes::Target {
        add("--hashes", "target".to_owned());
    }
    match context.args.resolve.resolution.or(context.config.lock.resolution) {
        Some(Resolution::Lowest) => add("--resolution", "lowest".to_owned()),
        Some(Resolution::LowestDirect) => add("--resolution", "lowest-direct".to_owned()),
        Some(Resolution::Highest) | None => {}
    }
    read.extras.iter().for_each(|extra| add("--extra", extra.to_string()));
    read.groups.iter().for_each(|group| add("--group", group.clone()));
    read.constraint_files.iter().for_each(|file| add("--constraint", file.clone()));
    read.override_files.iter().for_each(|file| add("--override", file.clone()));
    style.no_emit.iter().for_each(|name| add("--no-emit-package", name.to_string()));
    if style.unsafe_packages != default_unsafe_packages() {
        style.unsafe_packages.iter().for_each(|name| add("--unsafe-package", name.to_string()));
    }
    let resolve = &context.args.resolve;
    resolve.no_binary.iter().for_each(|name| add("--no-binary", name.clone()));
    resolve.only_binary.iter().for_each(|name| add("--only-binary", name.clone()));
    resolve.skip_unreadable.iter().for_each(|name| add("--skip-unreadable", name.clone()));
    for folder in &context.args.output.with_local {
        add(
            "--with-local",
            paths::relative(&paths::tidy(&context.env.cwd.join(folder)), &context.lock_folder),
        );
    }
    platforms(choice).into_iter().for_each(|platform| add("--platform", platform));
    match (&context.unit.lock, context.args.output.output_file.as_deref()) {
        (_, Some("-")) => {
            add("--output-file", "-".to_owned());
            if context.args.output.output_format == Some(OutputFormat::Pylock) {
                add("--output-format", "pylock".to_owned());
            }
        }
        (_, Some(file)) => add("--output-file", file.rsplit('/').next().unwrap_or(file).to_owned()),
        (Some(_), None) => {
            let lock = super::format::default_lock(context.unit, context.args).unwrap_or_default();
            add("--output-file", paths::relative(&lock, &context.lock_folder));
        }
        (None, None) => {}
    }
    let source =
        |name: &String| paths::relative(&paths::tidy(&context.unit.folder.join(name)), &context.lock_folder);
    let sources = named.iter().map(source).collect();
    Command::Words { program: "reana-lock compile".to_owned(), options, sources }
}

/// The platforms, unless it is the usual one alone.
fn platforms(choice: &Choice) -> Vec<String> {
    let mut platforms: Vec<String> = Vec::new();
    for Target { platform, .. } in &choice.targets {
        let platform = platform.to_string();
        if !platforms.contains(&platform) {
            platforms.push(platform);
        }
    }
    if platforms == [DEFAULT_PLATFORM.to_string()] { Vec::new() } else { platforms }
}
