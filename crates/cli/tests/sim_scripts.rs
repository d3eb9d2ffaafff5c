//! Scripts in the virtual world: the same requests as in a run with one thread, and the same failures.

use crate::scripts::HALF_FAILS;
use crate::support::Place;
use crate::support::hostile::healthy;

const WORLD: [&str; 7] = ["-R", "200", "-d", "1s", "--server", "service=1ms", "--script"];

/// Simulates the script, into a folder of its own.
fn sim<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["sim"], &WORLD[..], &["s.lua", "--json", "-o", "sim"], more].concat()
}

fn live<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[url, "-R", "200", "-d", "1s", "--script", "s.lua", "--no-preflight"], more].concat()
}

/// Runs it against a server, with a connection for each thread.
fn send(url: &str, place: &Place, threads: &str) {
    let own = ["-t", threads, "-c", threads, "--json", "-o", threads];
    place.call(&[&["run"], &live(url, &own)[..]].concat()).run().assert_all("ok");
}

/// One thread makes one request after the other, and so does a simulation. A script that keeps nothing makes the same in each
/// thread.
#[test]
fn a_simulation_makes_the_requests_of_a_run() {
    let script = "local n = 0
         function request()
            n = n + 1
            local text = wrk.format('POST', '/items/' .. math.random(1000), nil, 'n=' .. n)
            print('made ' .. text:match('POST (%S+)') .. ' ' .. text:match('n=%d+'))
            return text
         end";
    let (server, place) = (healthy(), Place::new());
    place.file("s.lua", script);
    send(&server.url(), &place, "1");
    let asked = server.seen();
    let asked = asked.iter().map(|one| format!("{} {}", one.target, String::from_utf8_lossy(&one.body)));
    let said = place.call(&sim(&["--seed", "1"]));
    let made: Vec<String> =
        said.stderr.lines().filter_map(|line| line.strip_prefix("made ")).map(str::to_string).collect();
    assert_eq!(made.len(), 200, "{said:?}");
    assert_eq!(asked.collect::<Vec<String>>(), made);
    let run = said.run();
    run.assert_all("ok");
    assert_eq!(run.at("/plan/values/0/name"), "s.lua");
    // Another seed draws other numbers.
    let other = Place::new();
    other.file("s.lua", script);
    let other = other.call(&sim(&["--seed", "2"]));
    assert!(!other.stderr.contains(&made[..20].join("\nmade ")), "{other:?}");

    let (fixed, place) = (healthy(), Place::new());
    place.file("s.lua", "wrk.method, wrk.path, wrk.body = 'PUT', '/same', 'abc'");
    for (threads, count) in [("1", 200), ("2", 400), ("3", 600), ("7", 800)] {
        send(&fixed.url(), &place, threads);
        let seen = fixed.seen();
        let is_same = |one: &crate::support::hostile::Seen| {
            (one.method.as_str(), one.target.as_str(), one.body.as_slice()) == ("PUT", "/same", &b"abc"[..])
        };
        assert!(seen.len() == count && seen.iter().all(is_same), "{threads}: {}", seen.len());
    }
    place.call(&sim(&[])).run().assert_all("ok");
}

#[test]
fn what_a_script_fails_fails_in_a_simulation_too() {
    let (server, place) = (healthy(), Place::new());
    let done = "function done(summary) print('done ' .. summary.requests) end";
    place.file("s.lua", format!("{HALF_FAILS}{done}"));
    let run = place.measure(&live(&server.url(), &["-t", "1"]));
    let said = place.call(&sim(&[]));
    assert!(said.stderr.contains("s.lua:4: every fourth") && said.stderr.contains("done 100"), "{said:?}");
    let simulated = said.run();
    for run in [&run, &simulated] {
        run.assert_accounts();
        assert_eq!((run.arrivals("ok"), run.failures("script_failed")), (100, 100));
        assert!(run.has_finding("script_failed"), "{run:?}");
        assert_eq!(run.code, Some(3));
    }
}

