//! Shows what can be read out of sdists: `cargo run -p reana-index --example read_sdist -- [-p 3.12] FILE...`
#![expect(clippy::disallowed_methods, reason = "an example reads the files that it is given")]
#![expect(clippy::print_stdout, reason = "and shows what it found")]

use std::path::Path;

use reana_index::sdist::{SdistAnswer, read};
use reana_model::{DistName, PackageName, Platform, PythonVersion, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let mut python = PythonVersion::newest(3, 12);
    if files.first().is_some_and(|first| first == "-p") {
        files.remove(0);
        python = files.remove(0).parse()?;
    }
    let target = Target { python, platform: Platform::LinuxAmd64 };
    for path in files {
        let file = Path::new(&path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        println!("{file}: {}", show(&std::fs::read(&path)?, &file, &target));
    }
    Ok(())
}

fn show(bytes: &[u8], file: &str, target: &Target) -> String {
    // The name ends at one of its dashes; the rest must be a version.
    let names =
        file.match_indices('-').rev().filter_map(|(at, _)| PackageName::new(file.get(..at)?.to_owned()).ok());
    let found = names.filter_map(|package| Some((DistName::parse(file, &package).ok()?, package))).next();
    let Some((name, package)) = found else { return "no sdist, by its name".to_owned() };
    match read(bytes, file, &package, name.version(), target) {
        SdistAnswer::Invalid { reason } => format!("invalid: {reason}"),
        SdistAnswer::Unreadable { reason } => format!("unreadable: {reason}"),
        SdistAnswer::Known { metadata, consulted_python, consulted_platform, .. } => {
            let facts =
                [(consulted_python, " (looked at the Python)"), (consulted_platform, " (at the platform)")];
            let facts: String = facts.iter().filter(|(is, _)| *is).map(|(_, text)| *text).collect();
            let python = metadata.requires_python.map(|python| python.to_string()).unwrap_or_default();
            let requires = metadata.requires_dist.iter().map(|one| format!("\n    {one}"));
            format!("{:?} python{python}{facts}{}", metadata.grade, requires.collect::<String>())
        }
    }
}
