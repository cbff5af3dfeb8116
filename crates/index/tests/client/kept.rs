//! The cache.

use reana_index::Settings;
use reana_testkit::{IndexServer, Reply};

use crate::{
    OneWheel, a_minute_later, an_hour_later, bare, cached, client, folder, name, page, settings, sha256_key,
    show, target,
};

fn one() -> Reply {
    Reply::json(page(&[("a-1.0.tar.gz", "")]))
}

fn two() -> Reply {
    Reply::json(page(&[("a-2.0.tar.gz", "")]))
}

#[test]
fn a_fresh_page_is_not_asked_for_and_a_stale_one_is() {
    let (server, cache) = (IndexServer::new(), folder());
    let run = |clock| show(&client(Settings { clock, ..cached(settings(&server), &cache) }));
    server.put("/simple/a/", one().with("Cache-Control", "max-age=600"));
    assert_eq!(run(crate::now), "1.0: a-1.0.tar.gz");
    server.put("/simple/a/", two().with("Cache-Control", "max-age=600"));
    assert_eq!(run(a_minute_later), "1.0: a-1.0.tar.gz");
    assert_eq!(server.take_log().len(), 1);
    assert_eq!(run(an_hour_later), "2.0: a-2.0.tar.gz");
}

#[test]
fn an_unchanged_page_is_asked_for_by_its_etag() {
    let (server, cache) = (IndexServer::new(), folder());
    let run = |clock| show(&client(Settings { clock, ..cached(settings(&server), &cache) }));
    server.put("/simple/a/", one().with_etag().with("Cache-Control", "max-age=600"));
    for clock in [crate::now, an_hour_later, an_hour_later] {
        assert_eq!(run(clock), "1.0: a-1.0.tar.gz");
    }
    // The second run made it fresh for the third.
    assert_eq!(server.take_log(), ["200 /simple/a/", "304 /simple/a/"]);
    // A clock that went back makes nothing fresh.
    assert_eq!(run(crate::now), "1.0: a-1.0.tar.gz");
    assert_eq!(server.take_log(), ["304 /simple/a/"]);
}

#[test]
fn without_an_etag_the_date_is_asked_by() {
    let (server, cache) = (IndexServer::new(), folder());
    let run = || show(&client(cached(settings(&server), &cache)));
    server.put("/simple/a/", one().with("Last-Modified", "Wed, 20 May 2020 07:00:00 GMT"));
    assert_eq!([run(), run()], ["1.0: a-1.0.tar.gz", "1.0: a-1.0.tar.gz"]);
    assert_eq!(server.take_log(), ["200 /simple/a/", "304 /simple/a/"]);
}

#[test]
fn without_either_the_page_is_asked_for_whole() {
    let (server, cache) = (IndexServer::new(), folder());
    let run = || show(&client(cached(settings(&server), &cache)));
    server.put("/simple/a/", one());
    assert_eq!([run(), run()], ["1.0: a-1.0.tar.gz", "1.0: a-1.0.tar.gz"]);
    server.put("/simple/a/", two());
    assert_eq!(run(), "2.0: a-2.0.tar.gz");
    server.put("/simple/a/", Reply::status(404));
    assert_eq!(run(), "unknown");
    assert_eq!(server.take_log().len(), 4);
}

#[test]
fn an_unknown_name_is_remembered_too() {
    let (server, cache) = (IndexServer::new(), folder());
    let run = |clock| show(&client(Settings { clock, ..cached(settings(&server), &cache) }));
    server.put("/simple/a/", Reply::status(404).with("Cache-Control", "max-age=600"));
    assert_eq!([run(crate::now), run(a_minute_later)], ["unknown", "unknown"]);
    assert_eq!(server.take_log(), ["404 /simple/a/"]);
}

#[test]
fn offline_takes_what_is_there_however_old() {
    let (server, cache) = (IndexServer::new(), folder());
    let offline = |clock| {
        let settings = Settings { clock, offline: true, ..cached(settings(&server), &cache) };
        bare(&server, &show(&client(settings)))
    };
    assert_eq!(offline(crate::now), "http://HOST/simple/a/: not in the cache, and offline");
    server.put("/simple/a/", one());
    show(&client(cached(settings(&server), &cache)));
    let _ = server.take_log();
    assert_eq!(offline(an_hour_later), "1.0: a-1.0.tar.gz");
    assert_eq!(server.take_log(), Vec::<String>::new());
}

