//! Commands to a real Redis from the command line, and to servers that are none.

use crate::stores::{FORTY, Redis, free_port, redis_tls};
use crate::support;
use crate::support::Place;
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

#[test]
fn commands_are_drawn_and_their_replies_counted_by_what_they_are() {
    let redis = Redis::start(&[]);
    let set =
        redis.run(&["-c", "4", "--no-preflight", "--command", "SET k:{{index}} '{{bytes(100)}} {{index}}'"]);
    set.assert_all("ok");
    assert_eq!(set.at("/operations/0/protocol"), "redis");
    assert_eq!(set.at("/operations/0/name"), "SET");
    assert_eq!(set.at("/origins/0/scheme"), "redis");
    assert_eq!(set.at("/origins/0/connections/redis/resp"), 2);
    assert_eq!(set.connections("opened"), 4);
    assert_eq!(redis.ask("DBSIZE\r\n", "\r\n"), ":40\r\n");
    // Half of the keys are there.
    for resp in ["2", "3"] {
        let args = ["-c", "2", "--resp", resp, "--let", "key=uniform(80)", "--command", "GET k:{{key}}"];
        let get = redis.run(&args);
        get.assert_all("ok");
        let codes = get.at("/codes");
        assert!(codes["ok"].as_u64() > Some(0) || codes["nil"].as_u64() > Some(0), "{codes}");
        assert_eq!(codes["ok"].as_u64().unwrap_or(0) + codes["nil"].as_u64().unwrap_or(0), 40, "{codes}");
    }
}

