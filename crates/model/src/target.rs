//! Targets: the Python and the platform that a lock must serve, never the machine that locks.

use std::fmt;
use std::str::FromStr;

use pep508_rs::{MarkerEnvironment, MarkerEnvironmentBuilder};

use crate::{PythonVersion, Tags};

/// A platform of container images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Platform {
    /// `linux/amd64`: x86_64 with glibc.
    LinuxAmd64,
    /// `linux/arm64`: aarch64 with glibc.
    LinuxArm64,
}

/// Text that names no platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a platform that can be locked for (`linux/amd64`, `linux/arm64`)")]
pub struct PlatformError(pub String);

impl Platform {
    /// The machine's name as `platform_machine` gives it and wheel tags use it.
    pub fn machine(self) -> &'static str {
        match self {
            Self::LinuxAmd64 => "x86_64",
            Self::LinuxArm64 => "aarch64",
        }
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        match text {
            "linux/amd64" | "linux/x86_64" => Ok(Self::LinuxAmd64),
            "linux/arm64" | "linux/arm64/v8" | "linux/aarch64" => Ok(Self::LinuxArm64),
            _ => Err(PlatformError(text.to_owned())),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LinuxAmd64 => "linux/amd64",
            Self::LinuxArm64 => "linux/arm64",
        })
    }
}

/// A CPython on a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The Python.
    pub python: PythonVersion,
    /// The platform.
    pub platform: Platform,
}

impl Target {
    /// What markers see (PEP 508). `platform_release` and `platform_version` are unknown to a lock: empty.
    pub fn marker_environment(&self) -> MarkerEnvironment {
        let (full, short) = (self.python.to_string(), self.python.short());
        MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
            implementation_name: "cpython",
            implementation_version: &full,
            os_name: "posix",
            platform_machine: self.platform.machine(),
            platform_python_implementation: "CPython",
            platform_release: "",
            platform_system: "Linux",
            platform_version: "",
            python_full_version: &full,
            python_version: &short,
            sys_platform: if self.python.major == 2 { "linux2" } else { "linux" },
        })
        .expect("a PythonVersion is a valid version")
    }

    /// The wheel tags that this target accepts (PEP 425, 600), best first.
    pub fn tags(&self) -> Tags {
        Tags::of(self)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Python {} on {}", self.python.short(), self.platform)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MarkerTree;

    fn check(python: &str, marker: &str, expected: bool) {
        let target = Target { python: python.parse().expect("a version"), platform: Platform::LinuxAmd64 };
        let tree: MarkerTree = marker.parse().expect("a marker");
        assert_eq!(tree.evaluate(&target.marker_environment(), &[]), expected, "{python}: {marker}");
    }

    #[test]
    fn markers_see_the_target() {
        check("3.12", "python_version >= '3.8'", true);
        check("3.12", "python_version < '3.9'", false);
        check("3.8", "python_full_version >= '3.8.1'", true);
        check("3.12", "sys_platform == 'linux' and platform_machine == 'x86_64'", true);
        check("3.12", "sys_platform == 'win32' or os_name == 'nt'", false);
        check("2.7", "sys_platform == 'linux2'", true);
        check("3.12", "platform_python_implementation == 'CPython'", true);
    }
}
