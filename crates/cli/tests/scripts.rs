//! wrk's scripts, through the binary.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, answer, healthy, ok};
use std::collections::BTreeSet;
use std::path::Path;

/// A run with this script, before the load of which nobody asks.
fn args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[url, "-R", "200", "-d", "1s", "--script", "s.lua", "--no-preflight"], more].concat()
}

/// The second request of every four is an error, the third is none of HTTP.
pub(crate) const HALF_FAILS: &str = "local n = 0
    function request()
        n = n + 1
        if n % 4 == 2 then error('every fourth') end
        if n % 4 == 3 then return 'GET / HTTP/1.1\\r\\n\\r\\na body' end
        return wrk.format()
    end
";

#[test]
fn a_script_makes_every_request() {
    let (server, place) = (healthy(), Place::new());
    place.file(
        "s.lua",
        "local threads = {}
         function setup(thread) threads[#threads + 1] = thread thread:set('id', #threads) end
         function init(args) n, who = 0, args[1] .. args[2] .. id end
         function request()
            n = n + 1
            if n % 2 == 0 then return wrk.format('POST', '/cart', nil, who .. '-' .. n) end
            return wrk.format(nil, '/items/' .. who .. '-' .. n)
         end
         function done(summary, latency, requests)
            io.write('done ', summary.requests, ' of ', #threads, ' ', tostring(latency.max > 0), '\\n')
         end",
    );
    let url = server.url();
    let said = place.call(
        &[&["run"], &args(&url, &["-t", "2", "-c", "2", "--json", "-o", "out"])[..], &["--", "a", "b"]]
            .concat(),
    );
    assert!(said.stderr.contains("done 200 of 2 true"), "{said:?}");
    let run = said.run();
    run.assert_all("ok");
    let seen = server.seen();
    let asked: BTreeSet<String> = seen
        .iter()
        .map(|one| match one.method.as_str() {
            "GET" => one.target.clone(),
            _ => format!("{} {}", one.target, String::from_utf8_lossy(&one.body)),
        })
        .collect();
    // Each of two workers has its own state, and sends its first hundred.
    let expected = ["ab1", "ab2"].into_iter().flat_map(|who| {
        (1..=100).map(move |n| match n % 2 {
            0 => format!("/cart {who}-{n}"),
            _ => format!("/items/{who}-{n}"),
        })
    });
    assert_eq!(asked, expected.collect());
    assert!(seen.iter().all(|one| one.header("user-agent").is_none() && one.header("host").is_some()));
    assert_eq!(run.document["plan"]["values"][0]["name"], "s.lua");
    let command = run.document["command"].to_string();
    assert!(command.contains("(1 bytes)") && !command.contains("\"b\""), "{command}");
}

#[test]
fn users_who_wait_pause_as_long_as_the_script_says() {
    let (server, place) = (healthy(), Place::new());
    place.file("s.lua", "function delay() return 50 end");
    let url = server.url();
    let closed = [&url, "--closed", "2", "-d", "1s", "--script", "s.lua", "--no-preflight"];
    let run = place.measure(&closed);
    run.assert_all("ok");
    // At most 22 pauses of 50 ms while they begin and are measured, and the request before the first of them.
    let sent = server.seen().len();
    assert!((4..=46).contains(&sent), "{sent}");
    let law = run.document["plan"]["values"][0]["law"].as_str().expect("a law");
    assert!(law.contains("delay()"), "{law}");
    place.call(&[&["run"], &closed[..], &["--think", "5ms"]].concat()).refused(&["--think", "delay()"]);
    place.call(&[&["run"], &args(&url, &[])[..]].concat()).refused(&["delay()", "--closed"]);
}

#[test]
fn several_requests_at_once_are_an_arrival_each() {
    let (server, place) = (healthy(), Place::new());
    place.file(
        "s.lua",
        "function init(args)
            local r = {}
            r[1] = wrk.format(nil, '/?foo')
            r[2] = wrk.format('POST', '/?bar', nil, 'a=1')
            r[3] = wrk.format(nil, '/?baz')
            req = table.concat(r)
         end
         function request() return req end",
    );
    let run = place.measure(&[&args(&server.url(), &["-t", "2", "-c", "2"])[..]].concat());
    run.assert_all("ok");
    let count = |target: &str| server.seen().iter().filter(|one| one.target == target).count();
    let [foo, bar, baz] = ["/?foo", "/?bar", "/?baz"].map(count);
    assert_eq!(foo + bar + baz, 200);
    // Each thread ends somewhere among its three.
    assert!(foo >= bar && bar >= baz && foo - baz <= 2, "{foo} {bar} {baz}");
    let tried = place.call(&["try", &server.url(), "--script", "s.lua"]);
    assert!(tried.code() == Some(0) && tried.stdout.contains("GET /?***"), "{tried:?}");
}

#[test]
fn answers_change_what_is_asked() {
    let server = Hostile::start(|seen| {
        match (seen.target.as_str(), seen.header("x-token")) {
        ("/login", _) => Act::Answer(
            b"HTTP/1.1 201 Created\r\nX-Token: secret\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
                .to_vec(),
        ),
        (_, Some("secret")) => Act::Answer(ok()),
        _ => Act::Answer(answer("403 Forbidden", "")),
    }
    });
    let place = Place::new();
    place.file(
        "s.lua",
        "local path = '/login'
         function request() return wrk.format(nil, path) end
         function response(status, headers, body)
            if path == '/login' then
               assert(status == 201 and body == 'abcde')
               path, wrk.headers['X-Token'] = '/items', headers['X-Token']
            end
         end",
    );
    let run = place.measure(&args(&server.url(), &["-c", "1"]));
    run.assert_all("ok");
    assert_eq!(server.seen().iter().filter(|one| one.target == "/login").count(), 1);
    let law = run.document["plan"]["values"][0]["law"].to_string();
    assert!(law.contains("another run may ask something else"), "{law}");
}

#[test]
fn what_a_script_fails_is_not_the_targets() {
    let (server, place) = (healthy(), Place::new());
    place.file("s.lua", HALF_FAILS);
    let said = place.call(&[&["run"], &args(&server.url(), &["--json", "-o", "out"])[..]].concat());
    assert!(said.stderr.contains("s.lua:4: every fourth"), "{said:?}");
    assert_eq!(said.code(), Some(3));
    let run = said.run();
    run.assert_accounts();
    assert_eq!((run.arrivals("ok"), run.failures("script_failed")), (100, 100));
    assert!(run.has_finding("script_failed"), "{run:?}");
    assert_eq!(server.seen().len(), 100);
}

#[test]
fn try_sends_its_first_request_and_no_other_can_be_told() {
    let (server, place) = (healthy(), Place::new());
    place.file("s.lua", "function request() return wrk.format('PUT', '/first', nil, 'abc') end");
    let url = server.url();
    let tried = place.call(&["try", &url, "-R", "10", "--script", "s.lua"]);
    assert_eq!(tried.code(), Some(0), "{tried:?}");
    assert!(tried.stdout.contains("PUT /first"), "{tried:?}");
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].target.as_str(), seen[0].body.as_slice()), (1, "/first", &b"abc"[..]));
    let numbered = place.call(&["try", &url, "-R", "10", "--script", "s.lua", "--arrival", "3"]);
    assert!(numbered.code() == Some(2) && numbered.stderr.contains("leave it out"), "{numbered:?}");
    place.measure(&args(&url, &[]));
    let shown = place.call(&["show", "latest", "--arrival", "3"]);
    assert!(shown.code() == Some(2) && shown.stderr.contains("made by a script"), "{shown:?}");
}

