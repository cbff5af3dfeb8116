//! Which packages are to be raised, and to what.

use std::str::FromStr as _;

use reana_fleet::{Fleet, Repository};
use reana_model::{PackageName, Version};

use crate::args::BumpArgs;
use crate::error::Failure;

/// A package that is to be raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The package.
    pub(crate) package: PackageName,
    /// What to.
    pub(crate) to: To,
}

/// What a package is to be raised to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// The newest version that all can take.
    Newest,
    /// This version.
    Given(Version),
    /// The version in the sibling checkout.
    Checkout(Version),
}

/// The packages that the command line names, else all shared ones; in the order of their releases, so that what
/// others need is decided first.
pub(crate) fn wanted(args: &BumpArgs, fleet: &Fleet) -> Result<Vec<Wanted>, Failure> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for word in &args.packages {
        let (name, version) = match word.split_once("==") {
            Some((name, version)) => (name.trim(), Some(version.trim())),
            None => (word.trim(), None),
        };
        let package = PackageName::new(name.to_owned())
            .map_err(|_| Failure::input(format!("`{word}` is neither a package nor `package==version`")))?;
        let version = version.map(Version::from_str).transpose();
        let version = version.map_err(|error| Failure::input(format!("`{word}`: {error}")))?;
        let to = match version {
            Some(version) if version.is_local() => {
                return Err(Failure::input(format!("`{word}`: a local version is on no index")));
            }
            Some(version) => To::Given(version),
            None => of_checkout(args, fleet, &package)?,
        };
        if wanted.iter().any(|known| known.package == package) {
            return Err(Failure::input(format!("{package} is named twice")));
        }
        if fleet.requirers(&package).is_empty() {
            return Err(Failure::input(format!("no repository of the fleet requires {package}")));
        }
        wanted.push(Wanted { package, to });
    }
    if args.packages.is_empty() {
        let required = fleet.shared().into_iter().filter(|package| !fleet.requirers(package).is_empty());
        for package in required {
            wanted.push(Wanted { package: package.clone(), to: of_checkout(args, fleet, package)? });
        }
        if wanted.is_empty() {
            return Err(Failure::input("no repository of the fleet requires a package of another one")
                .hint("name the package to raise"));
        }
    }
    let order = fleet.release_order();
    let place = |package: &PackageName| {
        let name = fleet.maker(package).map(|maker| maker.name.as_str());
        order.flat().position(|known| Some(known) == name)
    };
    wanted.sort_by_key(|wanted| (place(&wanted.package).is_none(), place(&wanted.package)));
    Ok(wanted)
}

fn of_checkout(args: &BumpArgs, fleet: &Fleet, package: &PackageName) -> Result<To, Failure> {
    if !args.from_checkout {
        return Ok(To::Newest);
    }
    let makers = fleet.all_makers(package);
    if let [first, .., last] = makers[..]
        && makers.iter().any(|maker| maker.version != first.version)
    {
        let (first, last) = (&first.name, &last.name);
        return Err(Failure::input(format!("--from-checkout: {first} and {last} both make {package}"))
            .hint(format!("name the version: `reana-lock bump {package}==VERSION`")));
    }
    match fleet.maker(package) {
        Some(Repository { version: Some(version), .. }) => Ok(To::Checkout(version.clone())),
        Some(maker) => Err(Failure::input(format!("{}: the version of {package} can't be read", maker.name))),
        None => Err(Failure::input(format!("--from-checkout: no repository of the fleet makes {package}"))),
    }
}
