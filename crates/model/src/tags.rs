//! Wheel tags (PEP 425) that a target accepts, with their order of preference.

use crate::{Target, WheelName};

/// The newest glibc that a wheel may ask for: `manylinux_2_28`.
const GLIBC_MINOR: u32 = 28;

/// The names that manylinux had before PEP 600, by glibc minor version.
const LEGACY_MANYLINUX: [(u32, &str); 3] = [(17, "manylinux2014"), (12, "manylinux2010"), (5, "manylinux1")];

/// The tags of one target. A wheel's rank is that of its best tag; a lower rank is preferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    major: u8,
    minor: u8,
    /// `cp312`, of the interpreter itself.
    own: String,
    /// Its ABI, as wheels name it.
    own_abi: String,
    platforms: Vec<String>,
}

impl Tags {
    /// The tags of a target.
    pub fn of(target: &Target) -> Self {
        let machine = target.platform.machine();
        let oldest = if machine == "x86_64" { 5 } else { 17 };
        let mut platforms = Vec::new();
        for minor in (oldest..=GLIBC_MINOR).rev() {
            platforms.push(format!("manylinux_2_{minor}_{machine}"));
            let legacy = LEGACY_MANYLINUX.iter().find(|(glibc, _)| *glibc == minor);
            platforms.extend(legacy.map(|(_, name)| format!("{name}_{machine}")));
        }
        platforms.push(format!("linux_{machine}"));
        platforms.push("any".to_owned());
        let (major, minor) = (target.python.major, target.python.minor);
        let own = format!("cp{major}{minor}");
        // Pythons before 3.8 marked a build with pymalloc in the ABI's name, Python 2 a wide unicode as well.
        let own_abi = match (major, minor) {
            (3, 8..) => own.clone(),
            (3, _) => format!("{own}m"),
            _ => format!("{own}mu"),
        };
        Self { major, minor, own, own_abi, platforms }
    }

    /// How well a wheel fits, lowest best; `None` where it can't be installed. Wheels of the same
    /// version are compared by rank, then by build tag (the higher one first).
    pub fn rank(&self, wheel: &WheelName) -> Option<u32> {
        let platform = wheel.platform().filter_map(|tag| self.platform_rank(tag)).min()?;
        let mut best = None;
        for python in wheel.python() {
            for abi in wheel.abi() {
                let rank = self.interpreter_rank(python, abi, platform);
                best = match (best, rank) {
                    (None, rank) => rank,
                    (Some(best), Some(rank)) => Some(u32::min(best, rank)),
                    (best, None) => best,
                };
            }
        }
        best
    }

    fn platform_rank(&self, tag: &str) -> Option<u32> {
        let at = self.platforms.iter().position(|platform| platform == tag)?;
        u32::try_from(at).ok()
    }

    /// The order of packaging.tags: the very ABI, abi3 from new to old, no ABI, then generic Pythons;
    /// platforms inside of each.
    fn interpreter_rank(&self, python: &str, abi: &str, platform: u32) -> Option<u32> {
        let platform_count = u32::try_from(self.platforms.len()).ok()?;
        let is_any = platform + 1 == platform_count;
        let minor = u32::from(self.minor);
        let group = if python == self.own && abi == self.own_abi {
            0
        } else if abi == "abi3" && self.major == 3 {
            let built_for: u32 = python.strip_prefix("cp3")?.parse().ok()?;
            if !(2..=minor).contains(&built_for) {
                return None;
            }
            1 + (minor - built_for)
        } else if abi == "none" && python == self.own {
            if is_any { 400 } else { 100 }
        } else if abi == "none" {
            let generic = self.generic_rank(python)?;
            if is_any { 500 + generic } else { 200 + generic }
        } else {
            return None;
        };
        Some(group * platform_count + platform)
    }

    fn generic_rank(&self, python: &str) -> Option<u32> {
        let version = python.strip_prefix("py")?;
        let (major, minor) = version.split_at_checked(1)?;
        if major.parse::<u8>().ok()? != self.major {
            return None;
        }
        if minor.is_empty() {
            return Some(1);
        }
        let minor: u8 = minor.parse().ok()?;
        match self.minor.checked_sub(minor)? {
            0 => Some(0),
            older => Some(1 + u32::from(older)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DistName, PackageName, Platform};

    fn rank(python: &str, platform: Platform, tags: &str) -> Option<u32> {
        let target = Target { python: python.parse().expect("a version"), platform };
        let package = PackageName::new("p".to_owned()).expect("a name");
        let name = DistName::parse(&format!("p-1-{tags}.whl"), &package).expect("a wheel's name");
        target.tags().rank(name.wheel().expect("a wheel"))
    }

    fn check(python: &str, platform: Platform, better_first: &[&str], refused: &[&str]) {
        let ranks: Vec<Option<u32>> = better_first.iter().map(|tags| rank(python, platform, tags)).collect();
        assert!(ranks.iter().all(Option::is_some), "{better_first:?} {ranks:?}");
        assert!(ranks.is_sorted(), "{better_first:?} {ranks:?}");
        for tags in refused {
            assert_eq!(rank(python, platform, tags), None, "{tags}");
        }
    }

    #[test]
    fn amd64() {
        let better_first = [
            "cp312-cp312-manylinux_2_28_x86_64",
            "cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64",
            "cp312-cp312-linux_x86_64",
            "cp312-abi3-manylinux2014_x86_64",
            "cp38-abi3-manylinux1_x86_64",
            "cp312-none-manylinux1_x86_64",
            "py3-none-manylinux2014_x86_64",
            "py30-none-manylinux2014_x86_64",
            "py312-none-any",
            "py2.py3-none-any",
        ];
        let refused = [
            "cp311-cp311-manylinux2014_x86_64",
            "cp313-abi3-manylinux2014_x86_64",
            "cp312-cp312t-manylinux2014_x86_64",
            "cp312-cp312-manylinux_2_34_x86_64",
            "cp312-cp312-musllinux_1_1_x86_64",
            "cp312-cp312-manylinux2014_aarch64",
            "cp312-cp312-win_amd64",
            "py2-none-any",
            "pp310-pypy310_pp73-manylinux2014_x86_64",
        ];
        check("3.12", Platform::LinuxAmd64, &better_first, &refused);
    }

    #[test]
    fn other_targets() {
        check(
            "3.7",
            Platform::LinuxAmd64,
            &["cp37-cp37m-manylinux1_x86_64", "cp36-abi3-manylinux1_x86_64"],
            &["cp37-cp37-manylinux1_x86_64"],
        );
        check(
            "3.12",
            Platform::LinuxArm64,
            &["cp312-cp312-manylinux2014_aarch64", "py3-none-any"],
            &["cp312-cp312-manylinux2014_x86_64"],
        );
        check(
            "2.7",
            Platform::LinuxAmd64,
            &["cp27-cp27mu-manylinux1_x86_64", "py2.py3-none-any"],
            &["py3-none-any"],
        );
    }
}