#[test]
fn a_script_can_end_the_load() {
    let (server, place) = (healthy(), Place::new());
    place.file(
        "s.lua",
        "local n = 0
         function response() n = n + 1 if n == 50 then wrk.thread:stop() end end",
    );
    let run =
        place.measure(&[&server.url(), "-R", "200", "-d", "60s", "--script", "s.lua", "--no-preflight"]);
    run.assert_accounts();
    assert_eq!(run.at("/status"), "complete");
    assert_eq!(run.arrivals("ok"), run.arrivals("scheduled"), "{run:?}");
    assert!((50..400).contains(&run.arrivals("scheduled")), "{run:?}");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_sent() {
    let (server, place) = (healthy(), Place::new());
    let url = server.url();
    let refused = |script: &str, more: &[&str], expected: &str| {
        place.file("s.lua", script);
        let said = place.call(&[&["run"], &args(&url, more)[..]].concat());
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert!(said.stderr.contains(expected), "{expected}: {said:?}");
    };
    refused("wrk.body = = 1", &[], "s.lua:1: unexpected symbol near '='");
    refused("function init() x.y = 1 end", &[], "s.lua:1: attempt to index global 'x'");
    refused("function delay() return 5 end", &[], "delay()");
    refused("function request() return wrk.format() .. 'a=1' end", &[], "needs its Content-Length");
    refused("wrk.method = 'CONNECT'", &[], "CONNECT");
    refused("x = 1", &["--http", "2"], "makes requests of HTTP/1.1");
    refused("x = 1", &["--let", "i=uniform(5)"], "no request uses it");
    refused("x = 1", &[&url], "give one URL");
    refused("x = 1", &["--request", "/a", "--request", "/b"], "give one URL");
    refused("x = 1", &["--request", "100% GET /a"], "leave --request and shares out");
    refused("x = 1", &["--let", "i=uniform(5)", "-H", "A: {{i}}"], "templates");
    let unread = place.call(&["run", &url, "-R", "1", "--script", "none.lua"]);
    assert!(
        unread.code() == Some(2) && unread.stderr.contains("can't read the script \"none.lua\""),
        "{unread:?}"
    );
    let without = place.call(&["run", &url, "-R", "1", "--", "a"]);
    assert!(without.code() == Some(2) && without.stderr.contains("add --script FILE"), "{without:?}");
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn a_script_that_does_not_come_back_is_ended() {
    let (server, place) = (healthy(), Place::new());
    place.file("s.lua", "function request() while true do end end");
    let url = server.url();
    let said = place.call(&[&["run"], &args(&url, &[])[..]].concat());
    assert!(said.code() == Some(2) && said.stderr.contains("s.lua has not come back for 10 s"), "{said:?}");
    assert_eq!(server.seen().len(), 0);
}

/// It sleeps, so that no machine is too fast for it: a second of load takes 1.6 s of it at the least.
#[test]
fn what_a_script_takes_is_no_fault_of_the_target() {
    let (server, place) = (healthy(), Place::new());
    place.file(
        "s.lua",
        "local n = 0
         function request() n = n + 1 os.execute('sleep 0.004') return wrk.format(nil, '/' .. n) end",
    );
    let args = ["-R", "400", "-d", "5s", "-t", "1", "--timeout", "2s", "--script", "s.lua", "--no-preflight"];
    let run = place.measure(&[&[&server.url()[..]], &args[..]].concat());
    run.assert_accounts();
    assert_eq!(run.at("/validity/status"), "invalid", "{:#}", run.at("/validity"));
    assert!(!run.has_finding("saturated"), "{:#}", run.at("/validity"));
    let findings = run.at("/validity/findings").as_array().expect("a list");
    let blames_script = |finding: &&serde_json::Value| {
        finding["severity"] == "invalidates"
            && finding["code"]
                .as_str()
                .is_some_and(|code| code.starts_with("generator_") || code == "sent_below_offered")
            && finding["remedy"].as_str().is_some_and(|remedy| remedy.contains("The script s.lua runs in"))
    };
    assert!(findings.iter().any(|finding| blames_script(&finding)), "{findings:#?}");
    let lag = run.at("/lag_causes");
    let ns = |cause: &str| lag[cause].as_f64().unwrap_or_else(|| panic!("no {cause} in {lag}"));
    assert!(ns("generator_ns") > 3.0 * (ns("connecting_ns") + ns("no_connection_ns")), "{lag}");
}

/// As wrk publishes it, and what its SCRIPTING says of values.
#[test]
fn wrks_setup_and_report_say_what_they_say_there() {
    let (server, place) = (healthy(), Place::new());
    place.file(
        "s.lua",
        r#"
local counter = 1
local threads = {}

function setup(thread)
   thread:set("id", counter)
   table.insert(threads, thread)
   counter = counter + 1
end

function init(args)
   requests  = 0
   responses = 0

   local msg = "thread %d created"
   print(msg:format(id))
end

function request()
   requests = requests + 1
   return wrk.request()
end

function response(status, headers, body)
   responses = responses + 1
end

function done(summary, latency, requests)
   for index, thread in ipairs(threads) do
      local id        = thread:get("id")
      local requests  = thread:get("requests")
      local responses = thread:get("responses")
      local msg = "thread %d made %d requests and got %d responses"
      print(msg:format(id, requests, responses))
   end
   io.write("------------------------------\n")
   for _, p in pairs({ 50, 90, 99, 99.999 }) do
      n = latency:percentile(p)
      io.write(string.format("%g%%,%d\n", p, n))
   end
   local all, last = 0, 0
   for i = 1, #latency do
      local value, count = latency(i)
      assert(value > last and count > 0)
      all, last = all + count, value
   end
   print(string.format("%d values, the last is the largest: %s", all, tostring(last == latency.max)))
   print(string.format("%d seconds or fewer", #requests))
end
"#,
    );
    let said =
        place.call(&[&["run"], &args(&server.url(), &["-t", "2", "-c", "2", "-o", "out"])[..]].concat());
    for line in [
        "thread 1 created",
        "thread 2 made 100 requests and got 100 responses",
        "99.999%,",
        "200 values, the last is the largest: true",
        "1 seconds or fewer",
    ] {
        assert!(said.stderr.contains(line), "{line:?}: {said:?}");
    }
    assert!(!said.stderr.contains("done() failed"), "{said:?}");
}

#[test]
fn the_example_runs_against_a_server() {
    let (server, place) = (healthy(), Place::new());
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/script.toml");
    let said = place.call(&[
        "run",
        example.to_str().expect("UTF-8"),
        &server.url(),
        "-d",
        "1s",
        "--json",
        "-o",
        "out",
    ]);
    assert!(said.stderr.contains("500 answers, p99"), "{said:?}");
    said.run().assert_all("ok");
    let seen = server.seen();
    // One was asked before the run.
    assert_eq!(seen.iter().filter(|one| one.method == "POST").count(), 50);
    assert!(seen.iter().all(|one| one.header("x-client") == Some("shop")));
}
