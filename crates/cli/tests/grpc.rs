//! Calls of gRPC from the command line: what is sent, what answers count as, and what is said before the load.

use crate::calls;
use crate::calls::{
    Called, DATA, END_STREAM, Frame, ITEMS, PARTS, Server, descriptors, fields, head, message, ok, serve,
    status, unimplemented,
};
use crate::support::hostile::{Act, Hostile, answer};
use crate::support::{Place, Run};
use serde_json::{Value, json};
use std::time::Duration;

const FORTY: [&str; 4] = ["-R", "200", "-n", "40"];
const GET: &str = "/shop.Items/Get";

fn items(called: &Called) -> Vec<Frame> {
    match called.path.as_str() {
        GET | "/shop.Items/Find" => ok(json!({"name": "an item", "price": "7"})),
        _ => unimplemented(),
    }
}

fn run(server: &Server, more: &[&str]) -> Run {
    let url = server.url(GET);
    Place::new().measure(&[&[url.as_str()], &FORTY[..], more].concat())
}

#[test]
fn calls_have_the_types_that_the_target_tells() {
    for version in ["v1", "v1alpha"] {
        let server = serve(Some(version), items);
        let run = run(&server, &["-H", "X-Tenant: a", "--timeout", "20s", "--data", r#"{"id": "seven"}"#]);
        run.assert_all("ok");
        assert_eq!(run.at("/operations/0/protocol"), "grpc");
        assert_eq!(run.at("/operations/0/name"), "POST /shop.Items/Get");
        assert_eq!(run.at("/origins/0/scheme"), "grpc");
        let calls = server.calls_of(GET);
        assert_eq!(calls.len(), 41, "the pre-flight and the run");
        for call in &calls {
            assert_eq!(call.json(), json!({"id": "seven"}));
            let header = |name: &str| call.headers.get(name).map(String::as_str);
            assert_eq!(
                (header("te"), header("x-tenant"), header(":method")),
                (Some("trailers"), Some("a"), Some("POST"))
            );
            assert_eq!(header("content-type"), Some("application/grpc"));
        }
        // How long each is waited for from its send on: no longer than the timeout.
        for call in &calls[1..] {
            let left = call.headers["grpc-timeout"].strip_suffix('u').expect("microseconds");
            let left = Duration::from_micros(left.parse().expect("a number"));
            assert!(left > Duration::from_secs(1) && left <= Duration::from_secs(20), "{left:?}");
        }
    }
}

#[test]
fn files_have_the_types_as_well() {
    use prost::Message;
    let (server, place) = (serve(None, items), Place::new());
    place.file("types/items.proto", ITEMS);
    place.file("other/parts.proto", PARTS);
    place.file("types.pb", descriptors().encode_to_vec());
    let url = server.url(GET);
    for types in
        [&["--proto", "types/items.proto", "--import-path", "other"][..], &["--descriptor-set", "types.pb"]]
    {
        let tried =
            place.call(&[&["try", url.as_str(), "--data", r#"{"part": {"sizes": [1, 2]}}"#], types].concat());
        assert_eq!(tried.code(), Some(0), "{}{}", tried.stdout, tried.stderr);
        assert!(tried.stdout.contains(r#"{"name":"an item","price":"7"}"#), "{}", tried.stdout);
        assert!(tried.stdout.contains("expect status=OK: holds"), "{}", tried.stdout);
    }
    let calls = server.calls_of(GET);
    assert_eq!(calls[0].json(), json!({"part": {"sizes": [1, 2]}}));
    let all = server.calls.lock().unwrap();
    assert!(all.iter().all(|call| !call.path.contains("reflection")), "nothing is asked");
    drop(all);
    let said = place.call(&["try", &url, "--proto", "types/items.proto"]);
    said.refused(&["parts.proto", "--proto"]);
}

#[test]
fn templates_stand_in_messages() {
    let server = serve(Some("v1"), items);
    let text = r#"{
        "id": "item-{{index}}", "count": {{int(5,9)}}, "delta": "{{number(index)}}", "fresh": "{{int(1,1)}}",
        "color": "{{int(1,1)}}", "raw": "{{index}}", "part": {"name": "{{index}}", "sizes": [1, "{{int(300,300)}}", 3]},
        "parts": [{"name": "a"}, {"name": "{{uuid}}"}], "named": {"k": {"name": "{{index}}"}}, "note": "n{{index}}",
        "many": ["{{index}}"], "a": "{{index}}", "ratio": "{{int(2,2)}}"
    }"#;
    let run = run(&server, &["--data", text]);
    run.assert_all("ok");
    let mut ids = Vec::new();
    for call in &server.calls_of(GET)[1..] {
        let message = call.json();
        let index: u64 = message["a"].as_str().unwrap().parse().unwrap();
        ids.push(index);
        assert_eq!(message["id"], format!("item-{index}"));
        assert!((5..=9).contains(&message["count"].as_i64().unwrap()));
        assert_eq!(message.get("delta").cloned(), (index > 0).then(|| json!(index.to_string())));
        assert_eq!((&message["fresh"], &message["color"]), (&json!(true), &json!("GREEN")));
        assert_eq!(message["part"], json!({"name": index.to_string(), "sizes": [1, 300, 3]}));
        assert_eq!(message["parts"][1]["name"].as_str().map(str::len), Some(36));
        assert_eq!(message["named"]["k"]["name"], index.to_string());
        assert_eq!((&message["note"], &message["ratio"]), (&json!(format!("n{index}")), &json!(2.0)));
        assert_eq!(message["many"], json!([index.to_string()]));
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..40).collect::<Vec<u64>>());
}

#[test]
fn statuses_count_by_name() {
    let server = serve(Some("v1"), |_| vec![head(), status("14")]);
    let url = server.url(GET);
    let refused = Place::new().call(&["run", &url, "-R", "1", "-n", "1"]);
    assert_eq!(refused.code(), Some(1));
    for part in ["gRPC UNAVAILABLE", "as it is"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let failed = run(&server, &["--no-preflight"]);
    failed.assert_all_failed("grpc_unavailable");
    let expected = run(&server, &["--expect", "status=UNAVAILABLE,OK"]);
    expected.assert_all("ok");
    let retried = [
        "--no-preflight",
        "--attempts",
        "2",
        "--retry-on",
        "UNAVAILABLE",
        "--retry-unsafe",
        "--retry-wait",
        "1ms",
    ];
    assert_eq!(run(&server, &retried).at("/retries/retried"), 40);
}

#[test]
fn answers_are_looked_at_as_json() {
    let server = serve(Some("v1"), items);
    run(
        &server,
        &["--expect", "json $.name == 'an item'", "--expect", "contains=item", "--expect", "size=11..13"],
    )
    .assert_all("ok");
    run(&server, &["--no-preflight", "--expect", "json $.price == '8'"]).assert_all_failed("unexpected_body");
    let said = Place::new().call(&[
        "run",
        &server.url(GET),
        "-R",
        "1",
        "-n",
        "1",
        "--expect",
        "json $.price == '8'",
    ]);
    assert!(said.stderr.contains("a value in its body"), "{}", said.stderr);
    let broken = serve(Some("v1"), |_| vec![head(), message(&[0xff]), status("0")]);
    run(&broken, &["--no-preflight", "--expect", "json $.name exists"]).assert_all_failed("undecodable");
}

#[test]
fn a_deadline_that_passes_is_a_timeout() {
    // As close to the deadline as a server can be: it says so at the very moment.
    let server = serve(Some("v1"), |called| {
        let left = called.headers["grpc-timeout"].strip_suffix('n').and_then(|left| left.parse().ok());
        std::thread::sleep(Duration::from_nanos(left.expect("nanoseconds")));
        vec![head(), status("4")]
    });
    let run = run(&server, &["--no-preflight", "--timeout", "90ms", "-c", "40", "--streams", "1"]);
    assert_eq!(run.arrivals("timed_out"), 40, "as a failure they would leave the tail");
    let early = serve(Some("v1"), |_| vec![head(), status("4")]);
    self::run(&early, &["--no-preflight"]).assert_all_failed("grpc_deadline_exceeded");
}

/// Half of what is a moment before the end: 10 ms of 1 s.
#[test]
fn an_answer_that_is_broken_off_at_the_deadline_is_a_timeout() {
    let cancel = || (3, 0, vec![0, 0, 0, 8]);
    let server = serve(Some("v1"), move |called| {
        let left = &called.headers["grpc-timeout"];
        let digits = left.trim_end_matches(|unit: char| !unit.is_ascii_digit());
        let unit_ns = if left.ends_with('n') { 1 } else { 1_000 };
        let left = Duration::from_nanos(digits.parse::<u64>().expect("a number") * unit_ns);
        std::thread::sleep(left - Duration::from_millis(5));
        vec![head(), cancel()]
    });
    let run = run(&server, &["--no-preflight", "--timeout", "1s", "-c", "40", "--streams", "1"]);
    assert_eq!(run.arrivals("timed_out"), 40, "as a failure they would leave the tail: {run:?}");
    run.assert_accounts();
    // Long before it, somebody else's time has passed.
    let early = serve(Some("v1"), move |_| vec![head(), cancel()]);
    self::run(&early, &["--no-preflight"]).assert_all_failed("protocol_stream_reset");
}

#[test]
fn each_fault_of_an_answer_is_a_kind_of_its_own() {
    let data = |bytes: &'static [u8]| (DATA, 0, bytes.to_vec());
    let cases: Vec<(Vec<Frame>, &str)> = vec![
        (vec![head(), (DATA, END_STREAM, vec![0, 0, 0, 0, 0])], "protocol_grpc_no_status"),
        (vec![head(), data(&[0, 0, 0, 0, 9, 1]), status("0")], "protocol_grpc_truncated"),
        (vec![head(), data(&[1, 0, 0, 0, 0]), status("0")], "protocol_grpc_compressed"),
        (
            vec![
                fields(0, &[(":status", "502"), ("content-type", "text/html")]),
                (DATA, END_STREAM, b"<html>Bad Gateway".to_vec()),
            ],
            "protocol_grpc_http_status",
        ),
        (
            vec![head(), fields(END_STREAM, &[("grpc-status", "5"), ("grpc-message", "50%")])],
            "protocol_grpc_bad_message",
        ),
    ];
    for (frames, kind) in cases {
        let server = serve(Some("v1"), move |_| frames.clone());
        run(&server, &["--no-preflight"]).assert_all_failed(kind);
    }
    let split = serve(Some("v1"), |_| {
        let [head, (_, _, bytes), end] = <[Frame; 3]>::try_from(ok(json!({"name": "a"}))).unwrap();
        let (one, other) = bytes.split_at(3);
        vec![head, (DATA, 0, one.to_vec()), (DATA, 0, other.to_vec()), end]
    });
    run(&split, &[]).assert_all("ok");
}

#[test]
fn messages_of_a_stream_are_timed_one_by_one() {
    let server = serve(Some("v1"), |_| {
        let [one, two, three] = ["a", "", "c"].map(|text| message(text.as_bytes()));
        vec![head(), one, two, three, status("0")]
    });
    let url = server.url("/shop.Items/List");
    let run = [&[url.as_str(), "--stream", "messages", "--slo", "first p50 < 50s"], &FORTY[..]].concat();
    let run = Place::new().measure(&run);
    run.assert_all("ok");
    assert_eq!((run.at("/events/begun"), run.at("/events/events")), (&json!(40), &json!(120)));
    assert_eq!((run.at("/events/first/count"), run.at("/events/gap/count")), (&json!(40), &json!(80)));
    let none = serve(Some("v1"), |_| vec![head(), status("0")]);
    let url = none.url("/shop.Items/List");
    let run = [&[url.as_str(), "--stream", "messages", "--no-preflight"], &FORTY[..]].concat();
    Place::new().measure(&run).assert_all_failed("unexpected_body");
}

#[test]
fn a_target_that_is_not_well_is_not_measured() {
    let health = |status: u8| {
        serve(Some("v1"), move |called| match called.path.as_str() {
            "/grpc.health.v1.Health/Check" => vec![head(), message(&[8, status]), calls::status("0")],
            _ => items(called),
        })
    };
    let sick = health(2);
    let said = Place::new().call(&["run", &sick.url(GET), "-R", "1", "-n", "1"]);
    assert!(said.code() == Some(1) && said.stderr.contains("NOT_SERVING"), "{}", said.stderr);
    assert_eq!(sick.calls_of(GET).len(), 0);
    run(&health(1), &[]).assert_all("ok");
}

#[test]
fn methods_of_a_plan_have_figures_of_their_own() {
    let (server, place) = (serve(Some("v1"), items), Place::new());
    let plan = format!(
        "target = \"grpc://{}\"\n[load]\nrate = 200\nrequests = 40\n[[requests]]\nname = \"get\"\nurl = \"{GET}\"\nshare = \
         \"75%\"\njson = {{ id = \"{{{{index}}}}\", count = \"{{{{number(index)}}}}\" }}\nexpect = [\"status=OK\"]\n[[requests]]\n\
         url = \"/shop.Items/Find\"\nshare = \"25%\"\n",
        server.address
    );
    place.file("plan.toml", plan);
    let run = place.measure(&["plan.toml", "--attempts", "2", "--retry-on", "UNAVAILABLE"]);
    run.assert_all("ok");
    let names: Vec<&Value> = (0..2).map(|i| run.at(&format!("/operations/{i}/name"))).collect();
    assert_eq!(names, ["get", "POST /shop.Items/Find"]);
    assert_eq!(
        (run.at("/operations/0/arrivals/ok"), run.at("/operations/1/arrivals/ok")),
        (&json!(30), &json!(10))
    );
    assert!(server.calls_of(GET)[1..].iter().all(|call| call.json()["id"].is_string()));
    let shown = place.call(&["plan", "show", "plan.toml"]);
    assert!(shown.code() == Some(0) && shown.stdout.contains("Find"), "{}{}", shown.stdout, shown.stderr);
    let simulated = place.call(&["sim", "plan.toml", "--server", "service=1ms"]);
    assert_eq!(simulated.code(), Some(0), "{}", simulated.stderr);
}

#[test]
fn what_can_not_be_is_refused() {
    let server = serve(Some("v1"), items);
    let url = |path: &str| server.url(path);
    let get = url(GET);
    for (args, part) in [
        (&[url("/").as_str()][..], "names a service and a method"),
        (&[&url("/shop.Items/Gett")], "did you mean Get?"),
        (&[&url("/shop.Itms/Get")], "did you mean shop.Items?"),
        (&[&url("/shop.Items/List")], "answers with a stream"),
        (&[&url("/shop.Items/Put")], "takes a stream"),
        (&[&get, "--data", "{"], "is not JSON"),
        (
            &[&get, "--data", r#"{"idd": "x"}"#],
            "shop.GetRequest.idd: shop.GetRequest has no such field: did you mean id?",
        ),
        (&[&get, "--data", r#"{"part": {"sizes": [1, "x"]}}"#], "shop.GetRequest.part.sizes[1]: "),
        (&[&get, "--data", r#"{"parts": [{}, {"name": 5}]}"#], "shop.GetRequest.parts[1].name: "),
        (&[&get, "--data", r#"{"a": "x", "b": 1}"#], "only one of its fields"),
        (&[&get, "--data", r#"{"count": "{{uuid}}"}"#], "shop.GetRequest.count is a number (int32)"),
        (&[&get, "--data", r#"{"named": {"{{index}}": {}}}"#], "the key of a map"),
        (&[&get, "-X", "PUT"], "no method of HTTP"),
        (&[&get, "-H", "grpc-timeout: 1S"], "said by gRPC itself"),
        (&[&get, "--http", "2"], "leave it out"),
        (&[&get, "--expect", "status=200"], "has a name"),
        (&[&get, "--attempts", "2", "--retry-unsafe", "--retry-on", "503"], "has a name"),
        (&[&get, "--stream", "sse"], "are for answers of HTTP"),
        (&[&get, "--stream", "messages"], "answers with one message"),
        (
            &[&url("/shop.Items/List"), "--stream", "messages", "--expect", "json $.name exists"],
            "not looked at",
        ),
        (&["http://127.0.0.1:9/", "--stream", "messages"], "--stream messages is for gRPC"),
        (&[&get, "--keep-failures", "1"], "--keep-failures"),
        (&[&get, "http://127.0.0.1:9/"], "a run speaks one protocol"),
        (&[&get, "--import-path", "x"], "add --proto FILE"),
        (&["http://127.0.0.1:9/", "--proto", "x"], "--proto is for gRPC"),
        (&["http://127.0.0.1:9/", "--expect", "status=OK"], "the status of HTTP is a number"),
    ] {
        Place::new().call(&[&["run", "-R", "1", "-n", "1"], args].concat()).refused(&[part]);
    }
    let untold = serve(None, items);
    let both = ["no server reflection", "--proto FILE", "--descriptor-set FILE"];
    Place::new().call(&["run", &untold.url(GET), "-R", "1", "-n", "1"]).refused(&both);
    let html = Hostile::start(|_| Act::AnswerThenClose(answer("502 Bad Gateway", "<html>")));
    let url = format!("grpc://{}{GET}", html.address);
    Place::new().call(&["run", &url, "-R", "1", "-n", "1"]).refused(&["HTTP/1.1", "HTTP/2 alone"]);
}
