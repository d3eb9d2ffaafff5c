//! Journeys with a WebSocket of their own, against a server of another implementation that speaks HTTP on the same port.

use crate::support;
use crate::support::{Place, Run};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tungstenite::handshake::server::{Request, Response};
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

type Socket = WebSocket<TcpStream>;

/// Where the upgrade is answered no sooner than after this.
const SLOW_PATH: &str = "/slow";
const SLOWLY: Duration = Duration::from_millis(100);

/// Answers HTTP with a token and a cookie, and hands each WebSocket with its head to `each`, on a thread of its own.
fn serve(each: impl Fn(&mut Socket, &str) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let each = Arc::new(each);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            std::thread::spawn(move || connection(stream, &*each));
        }
    });
    address
}

fn connection(mut stream: TcpStream, each: &impl Fn(&mut Socket, &str)) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut seen = vec![0; 4096];
    loop {
        let n = stream.peek(&mut seen).ok().filter(|n| *n > 0)?;
        let text = String::from_utf8_lossy(&seen[..n]).into_owned();
        if !text.contains("\r\n\r\n") {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        if !text.contains("Upgrade: websocket") {
            let length = stream.read(&mut seen).ok()?;
            assert!(length >= text.len());
            let answer =
                "HTTP/1.1 200 OK\r\nSet-Cookie: sid=s1\r\nContent-Length: 15\r\n\r\n{\"token\":\"t0k\"}";
            stream.write_all(answer.as_bytes()).ok()?;
            continue;
        }
        let head = text;
        if head.contains(SLOW_PATH) {
            std::thread::sleep(SLOWLY);
        }
        #[allow(clippy::result_large_err)] // As tungstenite has it.
        let accepted = |_: &Request, mut response: Response| {
            response.headers_mut().insert("X-Room", "r7".parse().expect("a value"));
            Ok(response)
        };
        let mut socket = tungstenite::accept_hdr(stream, accepted).ok()?;
        each(&mut socket, &head);
        while socket.read().is_ok() {}
        return Some(());
    }
}

/// The next message as text; none after a close.
fn next(socket: &mut Socket) -> Option<String> {
    loop {
        match socket.read().ok()? {
            Message::Text(text) => return Some(text.to_string()),
            Message::Close(_) => return None,
            _ => {}
        }
    }
}

fn tell(socket: &mut Socket, text: impl Into<String>) {
    let _ = socket.send(Message::text(text.into()));
}

fn plan(load: &str, steps: &str) -> String {
    format!("[load]\n{load}\n[[journeys]]\nname = \"chat\"\n{steps}")
}

fn measure(address: SocketAddr, plan: String, more: &[&str]) -> Run {
    let place = Place::new();
    place.file("plan.toml", plan);
    let run = place.measure(&[&["plan.toml", &format!("http://{address}")], more].concat());
    run.assert_accounts();
    run
}

fn step<'a>(run: &'a Value, name: &str) -> &'a Value {
    let steps = run["journeys"][0]["steps"].as_array().expect("a list");
    let name = format!("chat: {name}");
    steps.iter().find(|step| step["operation"] == *name).unwrap_or_else(|| panic!("no {name}: {steps:?}"))
}

fn operation<'a>(run: &'a Value, name: &str) -> &'a Value {
    let all = run["operations"].as_array().expect("a list");
    let name = format!("chat: {name}");
    all.iter().find(|one| one["name"] == *name).unwrap_or_else(|| panic!("no {name}: {all:?}"))
}

fn figure(of: &Value) -> u64 {
    of.as_u64().unwrap_or_else(|| panic!("no figure: {of}"))
}

fn p50_ns(of: &Value) -> u64 {
    figure(&of["response_time"]["quantiles"][0]["value"])
}

fn mean_ns(of: &Value) -> f64 {
    of["mean"].as_f64().expect("all of them ended")
}

/// The clock of each step starts when the one before has ended and the user has thought: whatever the machine does besides, the
/// steps' times and `thinking_ms` of each journey are the time that it took, to the nanosecond.
#[track_caller]
fn assert_clocks_follow_each_other(run: &Value, steps: &[&str], thinking_ms: u64) {
    let of_steps: f64 = steps.iter().map(|name| mean_ns(&operation(run, name)["response_time"])).sum();
    let of_journeys = mean_ns(&run["journeys"][0]["time"]);
    let thought = of_journeys - of_steps;
    assert!((thought - (thinking_ms * 1_000_000) as f64).abs() < 1.0, "{thought} ns of {of_journeys}");
}