#[test]
fn errors_are_failures_by_their_first_word() {
    let redis = Redis::start(&[]);
    redis.ask("LPUSH list a\r\n", "\r\n");
    for (command, kind) in [
        ("GET list", "redis_wrongtype"),
        ("GET", "redis_err"),
        ("NOSUCH a", "redis_err"),
        ("EVALSHA 0000000000000000000000000000000000000000 0", "redis_noscript"),
        ("XGROUP CREATE s g 0 MKSTREAM EXTRA", "redis_err"),
    ] {
        redis.run(&["--command", command, "--no-preflight"]).assert_all_failed(kind);
    }
    let said =
        Place::new().call(&["run", &redis.url(), "-R", "10", "-n", "1", "--command", "GET list s3cret"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(
        said.stderr.contains("ERR wrong number of arguments") && !said.stderr.contains("s3cret"),
        "{said:?}"
    );
    let unknown =
        Place::new().call(&["run", &redis.url(), "-R", "10", "-n", "1", "--command", "NOSUCH s3cret"]);
    assert!(
        unknown.stderr.contains("unknown command 'NOSUCH'") && !unknown.stderr.contains("s3cret"),
        "{unknown:?}"
    );
}

#[test]
fn what_is_expected_of_a_reply_is_held_against_it() {
    let redis = Redis::start(&[]);
    redis.ask("SET j '{\"n\":7}'\r\nRPUSH l a b\r\n", ":2\r\n");
    for (command, expect, outcome) in [
        ("GET j", "json $.n == 7", "ok"),
        ("GET j", "json $.n == 8", "failed"),
        ("LRANGE l 0 -1", "contains=b", "ok"),
        ("LRANGE l 0 -1", "regex ^a\\nb$", "ok"),
        ("LRANGE l 0 -1", "contains=ab", "failed"),
        ("PING", "size=4", "ok"),
        ("GET j", "status=ok", "ok"),
        ("GET none", "status=ok", "failed"),
        ("GET none", "status=ok,nil", "ok"),
        ("GET l", "status=WRONGTYPE", "ok"),
    ] {
        let run = redis.run(&["--command", command, "--expect", expect, "--no-preflight"]);
        run.assert_all(outcome);
    }
}

#[test]
fn many_commands_go_over_one_connection_and_long_replies_are_passed_over() {
    let redis = Redis::start(&[]);
    redis.ask("SET long x\r\nSETRANGE long 3000000 x\r\n", ":3000001\r\n");
    let run = redis.run(&["-c", "1", "--depth", "16", "--command", "GET long"]);
    run.assert_all("ok");
    assert_eq!(run.connections("opened"), 1);
    assert!(run.count("/bytes_received") > 40 * 3_000_000, "{run:?}");
}

#[test]
fn passwords_users_and_databases_come_from_the_url_or_the_environment() {
    let redis = Redis::start(&["--requirepass", "s3cr3t:/pw"]);
    let at = |user: &str, database: &str| format!("redis://{user}127.0.0.1:{}/{database}", redis.port);
    for resp in ["2", "3"] {
        let more = ["--resp", resp, "--command", "SET a {{index}}", "-c", "2"];
        let url = at(":s3cr3t%3a%2fpw@", "3");
        let place = Place::new();
        let run = place.measure(&[&[url.as_str()], &FORTY[..], &more].concat());
        run.assert_all("ok");
        let document = place.text("out/run.json");
        assert!(!document.contains("s3cr3t") && document.contains("***@127.0.0.1"), "{document}");
        let url = at("default:s3cr3t%3a%2fpw@", "3");
        Place::new().measure(&[&[url.as_str()], &FORTY[..], &more].concat()).assert_all("ok");
    }
    assert_eq!(redis.ask("AUTH s3cr3t:/pw\r\nSELECT 3\r\nDBSIZE\r\n", ":"), "+OK\r\n+OK\r\n:1\r\n");
    let place = Place::new();
    let url = at("", "3");
    let run = ["run", &url, "-R", "200", "-n", "10", "--command", "GET a", "--json", "-o", "out"];
    for name in ["REDIS_PASSWORD", "REDISCLI_AUTH"] {
        let said = support::finish(place.command(&run).env(name, "s3cr3t:/pw"));
        said.run().assert_all("ok");
        std::fs::remove_dir_all(place.path().join("out")).expect("the folder");
    }
    for (url, part) in [
        (at("", ""), "refuses the connection: the target wants a password"),
        (at(":wrong@", ""), "refuses the connection: the target refuses the user or the password"),
        (at(":s3cr3t%3a%2fpw@", "99"), "refuses the connection: the target refuses the database"),
    ] {
        let said = Place::new().call(&["run", &url, "-R", "10", "-n", "1", "--command", "PING"]);
        assert_eq!(said.code(), Some(1), "{said:?}");
        assert!(said.stderr.contains(part) && !said.stderr.contains("s3cr3t"), "{part}: {}", said.stderr);
    }
    let run = Place::new().measure(
        &[&[at(":wrong@", "").as_str()], &FORTY[..], &["--command", "PING", "--no-preflight"]].concat(),
    );
    run.assert_all_failed("protocol_password_wrong");
}

#[test]
fn a_unix_socket_is_as_good() {
    let redis = Redis::start(&[]);
    let socket = redis.place.path().join("redis.sock");
    let socket = socket.to_str().expect("UTF-8");
    redis.run(&["--unix-socket", socket, "--command", "INCR n"]).assert_all("ok");
}

#[test]
fn a_full_server_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("redis://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"-ERR max number of clients reached\r\n");
            let _ = stream.read(&mut [0; 64]);
        }
    });
    let args = [&[url.as_str()], &FORTY[..], &["--command", "PING", "--no-preflight"]].concat();
    Place::new().measure(&args).assert_all_failed("protocol_max_clients");
    let said = Place::new().call(&["run", &url, "-R", "10", "-n", "1", "--command", "PING"]);
    assert!(said.stderr.contains("as many clients as it takes"), "{}", said.stderr);
}

#[test]
fn a_stall_is_felt_by_all_who_were_due_in_it() {
    for (connections, depth) in [("50", "1"), ("1", "64")] {
        let redis = Redis::start(&[]);
        let load = ["-R", "200", "-d", "3s", "-c", connections, "--depth", depth, "--command", "INCR n"];
        let running = Place::new();
        let started = running.start(&[&[redis.url().as_str()], &load[..]].concat());
        // From the run's first command on.
        while redis.ask("GET n\r\n", "\r\n").starts_with("$-1") {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(700));
        redis.signal(Signal::STOP);
        std::thread::sleep(Duration::from_secs(1));
        redis.signal(Signal::CONT);
        let run = started.wait().run();
        run.assert_all("ok");
        // 200 of 600 were due in it: the first waited for all of it, and a quarter of all for more than a quarter of it.
        for (q, at_least_ms) in [(0.99, 900), (0.75, 200)] {
            let (value, _) = run.quantile("response_time", q);
            assert!(value > at_least_ms * 1_000_000, "{connections} connections: {q} is {value} ns");
        }
    }
}

