//! Components' names as users of reana-dev write them: `r-server`, `r-w-e-serial`. Pure.

/// Whether a word may be a component's name, in full or shortened.
pub(super) fn is_name(word: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    word.split('-').all(is_part)
}

/// Which of `names` a word stands for: the one that it is, else all that it shortens. A word shortens a
/// name of as many parts, each of which begins with the word's.
pub(super) fn matches(word: &str, names: &[&str]) -> Vec<usize> {
    if let Some(at) = names.iter().position(|name| *name == word) {
        return vec![at];
    }
    let all: Vec<usize> =
        names.iter().enumerate().filter(|(_, name)| shortens(word, name, false)).map(|(at, _)| at).collect();
    if all.len() < 2 {
        return all;
    }
    // reana-dev's own way goes before a looser one: letters, and the last part in full.
    let strict: Vec<usize> = all
        .iter()
        .copied()
        .filter(|&at| names.get(at).is_some_and(|name| shortens(word, name, true)))
        .collect();
    if strict.len() == 1 { strict } else { all }
}

fn shortens(word: &str, name: &str, strict: bool) -> bool {
    let (word, name): (Vec<&str>, Vec<&str>) = (word.split('-').collect(), name.split('-').collect());
    let is_short = |(short, full): (&&str, &&str)| {
        if strict {
            short == full || short.chars().count() == 1 && full.starts_with(*short)
        } else {
            full.starts_with(*short)
        }
    };
    let last_in_full = !strict || word.last() == name.last();
    word.len() == name.len() && last_in_full && word.iter().zip(&name).all(is_short)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLEET: [&str; 9] = [
        "reana-server",
        "reana-workflow-controller",
        "reana-job-controller",
        "reana-workflow-engine-cwl",
        "reana-workflow-engine-serial",
        "reana-workflow-engine-snakemake",
        "reana-workflow-engine-yadage",
        "reana-dask-kubernetes-operator",
        "reana-db",
    ];

    fn check(word: &str, expected: &[&str]) {
        let found: Vec<&str> = matches(word, &FLEET).into_iter().map(|at| FLEET[at]).collect();
        assert_eq!(found, expected, "{word}");
    }

    #[test]
    fn names_as_users_write_them() {
        check("reana-server", &["reana-server"]);
        check("r-server", &["reana-server"]);
        check("r-s", &["reana-server"]);
        check("r-w-controller", &["reana-workflow-controller"]);
        check("r-j-controller", &["reana-job-controller"]);
        check("r-w-e-serial", &["reana-workflow-engine-serial"]);
        check("r-w-e-cwl", &["reana-workflow-engine-cwl"]);
        check("r-w-e-c", &["reana-workflow-engine-cwl"]);
        check("r-d-k-operator", &["reana-dask-kubernetes-operator"]);
        check("reana-wo-controller", &["reana-workflow-controller"]);
        check("r-w-e-s", &["reana-workflow-engine-serial", "reana-workflow-engine-snakemake"]);
        check("r-controller", &[]);
        check("server", &[]);
        check("r-server-x", &[]);
    }

    #[test]
    fn the_whole_last_part_goes_first() {
        assert_eq!(matches("r-db", &["reana-dbase", "reana-db"]), [1]);
        assert_eq!(matches("r-db", &["reana-dbase", "reana-dbx"]), [0, 1]);
        assert_eq!(matches("a-b", &["a-b", "ax-b"]), [0]);
    }

    #[test]
    fn what_may_be_a_name() {
        for (word, expected) in [
            ("r-server", true),
            ("reana", true),
            ("a/b", false),
            ("setup.py", false),
            ("", false),
            ("-x", false),
        ] {
            assert_eq!(is_name(word), expected, "{word}");
        }
    }
}
