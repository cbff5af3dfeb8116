//! Markers as pip-compile writes them: double quotes, `python_version` where it says the same.

use pep508_rs::{MarkerExpression, MarkerOperator, MarkerValueVersion};
use reana_model::{MarkerTree, Operator};

/// A marker's text; `None` where it is always true.
///
/// The parser turns `python_version` into ranges of `python_full_version`; ranges that begin and end at whole
/// minor versions are turned back. The text always reads back as the same marker.
pub fn marker_text(marker: &MarkerTree) -> Option<String> {
    if marker.is_true() {
        return None;
    }
    let clauses = marker.to_dnf();
    if marker.is_false() || clauses.is_empty() {
        return Some("python_version < \"0\"".to_owned());
    }
    let several = clauses.len() > 1;
    let text = clauses.iter().map(|clause| conjunction(clause, several)).collect::<Vec<_>>().join(" or ");
    if text.parse::<MarkerTree>().is_ok_and(|read| read == *marker) {
        Some(text)
    } else {
        marker.try_to_string()
    }
}

fn conjunction(clause: &[MarkerExpression], one_of_several: bool) -> String {
    let text = clause.iter().map(expression).collect::<Vec<_>>().join(" and ");
    if one_of_several && clause.len() > 1 { format!("({text})") } else { text }
}

fn expression(expression: &MarkerExpression) -> String {
    match expression {
        MarkerExpression::Version { key, specifier } => {
            let (operator, version) = (specifier.operator(), specifier.version());
            let star =
                if matches!(operator, Operator::EqualStar | Operator::NotEqualStar) { ".*" } else { "" };
            let release = version.release();
            let whole =
                version.to_string() == release.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
            let is_python = *key == MarkerValueVersion::PythonFullVersion && whole;
            match (operator, release.len()) {
                // `3.8 <= full` says of a full version what it says of its first two parts
                (Operator::GreaterThanEqual | Operator::LessThan, 1 | 2) if is_python => {
                    format!("python_version {operator} {}", quoted(&version.to_string()))
                }
                (Operator::EqualStar | Operator::NotEqualStar, 2) if is_python => {
                    format!("python_version {operator} {}", quoted(&version.to_string()))
                }
                (Operator::EqualStar | Operator::NotEqualStar, 1) if is_python => {
                    format!("python_version {operator} {}", quoted(&format!("{version}.*")))
                }
                _ => format!("{key} {operator} {}", quoted(&format!("{version}{star}"))),
            }
        }
        MarkerExpression::VersionIn { key, versions, negated } => {
            let versions = versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            format!("{key} {} {}", if *negated { "not in" } else { "in" }, quoted(&versions))
        }
        MarkerExpression::String { key, operator: MarkerOperator::Contains, value } => {
            format!("{} in {key}", quoted(value))
        }
        MarkerExpression::String { key, operator: MarkerOperator::NotContains, value } => {
            format!("{} not in {key}", quoted(value))
        }
        MarkerExpression::String { key, operator, value } => format!("{key} {operator} {}", quoted(value)),
        MarkerExpression::Extra { operator, name } => {
            format!("extra {operator} {}", quoted(&name.to_string()))
        }
    }
}

fn quoted(value: &str) -> String {
    if value.contains('"') { format!("'{value}'") } else { format!("\"{value}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(marker: &str, expected: &str) {
        let tree: MarkerTree = marker.parse().expect("a marker");
        assert_eq!(marker_text(&tree).unwrap_or_default(), expected, "{marker}");
        assert_eq!(
            expected.parse::<MarkerTree>().ok(),
            Some(tree).filter(|_| !expected.is_empty()),
            "{expected}"
        );
    }

    #[test]
    fn python_version_is_turned_back() {
        check("python_version >= '1'", r#"python_version >= "1""#);
        check("python_version>='3.8'", r#"python_version >= "3.8""#);
        check("python_version < '3.8'", r#"python_version < "3.8""#);
        check("python_version > '3.8'", r#"python_version >= "3.9""#);
        check("python_version <= '3.8'", r#"python_version < "3.9""#);
        check("python_version == '3.8'", r#"python_version == "3.8""#);
        check("python_version != '3.8'", r#"python_version != "3.8""#);
        check("python_version ~= '3.8'", r#"python_version >= "3.8" and python_version < "4""#);
        check("python_full_version >= '3.8.1'", r#"python_full_version >= "3.8.1""#);
        check("python_full_version > '3.8'", r#"python_full_version > "3.8""#);
        check("python_full_version == '3.8'", r#"python_full_version == "3.8""#);
    }

    #[test]
    fn the_rest_keeps_its_meaning() {
        check(
            "os_name == 'posix' and python_version < '3.9'",
            r#"python_version < "3.9" and os_name == "posix""#,
        );
        check(
            "sys_platform == 'linux' and (python_version < '3.9' or platform_machine == 'aarch64')",
            r#"(python_version < "3.9" and sys_platform == "linux") or (platform_machine == "aarch64" and sys_platform == "linux")"#,
        );
        check("'linux' in sys_platform", r#""linux" in sys_platform"#);
        check("'linux' not in sys_platform", r#""linux" not in sys_platform"#);
        check("sys_platform in 'linux darwin'", r#"sys_platform in "linux darwin""#);
        check("extra == 'Test_X' or os_name == 'nt'", r#"extra == "test-x" or os_name == "nt""#);
        check("os_name == 'a\"b'", r#"os_name == 'a"b'"#);
        assert_eq!(marker_text(&MarkerTree::FALSE).as_deref(), Some(r#"python_version < "0""#));
    }
}