/// What the requests of an operation waited in all before they were sent.
fn waited_ns(of: &Value) -> f64 {
    let requests = of["response_time"]["count"].as_f64().expect("a count");
    requests * (mean_ns(&of["response_time"]) - mean_ns(&of["service_time"]))
}

const LOG_IN: &str =
    "[[journeys.steps]]\nname = \"log in\"\nurl = \"/login\"\ncapture = { token = \"json $.token\" }\n";

#[test]
fn a_journey_logs_in_by_http_and_goes_on_over_a_socket_of_its_own() {
    let address = serve(|socket, head| {
        let told = |part: &str| head.contains(part);
        let is_right =
            told("GET /chat?t=t0k ") && told("\r\nAuthorization: Bearer t0k\r\n") && told("Cookie: sid=s1");
        tell(socket, json!({"type": "hello", "right": is_right}).to_string());
        let Some(said) = next(socket) else { return };
        let said: Value = serde_json::from_str(&said).expect("JSON");
        // What was awaited comes last, and what comes later first.
        for kind in ["later", "news", "ack"] {
            tell(socket, json!({"type": kind, "id": said["id"], "room": said["room"]}).to_string());
        }
        let told = next(socket).expect("a second message");
        assert_eq!(told, format!("{{\"id\":{}}}", said["id"]));
    });
    let steps = format!(
        "cookies = true\n{LOG_IN}\
         [[journeys.steps]]\nname = \"open\"\nconnect = \"/chat?t={{{{token}}}}\"\nheader = [\"Authorization: Bearer {{{{token}}}}\"]\n\
         capture = {{ room = \"header X-Room\" }}\n\
         [[journeys.steps]]\nname = \"hello\"\nawait = [\"json $.type == 'hello'\"]\nexpect = [\"json $.right == true\"]\n\
         [[journeys.steps]]\nname = \"say\"\nmessage = '{{\"id\":{{{{index}}}},\"room\":\"{{{{room}}}}\"}}'\nawait = [\"json $.type == 'ack'\"]\n\
         expect = [\"json $.room == 'r7'\"]\ncapture = {{ id = \"json $.id\" }}\n\
         [[journeys.steps]]\nname = \"tell\"\nmessage = '{{\"id\":{{{{id}}}}}}'\nthink = \"50ms\"\n\
         [[journeys.steps]]\nname = \"later\"\nawait = [\"json $.type == 'later'\"]\nthink = \"50ms\"\n\
         [[journeys.steps]]\nname = \"bye\"\nclose = true\n"
    );
    let run = measure(address, plan("rate = 40\nduration = \"1s\"", &steps), &["-t", "2"]);
    let run = run.at("");
    let account =
        json!({"scheduled": 40, "completed": 40, "failed": 0, "timed_out": 0, "unfinished": 0, "unsent": 0});
    assert_eq!(run["journeys"][0]["account"], account);
    for name in ["log in", "open", "hello", "say", "tell", "later", "bye"] {
        let of = step(run, name);
        assert_eq!(
            (&of["entered"], &of["passed"], &of["requests"]),
            (&json!(40), &json!(40), &json!(40)),
            "{name}"
        );
        let protocol = if name == "log in" { "http/1.1" } else { "websocket" };
        assert_eq!(operation(run, name)["protocol"], protocol);
    }
    assert_clocks_follow_each_other(run, &["log in", "open", "hello", "say", "tell", "later", "bye"], 100);
    // The server has said it before the step began, and says nothing afterwards: only the client itself was late.
    let own_ns = figure(&run["generator_late"]["max"]) + figure(&run["generator"]["paused_ns"]);
    assert!(figure(&operation(run, "later")["response_time"]["max"]) <= own_ns + 1_000_000, "{own_ns}");
    let sockets = &run["origins"].as_array().expect("a list")[1];
    let of = &sockets["connections"];
    assert_eq!((&sockets["scheme"], &of["opened"]), (&json!("ws"), &json!(40)));
    assert_eq!(of["unsolicited"], 40, "the news, which no later step wants");
}

