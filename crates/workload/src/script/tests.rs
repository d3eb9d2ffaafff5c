mod shares;

use super::*;

/// A network with one name.
struct OneName;

impl Net for OneName {
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<String>, String> {
        match (host, service) {
            ("a.test", "80" | "http") => Ok(vec!["10.0.0.1:80".into(), "10.0.0.2:80".into()]),
            _ => Err(format!("there is no {host}")),
        }
    }

    fn connect(&self, address: &str) -> bool {
        address == "10.0.0.2:80"
    }
}

fn opened(source: &str, change: impl FnOnce(&mut Opening<'_>)) -> Result<Script, ScriptError> {
    let headers = [("X-Flag".to_string(), "yes".to_string())];
    let (args, addresses) = (["one".to_string()], ["10.0.0.1:80".to_string()]);
    let mut opening = Opening {
        name: "s.lua",
        source: source.as_bytes(),
        url: "http://a.test/p?q=1",
        scheme: "http",
        host: "a.test",
        port: None,
        authority: "a.test",
        path: "/p?q=1",
        method: "GET",
        headers: &headers,
        body: None,
        args: &args,
        is_closed: false,
        workers: 2,
        shares: WorkerShares { first: 0, of: 2 },
        stops: Stops::Load,
        seed: 1,
        addresses: &addresses,
        net: Arc::new(OneName),
        pulse: Arc::new(Pulse::new(8)),
    };
    change(&mut opening);
    Script::open(&opening)
}

fn script(source: &str) -> Script {
    opened(source, |_| {}).unwrap()
}

fn error(source: &str) -> String {
    opened(source, |_| {}).unwrap_err().to_string()
}

fn next(acting: &mut Acting) -> String {
    let mut out = Vec::new();
    assert!(acting.request(&mut out), "{:?}", acting.shared);
    String::from_utf8(out).unwrap()
}

/// The lines of a request, its headers in order.
fn sorted(request: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = request.split("\r\n").collect();
    let end = lines.iter().position(|line| line.is_empty()).unwrap();
    lines[1..end].sort_unstable();
    lines
}

#[test]
fn without_a_request_function_it_is_the_same_each_time() {
    let script = script(
        "wrk.method = 'POST'\nwrk.body = 'a=1'\nwrk.headers['Content-Type'] = 'application/x-www-form-urlencoded'",
    );
    assert!(script.is_fixed() && !script.hears() && !script.wants_figures());
    let mut acting = script.take(1).unwrap();
    let first = next(&mut acting);
    assert_eq!(
        sorted(&first),
        [
            "POST /p?q=1 HTTP/1.1",
            "Content-Length: 3",
            "Content-Type: application/x-www-form-urlencoded",
            "Host: a.test",
            "X-Flag: yes",
            "",
            "a=1"
        ]
    );
    assert_eq!(next(&mut acting), first);
    assert!(script.take(1).is_none(), "each worker takes its own once");
}

#[test]
fn format_takes_what_it_is_given_and_the_rest_from_wrk() {
    let script = script(
        "local n = 0
         function request()
            n = n + 1
            wrk.headers['X-N'] = n
            if n == 2 then return wrk.format('PUT', '/two', {A = 'b'}, 'xyz') end
            return wrk.format(nil, '/' .. n)
         end",
    );
    assert!(!script.is_fixed());
    let mut acting = script.take(0).unwrap();
    let expected = |path, n| ["GET", path, n].map(str::to_string);
    for (path, n) in [("/1", "X-N: 1"), ("/two", ""), ("/3", "X-N: 3")] {
        let request = next(&mut acting);
        let [_, path, n] = expected(path, n);
        assert!(request.contains(&format!(" {path} HTTP/1.1\r\n")) && request.contains(&n), "{request}");
        if path == "/two" {
            let lines = ["PUT /two HTTP/1.1", "A: b", "Content-Length: 3", "Host: a.test", "", "xyz"];
            assert_eq!(sorted(&request), lines);
        }
    }
}

#[test]
fn states_are_apart_and_setup_reaches_into_them() {
    let script = script(
        "local count, threads = 0, {}
         function setup(thread)
            count = count + 1
            threads[#threads + 1] = thread
            thread:set('id', count)
            thread:set('many', { a = { 1, 'two', true } })
         end
         function init(args)
            assert(args[0] == 'http://a.test/p?q=1' and args[1] == 'one' and #args == 1)
            assert(many.a[2] == 'two')
            wrk.path = '/of-' .. id
         end
         function response() id = id + 10 end
         function done(summary, latency, requests)
            assert(#threads == 2 and threads[1]:get('id') == 11 and threads[2]:get('id') == 2)
            assert(summary.requests == 7 and summary.errors.status == 1)
            assert(latency.max == 9 and latency:percentile(99) == 5 and latency:percentile(99.5) == 9)
            local value, count = latency(2)
            assert(#latency == 2 and value == 5 and count == 3 and #requests == 0)
            value, count = latency(3)
            assert(value == 0 and count == 0)
         end",
    );
    let requests: Vec<String> = (0..2).map(|worker| next(&mut script.take(worker).unwrap())).collect();
    assert!(requests[0].starts_with("GET /of-1 ") && requests[1].starts_with("GET /of-2 "), "{requests:?}");
    assert!(script.hears() && script.wants_figures());
    let latency = Spread {
        max: 9.0,
        percentiles: vec![(50.0, 3.0), (99.0, 5.0)],
        values: vec![(3.0, 4), (5.0, 3)],
        ..Spread::default()
    };
    let figures = Figures { requests: 7, status_errors: 1, latency, ..Figures::default() };
    assert!(script.done(&figures).is_err(), "worker 0 has heard of no answer");
}

#[test]
fn done_sees_what_threads_have_seen() {
    let script = script(
        "local threads = {}
         function setup(thread) threads[#threads + 1] = thread end
         heard = 0
         function response(status, headers, body)
            assert(status == 201 and headers['X-Token'] == 'abc' and body == 'hello')
            heard = heard + 1
         end
         function done() assert(threads[1]:get('heard') == 2) end",
    );
    let mut acting = script.take(0).unwrap();
    for _ in 0..2 {
        assert!(acting.response(
            201,
            b"HTTP/1.1 201 Created\r\nX-Token:  abc \r\nContent-Length: 5\r\n\r\n",
            b"hello"
        ));
    }
    assert!(!acting.response(200, b"HTTP/1.1 200 OK\r\n\r\n", b""), "the script's own assertion fails");
    let (count, first) = script.failures().unwrap();
    assert!(count == 1 && first.starts_with("s.lua:5: assertion failed"), "{first}");
    assert_eq!(script.done(&Figures::default()), Ok(()));
}

#[test]
fn headers_are_read_as_they_came() {
    let script = script(
        "local all
         function response(status, headers, body)
            all = {}
            for name, value in pairs(headers) do all[#all + 1] = name .. '=<' .. value .. '>' end
            table.sort(all)
            wrk.path = '/' .. table.concat(all, '|')
         end
         function request() return wrk.format() end",
    );
    let mut acting = script.take(0).unwrap();
    next(&mut acting);
    for (head, seen) in [
        (
            "HTTP/1.1 200 OK\r\nA: 1\r\nB:\t two  words \r\nEmpty:\r\nLink: a:b\r\n\r\n",
            "A=<1>|B=<two  words>|Empty=<>|Link=<a:b>",
        ),
        ("HTTP/1.1 200 OK\nno colon\nA: 1\n\n", "A=<1>"),
        ("HTTP/1.1 200 OK\r\nA: 1\r\nA: 2", "A=<2>"),
        ("HTTP/1.1 200 OK\r\n\r\n", ""),
        ("HTTP/1.1 200 a:b", ""),
    ] {
        assert!(acting.response(200, head.as_bytes(), b""), "{head:?}: {:?}", script.failures());
        let request = next(&mut acting);
        assert_eq!(request.lines().next(), Some(&*format!("GET /{seen} HTTP/1.1")), "{head:?}");
    }
}

/// An answer is handed over without regard to the limit, and what the script makes of it is not.
#[test]
fn a_state_that_is_told_of_answers_holds_no_more_than_it_may() {
    let script = script(
        "local all = {}
         function response(status, headers, body)
            for i = 1, 8 do all[i] = string.rep(body .. i, 1e8) end
         end",
    );
    let mut acting = script.take(0).unwrap();
    assert!(!acting.response(200, b"HTTP/1.1 200 OK\r\n\r\n", b"x"));
    assert!(script.failures().unwrap().1.contains("not enough memory"));
}

/// The head and the body are those of the answer before: they are not read anew.
#[test]
fn what_a_script_does_with_headers_is_not_in_those_of_the_next_answer() {
    let script = script(
        "local kept
         function response(status, headers, body)
            assert(headers ~= kept and headers.A == '1' and headers.B == '2' and headers.C == nil and body == 'x')
            kept, headers.A, headers.B, headers.C = headers, 'other', nil, 'more'
         end",
    );
    let mut acting = script.take(0).unwrap();
    for _ in 0..200 {
        assert!(acting.response(200, b"HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n", b"x"), "{script:?}");
    }
    assert_eq!(script.failures(), None);
}

#[test]
fn headers_are_written_in_order_whatever_the_table_is() {
    let script = script(
        "local n = 0
         function request()
            n = n + 1
            local headers = n % 2 == 0 and { Zeta = n, Alpha = 'a', Host = 'h' } or { ['X-' .. n] = 1, Mid = 2 }
            return wrk.format(nil, '/', headers)
         end",
    );
    let mut acting = script.take(0).unwrap();
    for expected in ["Host: a.test|Mid: 2|X-1: 1", "Alpha: a|Host: h|Zeta: 2", "Host: a.test|Mid: 2|X-3: 1"] {
        let request = next(&mut acting);
        let lines: Vec<&str> = request.lines().skip(1).take_while(|line| !line.is_empty()).collect();
        assert_eq!(lines.join("|"), expected);
    }
}

#[test]
fn answers_may_change_what_is_asked() {
    let script = script(
        "local token
         function request() return wrk.format('GET', token and '/items' or '/login') end
         function response(status, headers)
            token = headers['X-Token']
            wrk.headers['X-Token'] = token
            response = nil
         end",
    );
    let mut acting = script.take(0).unwrap();
    assert!(next(&mut acting).starts_with("GET /login "));
    for token in ["abc", "xyz"] {
        let head = format!("HTTP/1.1 200 OK\r\nX-Token: {token}\r\n\r\n");
        assert!(acting.response(200, head.as_bytes(), b""));
        let request = next(&mut acting);
        assert!(request.starts_with("GET /items ") && request.contains("X-Token: abc"), "{request}");
    }
}

#[test]
fn addresses_are_looked_up_and_chosen() {
    let script = script(
        "function setup(thread)
            local found = wrk.lookup(wrk.host, wrk.port or 'http')
            assert(#found == 2 and thread.addr == '10.0.0.1:80')
            for _, address in ipairs(found) do
               if wrk.connect(address) then thread.addr = address end
            end
         end
         function init() assert(tostring(wrk.thread.addr) == '10.0.0.2:80') end",
    );
    assert_eq!(script.address(1), Some("10.0.0.2:80"));
    assert_eq!(self::script("x = 1").address(0), None);
    assert!(error("wrk.lookup('b.test', 80)").contains("s.lua:1: there is no b.test"));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (source, expected) in [
        ("\nlocal x = = 1", "s.lua:2: unexpected symbol near '='"),
        ("error('no')", "s.lua:1: no"),
        (
            "\n\nfunction init() local x = nil + 1 end",
            "s.lua:3: attempt to perform arithmetic on a nil value",
        ),
        ("function request() return 5 end", "it returned a number"),
        ("function request() end", "it returned nothing"),
        ("function setup(thread) thread.addr = 'there' end", "thread.addr = \"there\": expected one of"),
        ("function setup(thread) thread:set('f', print) end", "a function can't be handed to a thread"),
        ("function setup(thread) local t = {} t.t = t thread:set('t', t) end", "nested too deep"),
        ("function delay() return 10 end", "s.lua has a function delay()"),
        ("local t = {} for i = 1, 64 do t[i] = string.rep('x' .. i, 1e8) end", "not enough memory"),
        ("require('ffi')", "ffi"),
    ] {
        let error = error(source);
        assert!(error.contains(expected), "{source}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn users_who_wait_pause_as_the_script_says() {
    let closed = |source: &str| opened(source, |opening| opening.is_closed = true).unwrap();
    let script =
        closed("local n = 0 function delay() n = n + 1 return ({ 10, 2.9, 0, -1, 'x', nil })[n] end");
    assert!(script.delays());
    let mut acting = script.take(0).unwrap();
    let pauses: Vec<_> = (0..5).map(|_| acting.delay().map(|pause| pause.0)).collect();
    assert_eq!(pauses, [10_000_000, 2_000_000, 0, 0, 0].map(Some));
    let (failures, first) = script.failures().expect("two of them");
    assert!(failures == 2 && first.contains("it returned -1"), "{failures} {first}");
    let script = closed("x = 1");
    assert!(!script.delays() && script.take(0).unwrap().delay().is_none());
}

#[test]
fn a_failure_in_the_run_is_kept_and_the_next_request_may_be_right() {
    let script = script(
        "local n = 0
         function request()
            n = n + 1
            if n == 2 then error('the second') end
            return wrk.format(nil, '/' .. n)
         end",
    );
    let mut acting = script.take(0).unwrap();
    assert!(next(&mut acting).contains("/1 "));
    assert!(!acting.request(&mut Vec::new()));
    assert!(next(&mut acting).contains("/3 "));
    assert_eq!(script.failures(), Some((1, "s.lua:4: the second".to_string())));
}

#[test]
fn a_thread_can_end_the_load() {
    let script = script("function response() wrk.thread:stop() end");
    assert!(!script.is_stopped());
    let mut acting = script.take(0).unwrap();
    acting.response(200, b"", b"");
    assert!(script.is_stopped() && acting.ends_load());
}

#[test]
fn workers_draw_apart_and_the_same_for_the_same_seed() {
    let drawn = |seed| -> Vec<String> {
        let source = "function request() return wrk.format(nil, '/' .. math.random(1e9)) end";
        let script = opened(source, |opening| opening.seed = seed).unwrap();
        (0..2).map(|worker| next(&mut script.take(worker).unwrap())).collect()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    assert_ne!(drawn(1)[0], drawn(1)[1]);
}
