//! What commands answer with `--format json` is what docs/schemas says: every answer here is held against the schema
//! that the command itself writes.

use std::cell::RefCell;
use std::collections::BTreeSet;

use boon::{Compiler, SchemaIndex, Schemas};
use reana_testkit::{IndexServer, Output, World};
use serde_json::Value;

use crate::checkouts::checkouts;
use crate::guard::{Fleet, scripted};
use crate::harness::{Place, place, small_world};

/// The schemas, as `reana-lock generate` writes them.
struct Documents {
    place: Place,
    used: RefCell<BTreeSet<String>>,
}

fn documents() -> Documents {
    let place = place(&World::new());
    let _ = place.run(&["generate", "docs"]).expect_code(0);
    Documents { place, used: RefCell::default() }
}

impl Documents {
    /// Holds an answer against the schema of its command.
    #[track_caller]
    fn check(&self, command: &str, output: &Output) -> Value {
        self.used.borrow_mut().insert(command.to_owned());
        let path = self.place.path(&format!("docs/schemas/{command}.json"));
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let schema: SchemaIndex =
            compiler.compile(&path.to_string_lossy(), &mut schemas).expect("a valid schema");
        let answer: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}\n{}\n{}", output.stdout, output.stderr));
        if let Err(error) = schemas.validate(&answer, schema) {
            panic!("{command}: {error:#}\n{answer:#}");
        }
        answer
    }
}

#[test]
fn every_answer_is_as_described() {
    let documents = documents();
    images(&documents);
    compile(&documents);
    locks(&documents);
    verify(&documents);
    metadata(&documents);
    fleet(&documents);
    running(&documents);
    let schemas = documents.place.path("docs/schemas");
    let written = crate::harness::names_in(&schemas);
    let used: Vec<String> = documents.used.borrow().iter().map(|command| format!("{command}.json")).collect();
    assert_eq!(used, written, "each schema is used by a run here");
}

fn compile(documents: &Documents) {
    let mut place = place(
        &World::new()
            .with("app", "1.0", &["lib[fast]>=1; python_version < '3.10'"])
            .with("lib", "1.0", &[])
            .with("gone", "1.0", &[]),
    );
    place.file(
        "setup.py",
        "from setuptools import setup\nsetup(name='web', install_requires=['app', 'gone'])\n",
    );
    let json = |place: &Place, args: &[&str], code| {
        let args = [&["--format", "json"], args].concat();
        documents.check("compile", &place.compile(&args).expect_code(code))
    };
    json(&place, &["--dry-run"], 0);
    let answer = json(&place, &["--python-version=3.12", "--python-version=3.8"], 0);
    assert_eq!(answer["locks"][0]["pins"].as_array().map(Vec::len), Some(3));
    place.file(
        "setup.py",
        "from setuptools import setup\nsetup(name='web', install_requires=['app', 'new'])\n",
    );
    place.now(
        &World::new().with("app", "1.0", &["lib"]).with("app", "1.1", &["lib"]).with("lib", "1.0", &[]).with(
            "new",
            "1.0",
            &[],
        ),
    );
    let answer = documents.check("check", &place.compile(&["--format=json", "--check", "-U"]).expect_code(1));
    documents.check("check", &place.ask("check", &["--format=json"]).expect_code(1));
    let kinds = answer["locks"][0]["changes"].as_array().into_iter().flatten();
    let kinds: BTreeSet<&str> = kinds.filter_map(|change| change["kind"].as_str()).collect();
    assert!(kinds.is_superset(&["added", "removed", "moved"].into()), "{kinds:?}");
    documents.check("refresh-hashes", &place.ask("refresh-hashes", &["--format=json"]).expect_code(1));
    json(&place, &["--explain=app", "--no-strip-extras"], 0);
    json(&place, &["--build-requirements=build.txt"], 0);
}

fn locks(documents: &Documents) {
    let place = place(&small_world());
    place.file("requirements.in", "app\nlib\n").file("limits.txt", "base<2\n");
    let _ = place.compile(&["-c", "limits.txt"]).expect_code(0);
    let hash = |digit: &str| format!("    --hash=sha256:{}", digit.repeat(64));
    place.file(
        "old.txt",
        format!("a==1 \\\n{}\nb==1 ; python_version < \"3\"\nc[x]==1\nd==1 # via c\n", hash("1")),
    );
    place.file("new.txt", format!("a==1 \\\n{}\nb==1\nc==1\nd==1 # via b\n", hash("2")));
    let answer =
        documents.check("diff", &place.run(&["diff", "old.txt", "new.txt", "--format=json"]).expect_code(0));
    let kinds = answer["locks"][0]["changes"].as_array().into_iter().flatten();
    let kinds: Vec<&str> = kinds.filter_map(|change| change["kind"].as_str()).collect();
    assert_eq!(kinds, ["hashes", "marker", "extras", "annotation"]);
    documents.check("why", &place.run(&["why", "base", "--format=json"]).expect_code(0));
    documents.check("tree", &place.run(&["tree", "--format=json"]).expect_code(0));
    documents.check("tree", &place.run(&["tree", "--invert=base", "--format=json"]).expect_code(0));
}