#[test]
fn a_server_that_ends_and_comes_back_costs_what_was_due() {
    let mut redis = Redis::start(&[]);
    let place = Place::new();
    let load = ["-R", "1000", "-d", "4s", "-c", "4", "--depth", "4", "--command", "INCR n"];
    let started = place.start(&[&[redis.url().as_str()], &load[..]].concat());
    while redis.ask("GET n\r\n", "\r\n").starts_with("$-1") {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(700));
    redis.end();
    std::thread::sleep(Duration::from_millis(500));
    redis.start_again();
    let run = started.wait().run();
    run.assert_accounts();
    assert!(run.failures("connect_refused") > 0 && run.arrivals("ok") > 1_500, "{run:?}");
    // Five until the pause is as long as it gets, and then one each 200 ms, had it been gone all the time; four at once to begin with.
    let refused = run.connections("refused");
    assert!(refused <= 4 + 5 + 4 * 5 && refused * 10 < run.failures("connect_refused"), "{run:?}");
    let kinds = ["connect_refused", "reset", "closed_early"].map(|kind| run.failures(kind));
    assert_eq!(kinds.iter().sum::<u64>(), run.arrivals("failed"), "{run:?}");
    assert!(run.connections("opened") > 4, "{run:?}");
    assert_eq!(run.arrivals("timed_out") + run.arrivals("unsent") + run.arrivals("unfinished"), 0, "{run:?}");
}

#[test]
fn retries_follow_what_a_command_does() {
    let redis = Redis::start(&[]);
    redis.ask("LPUSH list a\r\n", "\r\n");
    let run = redis.run(&["--command", "GET list", "--attempts", "3", "--no-preflight"]);
    run.assert_all_failed("redis_wrongtype");
    assert_eq!(run.at("/retries/attempts"), 40, "nothing was asked to be tried again");
    let args = ["--command", "GET list", "--attempts", "3", "--retry-on", "WRONGTYPE", "--no-preflight"];
    let run = redis.run(&args);
    run.assert_all_failed("redis_wrongtype");
    assert_eq!(run.at("/retries/attempts"), 120);
    let refused = ["run", &redis.url(), "-R", "10", "-n", "1", "--command", "INCR n", "--attempts", "3"];
    Place::new().call(&refused).refused(&["--retry-unsafe"]);
}

/// A server that answers each command with `bytes`, behind its answer to the greeting.
fn hostile(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                if stream.read(&mut buffer).ok()? == 0 {
                    return None;
                }
                stream.write_all(b"+PONG\r\n").ok()?;
                while stream.read(&mut buffer).ok()? > 0 {
                    stream.write_all(bytes).ok()?;
                }
                Some(())
            });
        }
    });
    format!("redis://{address}")
}

#[test]
fn hostile_replies_are_counted_by_what_is_wrong_with_them() {
    for (bytes, kind) in [
        (&b"*-2\r\n"[..], "protocol_bad_length"),
        (b"$9223372036854775808\r\n", "protocol_bad_length"),
        (b"$9223372036854775807\r\n", "too_large"),
        (b"$1\r\nab", "protocol_line_end"),
        (b"?\r\n", "protocol_unknown_type"),
        (b">1\r\n+a\r\n", "protocol_resp3_unasked"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "protocol_http_answer"),
        (b"-LOADING Redis is loading the dataset in memory\r\n", "redis_loading"),
        (b"-MOVED 1 127.0.0.1:1\r\n", "redis_moved"),
        (b"-WEIRD x\r\n", "redis_other"),
    ] {
        let args = [&FORTY[..], &["-c", "2", "--command", "GET a", "--no-preflight"]].concat();
        let run = Place::new().measure(&[&[hostile(bytes).as_str()], &args[..]].concat());
        run.assert_all_failed(kind);
    }
}

#[test]
fn a_server_of_another_kind_is_told_before_the_run() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("redis://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let said = Place::new().call(&["run", &url, "-R", "10", "-n", "5", "--command", "GET a"]);
    for part in ["the target answers in HTTP", "HTTP/1.1 400 Bad Request"] {
        assert!(said.stderr.contains(part), "{}", said.stderr);
    }
}

