//! Journeys and `[[setup]]` of commands to a real Redis: what they take from replies, and transactions over several steps.

use crate::stores::Redis;
use crate::support::hostile::{Act, Hostile, ok};
use crate::support::tried::{each, tried};
use crate::support::{Place, Said};

fn at(redis: &Redis, plan: &str) -> String {
    format!("target = {:?}\n{plan}", redis.url())
}

fn called(redis: &Redis, command: &str, plan: &str, more: &[&str]) -> Said {
    let place = Place::new();
    place.file("plan.toml", at(redis, plan));
    place.call(&[&[command, "plan.toml"], more].concat())
}

/// A text, in one line.
fn got(redis: &Redis, key: &str) -> String {
    let ask = format!("EVAL \"return {{ok=redis.call('get',KEYS[1]) or 'nothing'}}\" 1 {key}\r\n");
    redis.ask(&ask, "\r\n").trim().to_string()
}

fn steps(all: &[(&str, &str, &str)]) -> String {
    let one = |(name, command, more): &(&str, &str, &str)| {
        format!("[[journeys.steps]]\nname = \"{name}\"\nurl = \"/0\"\ncommand = {command}\n{more}\n")
    };
    all.iter().map(one).collect()
}

/// 50 journeys in half a second, each of which begins `more`.
fn journey(more: &str, all: &[(&str, &str, &str)]) -> String {
    let load = "[load]\nrate = 100\nduration = \"500ms\"\nseed = 3\n[connections]\nconnections = 4\n";
    format!("{load}[[journeys]]\nname = \"cart\"\n{more}\n{}", steps(all))
}