#[test]
fn the_handshake_and_the_answer_are_timed_from_when_their_steps_were_due() {
    const WORK: Duration = Duration::from_millis(200);
    let address = serve(|socket, _| {
        while let Some(said) = next(socket) {
            // The answer to the second message leaves only when the third one has come: whoever waits for it where it is sent
            // waits in vain.
            let answer = match said.as_str() {
                "b" => continue,
                "c" => "b",
                said => said,
            };
            std::thread::sleep(WORK);
            tell(socket, answer);
        }
    });
    let steps = format!(
        "think = \"300ms\"\n\
         [[journeys.steps]]\nname = \"open\"\nconnect = \"{SLOW_PATH}\"\n\
         [[journeys.steps]]\nname = \"ask\"\nmessage = \"a\"\nawait = \"any\"\n\
         [[journeys.steps]]\nname = \"tell\"\nmessage = \"b\"\n\
         [[journeys.steps]]\nname = \"more\"\nmessage = \"c\"\n\
         [[journeys.steps]]\nname = \"hear\"\nawait = \"contains=b\"\nthink = \"0s\"\n"
    );
    let run = measure(address, plan("rate = 20\nduration = \"1s\"", &steps), &[]);
    run.assert_all("ok");
    let run = run.at("");
    assert_clocks_follow_each_other(run, &["open", "ask", "tell", "more", "hear"], 900);
    // No machine is faster than that.
    let time_ns = |name: &str| mean_ns(&operation(run, name)["response_time"]);
    let work_ns = WORK.as_nanos() as f64;
    assert!(time_ns("open") >= SLOWLY.as_nanos() as f64, "{}", time_ns("open"));
    assert!(time_ns("ask") >= work_ns, "{}", time_ns("ask"));
    assert!(time_ns("more") + time_ns("hear") >= work_ns, "{} {}", time_ns("more"), time_ns("hear"));
}

#[test]
fn a_dead_socket_fails_the_step_that_meets_it() {
    let address = serve(|socket, head| {
        let _ = next(socket);
        if head.contains("/restart") {
            let frame = CloseFrame { code: CloseCode::Restart, reason: "later".into() };
            let _ = socket.close(Some(frame));
        } else {
            let _ = socket.get_ref().shutdown(std::net::Shutdown::Both);
        }
    });
    let rest = "[[journeys.steps]]\nname = \"tell\"\nmessage = \"a\"\n\
                [[journeys.steps]]\nname = \"wait\"\nawait = \"any\"\nthink = \"200ms\"\n\
                [[journeys.steps]]\nname = \"never\"\nclose = true\n";
    for (path, kind) in [("/restart", "protocol_closed_restart"), ("/gone", "closed_early")] {
        let open = format!("[[journeys.steps]]\nname = \"open\"\nconnect = \"{path}\"\n");
        let run = measure(address, plan("rate = 20\nduration = \"500ms\"", &(open + rest)), &[]);
        assert_eq!(run.failures(kind), 10, "{path}");
        let run = run.at("");
        assert_eq!(step(run, "wait")["failed"], 10);
        assert_eq!((&step(run, "tell")["passed"], &step(run, "never")["entered"]), (&json!(10), &json!(0)));
        assert_eq!(run["journeys"][0]["account"]["failed"], 10);
    }
}

#[test]
fn what_never_comes_times_out_and_the_socket_is_closed() {
    let address = serve(|socket, _| {
        while let Some(said) = next(socket) {
            tell(socket, said);
        }
    });
    let steps = "[[journeys.steps]]\nname = \"open\"\nconnect = \"/\"\n\
                 [[journeys.steps]]\nname = \"ask\"\nmessage = \"a\"\nawait = \"contains=b\"\n";
    let run = measure(
        address,
        // Long enough for the upgrade on a busy machine.
        plan("rate = 20\nduration = \"500ms\"\n[connections]\ntimeout = \"3s\"", steps),
        &[],
    );
    assert_eq!((run.arrivals("timed_out"), run.arrivals("ok")), (10, 10));
    assert_eq!((run.connections("unsolicited"), run.connections("closed_on_timeout")), (10, 10));
    let run = run.at("");
    assert_eq!(run["journeys"][0]["account"]["timed_out"], 10);
}

#[test]
fn refused_and_unreachable_sockets_fail_their_own_step() {
    // Not a WebSocket at all: the same answer to every request.
    let server = support::hostile::Hostile::start(|_| {
        support::hostile::Act::Answer(support::hostile::answer("403 Forbidden", "no"))
    });
    let steps = "[[journeys.steps]]\nname = \"open\"\nconnect = \"/\"\n\
                 [[journeys.steps]]\nname = \"ask\"\nmessage = \"a\"\nawait = \"any\"\n";
    let run = measure(server.address, plan("rate = 20\nduration = \"500ms\"", steps), &["--no-preflight"]);
    run.assert_all_failed("protocol_refused_4xx");
    assert_eq!(step(run.at(""), "ask")["entered"], 0);
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let run = measure(free, plan("rate = 20\nduration = \"500ms\"", steps), &["--no-preflight"]);
    run.assert_all_failed("connect_refused");
}