#[test]
fn a_plan_lists_commands() {
    let redis = Redis::start(&[]);
    let place = Place::new();
    let text = format!(
        "target = \"{}\"\n[load]\nrate = 400\nduration = \"500ms\"\n[connections]\nconnections = 2\ndepth = 4\n\
         [let]\nkey = \"zipf(1k)\"\n\
         [[requests]]\nurl = \"/2\"\nshare = \"75%\"\ncommand = \"GET k:{{{{key}}}}\"\n\
         [[requests]]\nname = \"write\"\nurl = \"/2\"\nshare = \"25%\"\ncommand = [\"SET\", \"k:{{{{key}}}}\", \"a s3cret {{{{index}}}}\"]\n",
        redis.url()
    );
    place.file("plan.toml", text);
    let run = place.measure(&["plan.toml", "--slo", "write: p99 < 5s"]);
    run.assert_all("ok");
    let operations: Vec<_> = (0..2).map(|i| run.at(&format!("/operations/{i}/name")).clone()).collect();
    assert_eq!(operations, ["GET", "write"]);
    assert_eq!(run.at("/operations/1/arrivals/ok"), 50);
    let shown = place.call(&["plan", "show", "plan.toml"]);
    assert!(
        shown.stdout.contains("GET k:{{0}}") || shown.stdout.contains("GET k:"),
        "{}{}",
        shown.stdout,
        shown.stderr
    );
    let tried = place.call(&["try", "plan.toml"]);
    assert_eq!(tried.code(), Some(0), "{tried:?}");
    assert!(tried.stdout.contains("> GET k:"), "{}", tried.stdout);
    assert!(tried.stdout.contains("expect status=ok|nil: holds"), "{}", tried.stdout);
    let miss = ["try", &redis.url(), "--command", "GET nothing", "--expect", "status=ok"];
    let missed = place.call(&miss);
    assert_eq!(missed.code(), Some(1), "{missed:?}");
    assert!(missed.stdout.contains("expect status=ok: DOES NOT HOLD (it is nil)"), "{}", missed.stdout);
    let again = place.call(&["show", "latest", "--arrival", "3"]);
    assert!(again.stdout.contains(" k:"), "{again:?}");
    let lines = ["--request", "80% GET a", "--request", "20% SET a 'b  c'"];
    let mixed = redis.run(&[&lines[..], &["-c", "1"]].concat());
    mixed.assert_all("ok");
    assert_eq!(redis.ask("GET a\r\n", "c\r\n"), "$4\r\nb  c\r\n");
    assert!(!mixed.document["command"].to_string().contains("b  c"), "{}", mixed.document["command"]);
}

#[test]
fn what_can_not_be_is_refused() {
    let url = "redis://127.0.0.1:9/0";
    for (args, part) in [
        (&[url][..], "can't send redis://127.0.0.1:9/0: no command is given"),
        (&["http://127.0.0.1:9/", "--command", "GET a"], "--command is for Redis"),
        (&["http://127.0.0.1:9/", "--resp", "3"], "--resp is for Redis"),
        (&[url, "--command", "GET a", "--depth", "65"], "at most 64"),
        (&[url, "--command", "GET a", "--match", "order"], "--match is for WebSockets"),
        (&[url, "--command", "GET a", "--http", "2"], "--http and --streams are for HTTP"),
        (&[url, "--command", "GET a", "-X", "POST"], "no methods"),
        (&[url, "--command", "GET a", "-H", "A: b"], "no headers"),
        (&[url, "--body", "GET a"], "Redis takes commands"),
        (&[url, "--sql", "SELECT 1"], "Redis takes commands"),
        (&[url, "--command", "GET a", "--stream", "sse"], "--stream is for answers of HTTP"),
        (&[url, "--command", "GET a", "--expect", "status=200"], "ok, nil or the first word of its error"),
        (&[url, "--command", "GET a", "--expect", "status=OK"], "status=nil"),
        (&[url, "--command", "GET a", "--attempts", "2", "--retry-on", "503"], "nil or LOADING"),
        (&["http://127.0.0.1:9/", "--expect", "status=nil"], "the status of HTTP is a number"),
        (&[url, "--command", "SUBSCRIBE a"], "one reply"),
        (&[url, "--command", "MULTI"], "hold-connection = true"),
        (&[url, "--command", "AUTH s3cret"], "greets by itself"),
        (&[url, "--command", "BLPOP a 0", "--depth", "2"], "leave --depth out"),
        (&[url, "--command", "80% GET a"], "--request '80% GET"),
        (&["redis://127.0.0.1:9/x", "--command", "GET a"], "a database number"),
        (&[url, "http://127.0.0.1:9/", "--command", "GET a"], "one protocol"),
        (&[url, "redis://127.0.0.1:9/1", "--command", "GET a"], "another user or database"),
    ] {
        let said = Place::new().call(&[&["run", "-R", "1", "-n", "1"], args].concat());
        said.refused(&[part]);
        assert!(!said.stderr.contains("s3cret"), "{}", said.stderr);
    }
}