#[test]
fn refresh_asks_for_fresh_pages_too() {
    let (server, cache) = (IndexServer::new(), folder());
    server.put("/simple/a/", one().with_etag().with("Cache-Control", "max-age=600"));
    let run = |refresh| show(&client(Settings { refresh, ..cached(settings(&server), &cache) }));
    run(false);
    run(true);
    assert_eq!(server.take_log(), ["200 /simple/a/", "304 /simple/a/"]);
}

#[test]
fn no_store_is_obeyed() {
    let (server, cache) = (IndexServer::new(), folder());
    server.put("/simple/a/", one().with("Cache-Control", "no-store, max-age=600"));
    let run = || show(&client(cached(settings(&server), &cache)));
    assert_eq!([run(), run()], ["1.0: a-1.0.tar.gz", "1.0: a-1.0.tar.gz"]);
    assert_eq!(server.take_log().len(), 2);
}

#[test]
fn a_page_from_before_the_moment_looked_at_is_asked_for() {
    let (server, cache) = (IndexServer::new(), folder());
    let dated = page(&[("a-1.0.tar.gz", r#", "upload-time": "2020-05-01T00:00:00Z""#)]);
    server.put("/simple/a/", Reply::json(dated).with("Cache-Control", "max-age=600"));
    let run = |exclude_newer| {
        let settings = Settings { exclude_newer, clock: a_minute_later, ..cached(settings(&server), &cache) };
        show(&client(settings))
    };
    show(&client(cached(settings(&server), &cache)));
    assert_eq!(run(Some(crate::now())), "1.0: a-1.0.tar.gz");
    assert_eq!(server.take_log().len(), 1);
    assert_eq!(run(Some(a_minute_later())), "1.0: a-1.0.tar.gz");
    assert_eq!(server.take_log().len(), 1);
}

#[test]
fn damaged_entries_are_fetched_again() {
    let (server, cache) = (IndexServer::new(), folder());
    server.put("/simple/a/", one().with("Cache-Control", "max-age=600"));
    let run = || show(&client(cached(settings(&server), &cache)));
    run();
    for path in files_below(cache.path()) {
        std::fs::write(path, "rubbish").expect("to write");
    }
    assert_eq!([run(), run()], ["1.0: a-1.0.tar.gz", "1.0: a-1.0.tar.gz"]);
    assert_eq!(server.take_log().len(), 2);
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn many_clients_share_a_folder() {
    let (server, cache) = (IndexServer::new(), folder());
    let names: Vec<String> = (0..20).map(|number| format!("p{number}")).collect();
    for name in &names {
        let page = page(&[(&format!("{name}-1.0.tar.gz"), "")]);
        server.put(&format!("/simple/{name}/"), Reply::json(page).with("Cache-Control", "max-age=600"));
    }
    let run = || {
        let client = client(cached(settings(&server), &cache));
        let known = names.iter().map(|text| client.listing(&name(text)).expect("a page").versions().len());
        assert_eq!(known.sum::<usize>(), names.len());
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(run);
        }
    });
    let _ = server.take_log();
    run();
    assert_eq!(server.take_log(), Vec::<String>::new());
    let is_stray =
        |path: &std::path::PathBuf| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with('.'));
    let strays = files_below(cache.path()).iter().filter(|path| is_stray(path)).count();
    assert_eq!(strays, 0);
}

#[test]
fn metadata_is_kept_for_good_under_the_files_hash() {
    let cache = folder();
    let sha256 = sha256_key(&OneWheel::new("").wheel.bytes());
    let one = OneWheel::new(&format!(r#"{sha256}, "core-metadata": true"#));
    one.server.put(&one.beside(), Reply::ok("text/plain", one.wheel.metadata()));
    let first = client(cached(settings(&one.server), &cache));
    let file = one.dist_file(&first);
    let answer = first.metadata(&name("a"), &file, &target()).expect("an answer");
    assert_eq!(one.server.take_log(), [format!("200 {}", one.beside())]);
    let offline = Settings { offline: true, clock: an_hour_later, ..cached(settings(&one.server), &cache) };
    assert_eq!(client(offline).metadata(&name("a"), &file, &target()).expect("an answer"), answer);
    assert_eq!(one.server.take_log(), Vec::<String>::new());
}