const SHOPPER: [(&str, &str, &str); 4] = [
    ("session", r#"["GET", "session"]"#, r#"capture = { id = "reply" }"#),
    ("user", r#"["HGETALL", "user:{{id}}"]"#, r#"capture = { who = "field full name", age = "field age" }"#),
    ("items", r#"["LRANGE", "items:{{id}}", "0", "-1"]"#, r#"capture = { second = "element 1" }"#),
    ("put", r#"["SET", "cart:{{id}}", "{{who}}|{{age}}|{{second}}"]"#, ""),
];

fn shop(redis: &Redis) {
    redis.ask(
        "SET session s7\r\nHSET user:s7 age 41 'full name' 'Ann \\x'\r\nRPUSH items:s7 a 'blue cup' d\r\n",
        ":3\r\n",
    );
}

#[test]
fn steps_go_on_with_what_replies_brought() {
    let redis = Redis::start(&[]);
    shop(&redis);
    for resp in ["2", "3"] {
        redis.ask("DEL cart:s7\r\n", ":");
        let run = called(&redis, "run", &journey("", &SHOPPER), &["--resp", resp, "--json"]).run();
        run.assert_accounts();
        assert_eq!(run.count("/journeys/0/account/completed"), 50, "{:?}", run.at("/journeys/0"));
        assert_eq!(got(&redis, "cart:s7"), "+Ann \\x|41|blue cup");
        assert_eq!(run.connections("opened"), 4);
    }
    // What is not there ends its journey, and says so before the run.
    for (taken, command, kind) in [
        ("reply", r#"["GET", "nothing"]"#, "not_captured"),
        ("reply", r#"["LRANGE", "items:s7", "0", "-1"]"#, "not_captured"),
        ("element 3", r#"["LRANGE", "items:s7", "0", "-1"]"#, "not_captured"),
        ("element 0", r#"["EVAL", "return { {1, 2}, 3}", "0"]"#, "not_captured"),
        ("field no", r#"["HGETALL", "user:s7"]"#, "not_captured"),
        ("field 41", r#"["HGETALL", "user:s7"]"#, "not_captured"),
        ("element 0", r#"["GET", "session"]"#, "not_captured"),
        ("reply", r#"["GET", "items:s7"]"#, "redis_wrongtype"),
        ("reply", r#"["EVAL", "return string.rep('x', 8193)", "0"]"#, "captured_too_long"),
    ] {
        let first = ("first", command, &*format!("capture = {{ v = \"{taken}\" }}"));
        let plan = journey("", &[first, ("then", r#"["SET", "then", "{{v}}"]"#, "")]);
        let run = called(&redis, "run", &plan, &["--no-preflight", "--json"]).run();
        run.assert_accounts();
        assert_eq!(run.count(&format!("/journeys/0/failures/{kind}")), 50, "{taken} {command}: {run:?}");
        let said = called(&redis, "run", &plan, &[]);
        assert_eq!(said.code(), Some(1), "{taken} {command}: {said:?}");
        let why = if kind == "redis_wrongtype" { "WRONGTYPE" } else { "which capture asks for" };
        assert!(said.stderr.replace("\n    ", " ").contains(why), "{said:?}");
    }
    assert_eq!(redis.ask("EXISTS then\r\n", "\r\n"), ":0\r\n");
}

#[test]
fn a_journey_is_tried_shown_and_simulated() {
    let redis = Redis::start(&[]);
    shop(&redis);
    let plan = journey("", &SHOPPER);
    let place = Place::new();
    place.file("plan.toml", at(&redis, &plan));
    let (document, said) = tried(&place, &["plan.toml"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let told = each(&document);
    let taken: Vec<_> = told.iter().map(|step| step["captures"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!((told.len(), taken), (4, vec![1, 2, 1, 0]), "{document:#}");
    assert!(!document.to_string().contains("blue cup"), "what was taken is shown nowhere: {document:#}");
    assert_eq!(got(&redis, "cart:s7"), "+Ann \\x|41|blue cup");
    for command in ["check", "show"] {
        let said = place.call(&["plan", command, "plan.toml"]);
        assert_eq!(said.code(), Some(0), "{said:?}");
    }
    let simulated = called(&redis, "sim", &plan, &["--scenario", "healthy", "--json"]).run();
    simulated.assert_accounts();
    assert_eq!(simulated.count("/journeys/0/account/completed"), 50);
}

const HELD: &str = "hold-connection = true";

/// Each takes what is there, and writes it back longer, if nobody else has meanwhile.
const APPENDS: [(&str, &str, &str); 5] = [
    ("watch", r#"["WATCH", "n"]"#, ""),
    ("read", r#"["GET", "n"]"#, r#"capture = { n = "reply" }"#),
    ("multi", r#"["MULTI"]"#, r#"think = "15ms""#),
    ("write", r#"["SET", "n", "{{n}}x"]"#, ""),
    ("exec", r#"["EXEC"]"#, r#"expect = ["status=ok"]"#),
];

#[test]
fn a_transaction_lasts_over_the_steps_of_a_journey() {
    let redis = Redis::start(&[]);
    redis.ask("SET n x\r\n", "+OK\r\n");
    let run = called(&redis, "run", &journey(HELD, &APPENDS), &["--json"]).run();
    run.assert_accounts();
    let (done, conflicts) =
        (run.count("/journeys/0/account/completed"), run.count("/journeys/0/failures/unexpected_status"));
    assert_eq!(done + conflicts, 50, "{:?}", run.at("/journeys/0"));
    assert!(done > 0 && conflicts > 0, "of 15 ms, 10 ms apart: {done} and {conflicts}");
    assert_eq!(redis.ask("STRLEN n\r\n", "\r\n"), format!(":{}\r\n", done + 1));
    // EXEC ends a transaction, whether it is done or not.
    assert_eq!((run.connections("held"), run.closed_open()), (50, 0));
    assert_eq!(run.connections("opened"), 4);
}

#[test]
fn values_come_out_of_a_transaction_at_its_end() {
    let redis = Redis::start(&[]);
    shop(&redis);
    let brings = [
        ("multi", r#"["MULTI"]"#, ""),
        ("one", r#"["GET", "session"]"#, ""),
        ("two", r#"["INCR", "count"]"#, ""),
        ("exec", r#"["EXEC"]"#, r#"capture = { id = "element 0", count = "element 1" }"#),
        ("put", r#"["SET", "seen:{{count}}", "{{id}}"]"#, ""),
    ];
    let run = called(&redis, "run", &journey(HELD, &brings), &["--json"]).run();
    run.assert_accounts();
    assert_eq!(run.count("/journeys/0/account/completed"), 50, "{:?}", run.at("/journeys/0"));
    assert_eq!(got(&redis, "seen:50"), "+s7");
    // A command that is queued has brought nothing yet, and QUEUED is no value.
    let mut early = brings;
    early[1].2 = r#"capture = { id = "reply" }"#;
    early[3].2 = r#"capture = { count = "element 1" }"#;
    let run = called(&redis, "run", &journey(HELD, &early), &["--json"]).run();
    assert_eq!(run.count("/journeys/0/failures/not_captured"), 50, "{:?}", run.at("/journeys/0"));
    assert_eq!(run.closed_open(), 50);
}

#[test]
fn what_a_journey_leaves_open_is_given_up_with_its_connection() {
    let redis = Redis::start(&[]);
    shop(&redis);
    for (last, failure) in [
        // Not queued at all.
        (r#"["NOSUCH"]"#, Some("redis_err")),
        // Its journey forgets to end it.
        (r#"["SET", "a", "b"]"#, None),
    ] {
        let all = [("multi", r#"["MULTI"]"#, ""), ("incr", r#"["INCR", "count"]"#, ""), ("last", last, "")];
        let run = called(&redis, "run", &journey(HELD, &all), &["--json"]).run();
        run.assert_accounts();
        match failure {
            Some(kind) => assert_eq!(run.count(&format!("/journeys/0/failures/{kind}")), 50, "{run:?}"),
            None => assert_eq!(run.count("/journeys/0/account/completed"), 50),
        }
        assert_eq!(run.closed_open(), 50, "{last}");
        assert_eq!(run.connections("peak"), 4);
        assert_eq!(redis.ask("EXISTS count\r\n", "\r\n"), ":0\r\n");
    }
    // A command that fails when it is done does not undo the others, and nothing stays open.
    let fails = [
        ("multi", r#"["MULTI"]"#, ""),
        ("incr", r#"["INCR", "count"]"#, ""),
        ("wrong", r#"["INCR", "items:s7"]"#, ""),
        ("exec", r#"["EXEC"]"#, ""),
    ];
    let run = called(&redis, "run", &journey(HELD, &fails), &["--json"]).run();
    assert_eq!(run.count("/journeys/0/failures/redis_wrongtype"), 50, "{run:?}");
    assert_eq!((run.closed_open(), run.connections("opened")), (0, 4));
    assert_eq!(got(&redis, "count"), "+50");
}

/// Two steps, the first of which says `more`.
fn two(more: &str) -> [(&str, &str, &str); 2] {
    [("one", r#"["GET", "a"]"#, more), ("two", r#"["GET", "b"]"#, "")]
}

#[test]
fn what_can_not_be_is_refused_with_its_reason() {
    let redis = Redis::start(&[]);
    let takes = |taken: &str| format!("capture = {{ v = \"{taken}\" }}");
    let held = journey(HELD, &APPENDS);
    for (plan, more, parts) in [
        (journey("", &APPENDS), &[][..], &["WATCH", "hold-connection = true"][..]),
        (held.clone(), &["--attempts", "3"], &["once it has failed, its transaction is given up", "EVAL"]),
        (held.clone(), &["--depth", "2"], &["one request at a time"]),
        (journey("", &two(&takes("column id"))), &[], &["a reply of Redis has none", "element NUMBER"]),
        (journey("", &two(&takes("header X"))), &[], &["a reply of Redis has none"]),
        (journey("", &two(&takes("element x"))), &[], &["counted from 0"]),
        (journey("", &two(&takes("answer"))), &[], &["reply, element NUMBER or field NAME"]),
        (journey("", &two("method = \"PUT\"")), &[], &["Redis has no methods"]),
    ] {
        let said = called(&redis, "run", &plan, more);
        let stderr = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{parts:?}: {stderr}");
    }
}

const SETUP: &str = r#"
[load]
rate = 100
duration = "500ms"
[[setup]]
name = "token"
url = "REDIS/0"
command = ["HGETALL", "token"]
capture = { token = "field value" }
[[requests]]
"#;

#[test]
fn setup_asks_redis_before_the_load() {
    let redis = Redis::start(&[]);
    let plan = SETUP.replace("REDIS", "") + "url = \"/0\"\ncommand = [\"INCR\", \"used:{{token}}\"]\n";
    let said = called(&redis, "run", &plan, &[]);
    assert!(said.code() == Some(1) && said.stderr.contains("[[setup]] token"), "nothing is there: {said:?}");
    redis.ask("HSET token kind x value t0k3n\r\n", ":2\r\n");
    let said = called(&redis, "run", &(plan.replace("capture", "every = \"100ms\"\ncapture")), &["--json"]);
    let run = said.run();
    run.assert_all("ok");
    assert!(run.count("/setup/0/asked") > 1 && run.count("/setup/0/failed") == 0, "{:?}", run.at("/setup"));
    // One more by the check before the run.
    assert_eq!(got(&redis, "used:t0k3n"), "+51");
    let place = Place::new();
    place.file("plan.toml", at(&redis, &plan));
    let (document, said) = tried(&place, &["plan.toml"]);
    assert_eq!((said.code(), &document["setup"][0]["captures"][0]["bytes"]), (Some(0), &5.into()));
    assert!(!document.to_string().contains("t0k3n"), "{document:#}");
}

/// What speaks something else than the load: a token of HTTP is fetched out of Redis.
#[test]
fn setup_may_ask_redis_for_a_load_of_http() {
    let redis = Redis::start(&[]);
    redis.ask("HSET token value t0k3n\r\n", ":1\r\n");
    let server = Hostile::start(|_| Act::Answer(ok()));
    let plan = SETUP.replace("REDIS", &redis.url())
        + "url = \"/\"\nheader = [\"Authorization: Bearer {{token}}\"]\n[request]\nheader = [\"X-All: 1\"]\n";
    let place = Place::new();
    place.file("plan.toml", plan);
    let run = place.measure(&["plan.toml", &server.url()]);
    run.assert_all("ok");
    let is_sent = |one: &crate::support::hostile::Seen| one.header("authorization") == Some("Bearer t0k3n");
    assert!(server.seen().iter().all(is_sent), "{:?}", server.seen().first());
    let (document, said) = tried(&place, &["plan.toml", &server.url()]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let setup = &document["setup"][0];
    assert_eq!(setup["sent"]["line"], "HGETALL token", "{setup:#}");
    assert_eq!(setup["captures"][0]["is_taken"], true);
}
