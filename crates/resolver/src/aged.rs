//! Pins that are years behind: what nobody means to have and nobody sees.

use std::collections::BTreeSet;
use std::sync::Arc;

use reana_model::{DistFile, PackageName, Version};

use crate::candidates::Candidates;
use crate::resolution::{Chosen, Note, Solved};
use crate::why::{Holder, held_back};
use crate::world::World;

/// From how many years on a pin is noted.
const YEARS: i64 = 2;

/// A mean year (365.25 days), in seconds.
const YEAR: i64 = 31_557_600;

/// Notes the packages of a solution that are more than two years older than their newest final release, as far
/// as the index gives times.
pub(crate) fn note(world: &World<'_>, solved: &Solved, notes: &mut BTreeSet<Note>) {
    for (name, chosen) in &solved.packages {
        notes.extend(aged(world, solved, name, chosen));
    }
}

fn aged(world: &World<'_>, solved: &Solved, name: &PackageName, chosen: &Chosen) -> Option<Note> {
    if chosen.direct.is_some() {
        return None;
    }
    let candidates = world.candidates(name).ok()?;
    let newest = newest(&candidates)?;
    let own = candidates.position(&chosen.version)?;
    let behind = uploaded(candidates.files(newest))? - uploaded(candidates.files(own))?;
    let version: &Version = candidates.versions().get(newest)?;
    let years = behind / YEAR;
    if *version <= chosen.version || years < YEARS {
        return None;
    }
    let by = held_back(world, solved, (name, chosen), version).unwrap_or(Holder::Others);
    Some(Note::Aged {
        name: name.clone(),
        version: chosen.version.clone(),
        newest: version.clone(),
        years,
        by,
    })
}

/// The position of the newest final release that was not withdrawn.
fn newest(candidates: &Candidates) -> Option<usize> {
    let mut newest = candidates.versions().iter().enumerate().rev();
    let is_offered = |position: usize| candidates.files(position).iter().any(|file| !file.yanked.is_yanked());
    let found = newest.find(|(position, version)| !version.any_prerelease() && is_offered(*position));
    found.map(|(position, _)| position)
}

/// When the first file of a version was uploaded, in seconds since 1970.
fn uploaded(files: &[Arc<DistFile>]) -> Option<i64> {
    files.iter().filter_map(|file| Some(file.uploaded?.as_second())).min()
}
