//! Small random worlds, held against a solver that tries everything: a solution is found if and only if one
//! exists, and it satisfies everything. Extras, markers, pre-releases and yanked versions stand together.

mod world;

use proptest::prelude::*;
use reana_resolver::{MemoryCatalog, Request, SolveError, solve};
use world::{Pins, Rank, World, catalog, pins, preferences, targets, world};

/// Final releases 1 to 3.
const FINALS: &[Rank] = &[2, 4, 6];

/// 1rc1 to 3, release candidates among them.
const ALL: &[Rank] = &[1, 2, 3, 4, 5, 6];

fn hold(world: &World, request: &Request, kept: &[Pins]) -> Result<(), TestCaseError> {
    match solve(&catalog(world, false), request) {
        Ok(resolution) => {
            let mut kept = kept.to_vec();
            for solved in &resolution.solved {
                let (pins, solutions) = (pins(solved), world.solutions(&solved.target, &kept));
                prop_assert!(solutions.contains(&pins), "{pins:?} is none of {solutions:?}");
                kept.push(pins);
            }
        }
        Err(SolveError::Limit { decisions }) => prop_assert!(false, "given up after {decisions}"),
        Err(error) => {
            // A later target may fail where an earlier one's pins admit nothing that it needs.
            let solvable = request.targets.iter().all(|target| !world.solutions(target, kept).is_empty());
            prop_assert!(!solvable, "{error}\nbut {:?}", world.solutions(&request.targets[0], kept));
            prop_assert!(!error.to_string().is_empty());
        }
    }
    Ok(())
}

fn outcome(catalog: &MemoryCatalog, request: &Request) -> String {
    match solve(catalog, request) {
        Ok(resolution) => format!("{:?}\n{:?}", resolution.merged(), resolution.notes),
        Err(error) => error.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn final_releases(world in world(FINALS, 0.0)) {
        hold(&world, &world.request(), &[])?;
    }

    #[test]
    fn yanked_versions(world in world(FINALS, 0.3)) {
        hold(&world, &world.request(), &[])?;
    }

    #[test]
    fn prereleases(world in world(ALL, 0.0)) {
        hold(&world, &world.request(), &[])?;
    }

    #[test]
    fn prereleases_and_yanked_versions(world in world(ALL, 0.25)) {
        hold(&world, &world.request(), &[])?;
    }

    #[test]
    fn several_targets(world in world(ALL, 0.1)) {
        let request = Request { targets: targets().to_vec(), ..world.request() };
        hold(&world, &request, &[])?;
    }

    #[test]
    fn an_old_lock_that_need_not_fit(
        world in world(ALL, 0.2),
        old in prop::array::uniform4(prop::option::of(prop::sample::select(ALL))),
    ) {
        let request = Request { preferences: preferences(&old), ..world.request() };
        hold(&world, &request, &[old])?;
    }

    #[test]
    fn a_satisfied_lock_stays_as_it_is(world in world(ALL, 0.1), several in any::<bool>()) {
        let count = if several { 2 } else { 1 };
        let mut request = Request { targets: targets()[..count].to_vec(), ..world.request() };
        let catalog = catalog(&world, false);
        if let Ok(first) = solve(&catalog, &request) {
            let locked: Vec<Pins> = first.solved.iter().map(pins).collect();
            request.preferences = locked.iter().flat_map(preferences).collect();
            let again = solve(&catalog, &request).expect("what was solved can be kept");
            if locked.iter().all(|pins| *pins == locked[0]) {
                prop_assert_eq!(locked, again.solved.iter().map(pins).collect::<Vec<_>>());
            }
        }
    }

    /// The order of constraints, of the old lock and of an index's files means nothing; nor does the place of
    /// a root whose package was named before.
    #[test]
    fn the_order_of_the_input_means_nothing(
        mut world in world(ALL, 0.1),
        old in prop::array::uniform4(prop::option::of(prop::sample::select(ALL))),
    ) {
        for root in &mut world.roots {
            root.marker = None; // what applies nowhere names nothing
        }
        let mut request = world.request();
        request.preferences = preferences(&old);
        request.targets = targets().to_vec();
        let first = outcome(&catalog(&world, false), &request);
        let mut shuffled = request.clone();
        shuffled.constraints.reverse();
        shuffled.preferences.reverse();
        prop_assert_eq!(&first, &outcome(&catalog(&world, true), &shuffled));
        let is_solved = solve(&catalog(&world, false), &request).is_ok();
        shuffled.roots.sort_by_key(|root| {
            request.roots.iter().position(|other| (&other.name, &other.extras) == (&root.name, &root.extras))
        });
        let other = outcome(&catalog(&world, true), &shuffled);
        prop_assert_eq!(is_solved, solve(&catalog(&world, true), &shuffled).is_ok());
        prop_assert!(!is_solved || first == other, "{}\nor {}", first, other);
    }
}