#[test]
fn a_script_hears_the_simulated_answers_and_ends_the_load() {
    let place = Place::new();
    place.file(
        "s.lua",
        "local n = 0
         function response(status, headers, body)
            n = n + 1
            assert(body == '' and next(headers) == nil)
            if status == 500 then error('no') end
            if n == 50 then wrk.thread:stop() end
         end",
    );
    let run = place.call(&sim(&[])).run();
    run.assert_all("ok");
    // The fiftieth answer comes 1 ms after its request, which is due at 245 ms.
    assert_eq!(run.arrivals("scheduled"), 50, "{run:?}");
    let again = place.call(&["report", "sim", "--json"]).run();
    assert_eq!(again.at("/arrivals"), run.at("/arrivals"));
    // An answer that has failed already keeps its own kind.
    let server = ["sim", "-R", "20", "-d", "2s", "--server", "service=1ms error=1/2", "--script", "s.lua"];
    let run = place.call(&[&server[..], &["--json", "-o", "errors"]].concat()).run();
    run.assert_accounts();
    assert!(run.failures("status_5xx") > 5 && run.failures("script_failed") == 0, "{run:?}");
}

/// What the plan says of its request is the script's to change, and names are those of the simulated target.
#[test]
fn a_script_of_a_plan_is_given_its_request() {
    let place = Place::new();
    place.file(
        "s.lua",
        "function setup(thread) thread.addr = wrk.lookup(wrk.host, 'http')[1] assert(wrk.connect(thread.addr)) end
         function init(args) print(table.concat({wrk.method, wrk.path, wrk.headers['X-A'], args[1], wrk.host}, ' ')) end",
    );
    let head = "target = \"http://shop.test/a\"\n[load]\nrate = 10\nduration = \"1s\"\n[world]\nserver = \"service=1ms\"\n";
    let request =
        "[request]\nscript = \"s.lua\"\nscript-arg = [\"x\"]\nmethod = \"PUT\"\nheader = [\"X-A: 1\"]\n";
    place.file("plan.toml", format!("{head}{request}"));
    // What is checked is not run.
    let checked = place.call(&["plan", "check", "plan.toml"]);
    assert!(checked.code() == Some(0) && !checked.stderr.contains("PUT"), "{checked:?}");
    let said = place.call(&["sim", "plan.toml", "--json", "-o", "out"]);
    assert!(said.stderr.contains("PUT /a 1 x shop.test"), "{said:?}");
    said.run().assert_all("ok");
}

#[test]
fn what_a_simulated_script_has_no_place_for_is_refused() {
    let place = Place::new();
    let refused = |script: &str, more: &[&str], why: &str| {
        place.file("s.lua", script);
        place.call(&sim(more)).refused(&["--script", why]);
    };
    refused("wrk.body = = 1", &[], "s.lua:1: unexpected symbol near '='");
    refused("function init() x.y = 1 end", &[], "s.lua:1: attempt to index global 'x'");
    refused("function delay() return 5 end", &[], "delay()");
    refused("x = 1", &["--client", "wrk"], "--client");
    refused("x = 1", &["--http", "2"], "makes requests of HTTP/1.1");
    let closed = ["sim", "--closed", "2", "-d", "1s", "--server", "service=1ms", "--script", "s.lua"];
    place.file("s.lua", "function delay() return 5 end");
    place.call(&closed).refused(&["delay() is not simulated", "--think"]);
    let none = ["sim", "-R", "1", "--server", "service=1ms", "--script", "none.lua"];
    place.call(&none).refused(&["can't read the script \"none.lua\""]);
    place.call(&["sim", "-R", "1", "--server", "service=1ms", "--", "a"]).refused(&["add --script FILE"]);
    let requests = "[load]\nrate = 1\n[request]\nscript = \"s.lua\"\n[world]\nserver = \"service=1ms\"\n\
                    [[requests]]\nurl = \"/a\"\n";
    place.file("plan.toml", requests);
    place.call(&["sim", "plan.toml"]).refused(&["makes all requests"]);
}
