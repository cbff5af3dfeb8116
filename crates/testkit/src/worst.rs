//! Worlds that are hard for a solver: generated, the same on every machine. The resolver's tests hold what must
//! come out of them.

/// One world, and what is wanted of it.
#[derive(Clone, Debug)]
pub struct Hard {
    /// What is hard about it.
    pub title: &'static str,
    /// `(package, version, what it requires)`.
    pub releases: Vec<(String, u32, Vec<String>)>,
    /// The user's requirements.
    pub roots: Vec<String>,
}

/// All of them.
pub fn all() -> Vec<Hard> {
    vec![
        hundred_step_back(),
        hundred_decided_anew(),
        contradiction_among_many(),
        contradiction_ten_deep(),
        chain_of_a_thousand(),
        long_chain_to_a_contradiction(),
    ]
}

impl Hard {
    fn new(title: &'static str) -> Self {
        Self { title, releases: Vec::new(), roots: Vec::new() }
    }

    fn add(&mut self, name: impl Into<String>, version: u32, requires: Vec<String>) {
        self.releases.push((name.into(), version, requires));
    }
}

/// Each of a hundred packages pins the core that goes with it; the last line bounds the core from above.
pub fn hundred_step_back() -> Hard {
    let mut hard = Hard::new("a hundred packages step back for the last");
    for package in 0..100 {
        let name = format!("p{package:02}");
        for version in 1..=10 {
            hard.add(&name, version, vec![format!("core=={version}")]);
        }
        hard.roots.push(name);
    }
    for version in 1..=10 {
        hard.add("core", version, Vec::new());
    }
    hard.add("zuser", 1, vec!["core<2".to_owned()]);
    hard.roots.push("zuser".to_owned());
    hard
}

/// Each package bounds the one before it: every choice is too new once the next one is seen.
pub fn hundred_decided_anew() -> Hard {
    let mut hard = Hard::new("a hundred packages are decided anew");
    for package in 0..100 {
        let name = format!("p{package:02}");
        hard.add(&name, 1, Vec::new());
        hard.add(&name, 2, Vec::new());
        let before = (package > 0).then(|| format!("p{:02}<3", package - 1));
        hard.add(&name, 3, before.into_iter().collect());
        hard.roots.push(name);
    }
    hard
}

/// Twenty packages of fifty versions, each tied to the next one's; three lines exclude each other through them.
pub fn contradiction_among_many() -> Hard {
    let mut hard = Hard::new("a contradiction among many versions");
    for package in 0..20 {
        let name = format!("p{package:02}");
        for version in 1..=50 {
            let next = format!("p{:02}=={version}", (package + 1) % 20);
            hard.add(&name, version, vec![next, format!("q{}>={version}", package % 3)]);
        }
        hard.roots.push(name);
    }
    for q in 0..3 {
        for version in 1..=50 {
            hard.add(format!("q{q}"), version, Vec::new());
        }
    }
    hard.roots.extend(["q0<10", "q1>=20", "p05>20"].map(str::to_owned));
    hard
}

/// Ten levels of five packages with eight versions each; every one requires two of the next level, and the
/// last level requires what the user excludes.
pub fn contradiction_ten_deep() -> Hard {
    let mut hard = Hard::new("a contradiction ten levels deep");
    for level in 0..10 {
        for package in 0..5 {
            for version in 1..=8 {
                let requires = if level == 9 {
                    vec!["end>=2".to_owned()]
                } else {
                    let next =
                        |step: usize| format!("l{}-{}>={}", level + 1, (package + step) % 5, version.min(4));
                    vec![next(0), next(1)]
                };
                hard.add(format!("l{level}-{package}"), version, requires);
            }
        }
    }
    hard.add("end", 1, Vec::new());
    hard.add("end", 2, Vec::new());
    hard.roots = vec!["l0-0".to_owned(), "l0-3".to_owned(), "end<2".to_owned()];
    hard
}

/// Each requires the next.
pub fn chain_of_a_thousand() -> Hard {
    let mut hard = Hard::new("a chain of a thousand packages");
    for link in 0..1000 {
        let next = (link < 999).then(|| format!("p{}", link + 1));
        hard.add(format!("p{link}"), 1, next.into_iter().collect());
    }
    hard.roots.push("p0".to_owned());
    hard
}

/// Each requires the next, and the last one what the user excludes.
pub fn long_chain_to_a_contradiction() -> Hard {
    let mut hard = Hard::new("a contradiction at the end of a long chain");
    for link in 0..1500 {
        let next = if link == 1499 { "end>=2".to_owned() } else { format!("p{}", link + 1) };
        hard.add(format!("p{link}"), 1, vec![next]);
    }
    hard.add("end", 1, Vec::new());
    hard.add("end", 2, Vec::new());
    hard.roots = vec!["p0".to_owned(), "end<2".to_owned()];
    hard
}