fn verify(documents: &Documents) {
    let place = place(&World::new());
    place.file("requirements.txt", "a==1\nb==1\n");
    place.file(
        "list.json",
        r#"[{"name": "a", "version": "2"}, {"name": "pip", "version": "9"}, {"name": "x", "version": "1"}]"#,
    );
    let args = ["verify", "--installed=list.json", "requirements.txt", "--format=json"];
    documents.check("verify", &place.run(&args).expect_code(1));
}

fn metadata(documents: &Documents) {
    let place = place(&World::new());
    place.file(
        "setup.py",
        "from setuptools import setup\nsetup(name='web', install_requires=['a'], extras_require={'x': ['b', 'c']})\n",
    );
    documents.check("metadata", &place.run(&["metadata", "--format=json"]).expect_code(0));
}

fn fleet(documents: &Documents) {
    let fleet = checkouts();
    let check = |command: &str, args: &[&str], code| {
        let args = [&[command, "--format=json"], args].concat();
        documents.check(command, &fleet.run(&args).expect_code(code))
    };
    check("fleet", &[], 0);
    fleet.file("reana-ui/Dockerfile", "FROM node\n");
    check("fleet", &["--offline"], 0);
    for command in ["tag", "inputs"] {
        let answer = documents.check(command, &fleet.bare(&[command, "CLUSTER", "--format=json"]));
        assert!(answer["components"].as_array().is_some_and(|all| all.len() > 4), "{answer:#}");
    }
    check("bump", &["--dry-run"], 0);
    let answer = check("bump", &["--commit"], 0);
    assert_eq!(answer["written"], true);
}

fn images(documents: &Documents) {
    let server = IndexServer::new();
    let fleet = Fleet::at(&server.host(), &World::new());
    let labels = fleet.labels();
    let check = |command: &str, code| {
        documents.check(command, &fleet.run(&[command, "--format=json"]).expect_code(code))
    };
    check("labels", 0);
    check("guard", 4);
    server.put("/v2/reana/app/manifests/1.0", scripted(&server, &labels, ""));
    let answer = check("record", 0);
    assert_eq!(answer["images"].as_array().map(Vec::len), Some(1));
    let mut other = labels;
    other.insert("io.reana.lock.inputs".to_owned(), reana_testkit::registry::digest(b"other"));
    fleet.forget();
    server.put("/v2/reana/app/manifests/1.0", scripted(&server, &other, ""));
    let answer = check("guard", 1);
    assert!(answer["images"][0]["change"].is_object(), "{answer:#}");
}

fn running(documents: &Documents) {
    let place = place(&World::new());
    for name in ["pods", "nodes"] {
        place.file(&format!("{name}.json"), crate::running::said_once(&format!("api_v1_{name}.json")));
    }
    let inputs = ["running", "--input=pods.json", "--input=nodes.json", "--offline", "--format=json"];
    let check = |args: &[&str], code| {
        documents.check("running", &place.run(&[&inputs, args].concat()).expect_code(code))
    };
    let answer = check(&["--nodes"], 0);
    assert!(answer["pods"].as_array().is_some_and(|pods| pods.len() > 20), "{answer:#}");
    check(&["--trace"], 0);
    let answer = check(&["--drift"], 1);
    assert!(answer["tags"].as_array().is_some_and(|tags| !tags.is_empty()), "{answer:#}");
    let digest = format!("sha256:{}", "1".repeat(64));
    let values =
        |digest: &str| format!("a:\n  image: r/a:1@{digest}\nb:\n  image: r/b\nc:\n  image: '{{{{ x }}}}'\n");
    place.file("old.yaml", values(&digest)).file("new.yaml", values(&digest.replace('1', "2")));
    documents
        .check("images-lint", &place.run(&["images", "lint", "old.yaml", "--format=json"]).expect_code(1));
    let args = ["images", "diff", "old.yaml", "new.yaml", "--format=json"];
    documents.check("images-diff", &place.run(&args).expect_code(1));
}