/// A journey at its last connection does not hold up those that have one.
#[test]
fn a_full_pool_holds_up_only_those_who_connect() {
    let address = serve(|socket, _| {
        while let Some(said) = next(socket) {
            tell(socket, said);
        }
    });
    let steps = "[[journeys.steps]]\nname = \"open\"\nconnect = \"/\"\n\
                 [[journeys.steps]]\nname = \"ask\"\nmessage = \"a\"\nawait = \"any\"\nrepeat = \"4\"\nthink = \"50ms\"\n\
                 [[journeys.steps]]\nname = \"bye\"\nclose = true\n";
    let load = "rate = 20\nduration = \"1s\"\n[connections]\nconnections = 2\ntimeout = \"10s\"";
    let run = measure(address, plan(load, steps), &["-t", "1"]);
    run.assert_all("ok");
    assert_eq!((run.at("/origins/0/connections/peak"), run.connections("opened")), (&json!(2), 20));
    let run = run.at("");
    // Two at a time, each for 200 ms at least: the last of twenty waits for most of two seconds.
    assert!(p50_ns(operation(run, "open")) > 200_000_000);
    // No message does: what they waited for was the generator, and for a connection those waited who opened one, but for two.
    let (causes, waited) = (&run["lag_causes"], |name: &str| waited_ns(operation(run, name)));
    assert!((1..=18).contains(&figure(&causes["no_connection"])), "{causes}");
    assert!(waited("ask") + waited("bye") <= figure(&causes["generator_ns"]) as f64 + 1_000.0, "{causes}");
    assert!(waited("open") + 1_000.0 >= figure(&causes["no_connection_ns"]) as f64, "{causes}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let open = "[[journeys.steps]]\nconnect = \"/\"\n";
    let step = |fields: &str| format!("{open}[[journeys.steps]]\n{fields}\n");
    for (steps, part) in [
        ("[[journeys.steps]]\nmessage = \"a\"\n".into(), "no WebSocket is open here"),
        (step("connect = \"/\""), "has a WebSocket already"),
        (
            format!("{}[[journeys.steps]]\nawait = \"any\"\n", step("close = true")),
            "no WebSocket is open here",
        ),
        (step("message = \"a\"\nurl = \"/\""), "leave url out"),
        (step("message = \"a\"\nexpect = [\"contains=a\"]"), "await says for what"),
        (format!("own-connection = true\n{open}"), "leave own-connection out"),
        (step("await = \"any\"\nwithin = \"1s\""), "within belongs to until"),
        (step("await = \"status=101\""), "a message has no status"),
        (step("await = [\"any\", \"contains=a\"]"), "any accepts every message"),
        (step("await = []"), "would wait for nothing"),
        (step("await = \"any\"\nexpect = [\"status=101\"]"), "neither a status nor headers"),
        (step("await = \"any\"\ncapture = { a = \"header X\" }"), "a message has no headers"),
        (step("close = true\nchance = \"50%\""), "leave chance out"),
        ("[[journeys.steps]]\nconnect = \"grpc://h/\"\n".into(), "write ws:// or wss://"),
        ("[[journeys.steps]]\nconnect = \"/\"\ncapture = { a = \"json $.a\" }\n".into(), "headers alone"),
        ("[[journeys.steps]]\nconnect = \"/\"\nmethod = \"POST\"\n".into(), "leave method out"),
        (
            "[[journeys.steps]]\nconnect = \"/\"\nheader = [\"Upgrade: x\"]\n".into(),
            "belongs to the handshake",
        ),
        ("[[journeys.steps]]\nurl = \"ws://h/\"\n".into(), "a step with connect opens it"),
        ("[[journeys.steps]]\nname = \"x\"\n".into(), "this step has no url"),
    ] {
        let place = Place::new();
        place.file("plan.toml", plan("rate = 1\nduration = \"1s\"", &steps));
        place.call(&["run", "plan.toml", "http://127.0.0.1:9/"]).refused(&[part]);
    }
    let place = Place::new();
    place.file("plan.toml", plan("rate = 1\nduration = \"1s\"", open));
    place.call(&["sim", "plan.toml", "--scenario", "healthy"]).refused(&["leave steps over a WebSocket out"]);
    place.call(&["try", "plan.toml", "http://127.0.0.1:9/"]).refused(&["run -n instead"]);
    for (flags, part) in [
        (&["--http", "2"][..], "leave --http and --streams out"),
        (&["--match", "json $.id"], "says by await"),
        (&["--depth", "4"], "takes one step after the other"),
    ] {
        place.call(&[&["run", "plan.toml", "http://127.0.0.1:9/"], flags].concat()).refused(&[part]);
    }
}
