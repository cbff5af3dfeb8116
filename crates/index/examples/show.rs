//! Shows what an index says of packages, by hand: `cargo run -p reana-index --example show -- --index-url URL NAME...`
//!
//! For each package: how many versions it has, and what the newest one's file requires. `--times N` repeats
//! the run with a new client each time, over one cache folder (`--cache FOLDER`).

use std::time::SystemTime;

use reana_index::{CacheMode, Client, IndexSource, MetadataAnswer, Settings};
use reana_model::{DistFile, Listing, PackageName, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings::new(now);
    let (mut names, mut times, mut is_quiet) = (Vec::new(), 1, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--index-url" => settings.indexes.push(IndexSource::new(value()?)),
            "--find-links" => settings.find_links.push(value()?),
            "--cache" => settings.cache = CacheMode::Folder(value()?.into()),
            "--exclude-newer" => settings.exclude_newer = Some(value()?.parse()?),
            "--concurrency" => settings.concurrency = value()?.parse()?,
            "--times" => times = value()?.parse()?,
            "--offline" => settings.offline = true,
            "--refresh" => settings.refresh = true,
            "--verify-metadata" => settings.verify_metadata = true,
            "--quiet" => is_quiet = true,
            name => names.push(PackageName::new(name.to_owned())?),
        }
    }
    for _ in 0..times {
        run(settings.clone(), &names, is_quiet)?;
    }
    Ok(())
}

fn run(settings: Settings, names: &[PackageName], is_quiet: bool) -> Result<(), Box<dyn std::error::Error>> {
    let target = Target { python: "3.12".parse()?, platform: "linux/amd64".parse()? };
    let start = now();
    let client = Client::new(settings)?;
    client.expect(names);
    let mut likely = Vec::new();
    for name in names {
        match client.listing(name) {
            Ok(listing) => {
                let file = newest(listing.as_ref(), &target);
                if let Some(file) = &file {
                    client.expect_metadata(name, file, &target);
                }
                likely.push((name, listing.known(), listing.versions().len(), file));
            }
            Err(error) => report(false, &format!("{name}: {error}")),
        }
    }
    report(false, &format!("pages after {}", now().duration_since(start)));
    for (name, known, versions, file) in likely {
        let Some(file) = file else {
            report(is_quiet, &format!("{name}: known {known}, {versions} versions, no file"));
            continue;
        };
        let line = match client.metadata(name, &file, &target) {
            Ok(MetadataAnswer::Known(metadata)) => {
                let requires: Vec<String> = metadata.requires_dist.iter().map(ToString::to_string).collect();
                format!("{versions} versions, {:?}: {}", metadata.grade, requires.join(", "))
            }
            Ok(other) => format!("{versions} versions, {}: {other:?}", file.name.file()),
            Err(error) => error.to_string(),
        };
        report(is_quiet, &format!("{name}: {line}"));
    }
    report(false, &format!("all after {}, {:?}", now().duration_since(start), client.progress()));
    Ok(())
}

/// The file of the newest version that a target could use: its best wheel, else its sdist.
fn newest(listing: &dyn Listing, target: &Target) -> Option<DistFile> {
    let tags = target.tags();
    let versions = listing.versions().iter().enumerate().rev();
    versions
        .filter(|(_, version)| !version.any_prerelease())
        .find_map(|(index, _)| {
            let files = listing.files(index);
            let wheel = files.iter().filter(|file| file.name.wheel().and_then(|it| tags.rank(it)).is_some());
            wheel
                .min_by_key(|file| file.name.wheel().and_then(|it| tags.rank(it)))
                .or_else(|| files.iter().find(|file| file.name.wheel().is_none()))
        })
        .map(|file| file.as_ref().clone())
}

#[expect(clippy::print_stdout, reason = "an example shows something")]
fn report(is_quiet: bool, line: &str) {
    if !is_quiet {
        println!("{line}");
    }
}

#[expect(clippy::disallowed_methods, reason = "an example reads the clock itself")]
fn now() -> jiff::Timestamp {
    SystemTime::now().try_into().unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}