#[test]
fn commands_go_over_tls() {
    let (place, port) = (Place::new(), free_port());
    let tls = redis_tls(&place, port);
    let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
    let _redis = Redis::start(&tls);
    let certificate = place.path().join("redis.crt");
    let trusted = ["--cacert", certificate.to_str().expect("UTF-8")];
    let url = |host: &str| format!("rediss://{host}:{port}");
    let load = [&FORTY[..], &["-c", "4", "--command", "SET k:{{index}} {{bytes(5000)}}"]].concat();
    for (host, more) in [("localhost", &trusted[..]), ("127.0.0.1", &["-k"])] {
        let url = url(host);
        let run = Place::new().measure(&[&[url.as_str()], &load[..], more].concat());
        run.assert_all("ok");
        assert_eq!(run.at("/origins/0/scheme"), "rediss");
        assert_eq!(run.connections("opened"), 4);
    }
    let said = Place::new().call(&[&["run", url("127.0.0.1").as_str()], &load[..], &trusted].concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.replace("\n    ", " ").contains("another name than the URL's"), "{said:?}");
}

#[test]
fn a_full_server_is_a_finding() {
    // Redis keeps 32 descriptors for itself.
    let redis = Redis::start(&["--maxclients", "4"]);
    let run = redis.run(&["-c", "8", "--command", "INCR n", "--no-preflight"]);
    assert!(run.has_finding("target_full") && run.connections("full") > 0, "{run:?}");
    let run = redis.run(&["-c", "2", "--command", "INCR n", "--no-preflight"]);
    assert!(!run.has_finding("target_full"), "{run:?}");
}

/// A script that takes 5 ms has a knee at 200/s.
#[test]
fn the_knee_of_a_server_is_found() {
    let redis = Redis::start(&[]);
    let place = Place::new();
    let script = "local t = redis.call('TIME') local from = t[1] * 1000000 + t[2] \
                  repeat t = redis.call('TIME') until t[1] * 1000000 + t[2] - from > 5000 return 1";
    let url = redis.url();
    let command = ["--command", "EVAL", "--command", script, "--command", "0", "-c", "4"];
    let search =
        ["--slo", "p90 < 200ms", "--start", "25", "--within", "30s", "--quiet", "--json", "-o", "out"];
    let times = ["--settle", "200ms", "--rest", "200ms", "--measure", "4s", "--measure-max", "4s"];
    let said = place.call(&[&["knee", url.as_str()], &command[..], &search, &times].concat());
    let document: serde_json::Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    let trials = document["trials"].as_array().expect("trials");
    assert!(
        !trials.is_empty() && document["schema"].as_str().is_some_and(|s| s.contains("knee")),
        "{document}"
    );
    let rates: Vec<f64> = trials.iter().filter_map(|trial| trial["offered_per_s"].as_f64()).collect();
    assert_eq!(rates.len(), trials.len(), "{document}");
    // Whatever this machine does meanwhile, no more than 200/s are ever met.
    let met = trials.iter().zip(&rates).filter(|(trial, _)| trial["verdict"] == "met");
    assert!(met.map(|(_, rate)| *rate).all(|rate| rate < 230.0), "{document}");
    assert!(rates.iter().any(|rate| *rate > 40.0), "{rates:?}");
}

/// The same command against two servers, one of which is made to take longer.
#[test]
fn a_slower_server_is_told_from_another() {
    let (fast, slow) = (Redis::start(&[]), Redis::start(&[]));
    for (redis, turns) in [(&fast, 10), (&slow, 60_000)] {
        redis.ask(&format!("SET turns {turns}\r\n"), "+OK");
    }
    let script =
        "local n = redis.call('GET', 'turns') for i = 1, n do redis.call('EXISTS', 'a') end return n";
    let command =
        ["--command", "EVAL", "--command", script, "--command", "0", "-R", "20", "-d", "2s", "-c", "4"];
    let (place, urls) = (Place::new(), [fast.url(), slow.url()]);
    let args = [
        &["compare", urls[0].as_str(), urls[1].as_str(), "--runs", "5", "--json", "-o", "out"],
        &command[..],
    ];
    let said = place.call(&args.concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert!(document["schema"].as_str().is_some_and(|s| s.contains("compare")), "{document}");
}
