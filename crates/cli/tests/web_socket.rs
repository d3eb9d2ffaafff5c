//! Messages over WebSockets from the command line, against servers of another implementation.

use crate::support::hostile::{Act, Hostile, answer};
use crate::support::{Place, Run};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

type Socket = WebSocket<TcpStream>;

const FORTY: [&str; 4] = ["-R", "200", "-n", "40"];
const NAMED: [&str; 4] = ["--message", r#"{"id":"{{index}}"}"#, "--match", "json $.id"];

struct Server {
    address: SocketAddr,
    sockets: Arc<AtomicUsize>,
}

/// Serves each socket on a thread of its own, to the end of `each`.
fn serve(each: impl Fn(&mut Socket) -> Option<()> + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (sockets, each) = (Arc::new(AtomicUsize::new(0)), Arc::new(each));
    let server = Server { address, sockets: sockets.clone() };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            sockets.fetch_add(1, Ordering::Relaxed);
            let each = each.clone();
            std::thread::spawn(move || {
                stream.set_nodelay(true).expect("an option");
                let mut socket = tungstenite::accept(stream).ok()?;
                while each(&mut socket).is_some() {}
                Some(())
            });
        }
    });
    server
}

/// The next message that is no answer to a ping.
fn next(socket: &mut Socket) -> Option<Message> {
    loop {
        match socket.read().ok()? {
            message if message.is_text() || message.is_binary() => return Some(message),
            _ => {}
        }
    }
}

fn echo(socket: &mut Socket) -> Option<()> {
    let message = next(socket)?;
    socket.send(message).ok()
}

impl Server {
    fn url(&self) -> String {
        format!("ws://{}/chat", self.address)
    }

    fn run(&self, more: &[&str]) -> Run {
        Place::new().measure(&[&[self.url().as_str()], &FORTY[..], more].concat())
    }
}

#[test]
fn messages_go_over_held_sockets() {
    let server = serve(echo);
    let run = server.run(&["-c", "4", "--message", "hello {{index}}", "--expect", "contains=hello"]);
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 40);
    assert_eq!(run.at("/operations/0/protocol"), "websocket");
    assert_eq!(run.at("/operations/0/name"), "SEND /chat");
    assert_eq!(run.at("/origins/0/scheme"), "ws");
    assert_eq!(run.at("/origins/0/connections/web_socket/depth"), 1);
    // One for the check before the run.
    assert_eq!(server.sockets.load(Ordering::Relaxed), 5);
    assert_eq!(run.connections("opened"), 4);
}

#[test]
fn answers_in_any_order_are_found_by_name_among_pushes() {
    // Answers come in twos, the later one first; the check before the run sends a single one.
    let server = serve(|socket| {
        let first = next(socket)?;
        socket.get_ref().set_read_timeout(Some(Duration::from_millis(30))).ok()?;
        let second = socket.read().ok().filter(Message::is_text);
        socket.get_ref().set_read_timeout(None).ok()?;
        socket.send(Message::text(r#"{"news":1}"#)).ok()?;
        for message in second.into_iter().chain([first]) {
            socket.send(message).ok()?;
        }
        Some(())
    });
    let run = server.run(&[&["-c", "1", "--depth", "8"], &NAMED[..]].concat());
    run.assert_all("ok");
    assert_eq!(run.connections("opened"), 1);
    assert!(run.connections("unsolicited") >= 5, "{}", run.connections("unsolicited"));
    assert!(!run.has_finding("pushes_among_answers"));
}

#[test]
fn pushes_among_answers_in_order_are_told() {
    let server = serve(|socket| {
        echo(socket)?;
        socket.send(Message::text("news")).ok()
    });
    let run = server.run(&["-c", "1", "--message", "a"]);
    assert!(run.has_finding("pushes_among_answers"));
    assert!(run.connections("unsolicited") > 0);
}

#[test]
fn pings_are_answered_in_the_middle_of_everything() {
    let server = serve(|socket| {
        let message = next(socket)?;
        socket.send(Message::Ping(vec![7; 125].into())).ok()?;
        // Nothing is said before the pong.
        while !matches!(socket.read().ok()?, Message::Pong(payload) if payload.len() == 125) {}
        socket.send(message).ok()
    });
    let run = server.run(&["-c", "2", "--message", "a", "--message-type", "binary"]);
    run.assert_all("ok");
    assert_eq!(run.connections("pinged"), 40);
}

#[test]
fn a_close_fails_what_is_under_way_and_the_next_goes_over_another_socket() {
    let served = AtomicUsize::new(0);
    let server = serve(move |socket| {
        // The first is the check before the run.
        if served.fetch_add(1, Ordering::Relaxed) % 10 != 9 {
            return echo(socket);
        }
        next(socket)?;
        let frame = CloseFrame { code: CloseCode::Again, reason: "busy".into() };
        socket.close(Some(frame)).ok()?;
        while socket.read().is_ok() {}
        None
    });
    let run = server.run(&["-c", "1", "--message", "a"]);
    let failed = run.failures("protocol_closed_try_later");
    assert!(failed >= 3 && run.arrivals("ok") + failed == 40, "{failed}");
    assert!(run.connections("opened") > failed);
}

#[test]
fn a_stall_is_felt_by_all_who_were_due_in_it() {
    for (sockets, depth) in [("50", "1"), ("1", "64")] {
        let begun: Mutex<Option<Instant>> = Mutex::default();
        // Nothing is answered for a second, from one after the first message.
        let server = serve(move |socket| {
            let message = next(socket)?;
            let from = *begun.lock().ok()?.get_or_insert_with(Instant::now) + Duration::from_secs(1);
            let stall = from..from + Duration::from_secs(1);
            if stall.contains(&Instant::now()) {
                std::thread::sleep(stall.end.saturating_duration_since(Instant::now()));
            }
            socket.send(message).ok()
        });
        let load =
            ["-R", "200", "-d", "3s", "-c", sockets, "--depth", depth, "--message", "a", "--no-preflight"];
        let run = Place::new().measure(&[&[server.url().as_str()], &load[..]].concat());
        run.assert_all("ok");
        // 200 of 600 were due in it: the first waited for all of it, and a quarter of all for more than a quarter of it.
        for (q, at_least_ms) in [(0.99, 900), (0.75, 200)] {
            let (value, _) = run.quantile("response_time", q);
            assert!(value > at_least_ms * 1_000_000, "{sockets} sockets: {q} is {value} ns");
        }
    }
}

#[test]
fn a_refused_upgrade_is_told_with_what_it_says() {
    let server = Hostile::start(|_| Act::AnswerThenClose(answer("403 Forbidden", "wrong origin")));
    let url = format!("ws://{}/chat", server.address);
    let said = Place::new().call(&["run", &url, "-R", "10", "-n", "5", "--message", "a"]);
    for part in ["refuses to switch to WebSocket", "wrong origin", "HTTP/1.1 403 Forbidden"] {
        assert!(said.stderr.contains(part), "{}", said.stderr);
    }
}

#[test]
fn hostile_frames_are_counted_by_what_is_wrong_with_them() {
    for (bytes, kind) in [
        (&b"\x81\x81\x01\x02\x03\x04\x05"[..], "masked"),
        (b"\xc1\x00", "reserved_bits"),
        (b"\x81\x01\xff", "invalid_utf8"),
        (b"\x88\x02\x03\xed", "close_code"),
        (b"\x09\x00", "control_fragmented"),
        (b"\x89\x7e\x00\x7e", "control_too_long"),
        (b"\x80\x00", "continuation_unexpected"),
        (b"\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00", "masked"),
        (b"\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00", "length_top_bit"),
    ] {
        let server = serve(move |socket| {
            next(socket)?;
            socket.get_mut().write_all(bytes).ok()?;
            while socket.read().is_ok() {}
            None
        });
        let run = server.run(&["-c", "2", "--message", "a", "--no-preflight"]);
        run.assert_all_failed(&format!("protocol_{kind}"));
    }
}

#[test]
fn a_plan_lists_messages() {
    let server = serve(echo);
    let place = Place::new();
    let text = format!(
        "target = \"ws://{}\"\n[load]\nrate = 200\nduration = \"200ms\"\n[connections]\nconnections = 2\nmatch = \"json $.id\"\n\
         depth = 4\n[[requests]]\nname = \"say\"\nurl = \"/chat\"\nmessage = '{{\"id\":\"{{{{index}}}}\",\"a\":1}}'\n\
         expect = [\"json $.a == 1\"]\n[[requests]]\nname = \"who\"\nurl = \"/chat\"\nmessage = '{{\"id\":{{{{index}}}}}}'\n",
        server.address
    );
    place.file("plan.toml", text);
    let run = place.measure(&["plan.toml"]);
    run.assert_all("ok");
    let names: Vec<_> = (0..2).map(|i| run.at(&format!("/operations/{i}/name")).clone()).collect();
    assert_eq!(names, ["say", "who"]);
    let shown = place.call(&["plan", "show", "plan.toml"]);
    assert!(shown.stdout.contains("say"), "{}{}", shown.stdout, shown.stderr);
    let said = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("on average, without its frame, and"), "no head of HTTP: {said}");
    let tried = place.call(&["try", "plan.toml"]);
    assert!(tried.stdout.contains("WebSocket") && tried.stdout.contains(r#"{"id":"#), "{}", tried.stdout);
    assert!(tried.stdout.contains("a message answers it: holds"), "{}", tried.stdout);
    assert!(
        !tried.stdout.contains("HTTP/1.1")
            && !tried.stdout.contains("200..399")
            && !tried.stdout.contains("Host:"),
        "{}",
        tried.stdout
    );
}

#[test]
fn a_search_and_a_comparison_go_over_sockets() {
    let (a, b) = (serve(echo), serve(echo));
    let place = Place::new();
    let knee = ["knee", &a.url(), "--message", "a", "--slo", "p50 < 500ms", "--start", "50", "--max", "50"];
    let times = ["--settle", "200ms", "--measure", "4s", "--json", "-q", "-o", "k"];
    let said = place.call(&[&knee[..], &times].concat());
    let found: serde_json::Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}", said.stderr));
    assert!(found["trials"].as_array().is_some_and(|trials| !trials.is_empty()), "{found}");
    let both = [
        "compare",
        &a.url(),
        &b.url(),
        "--message",
        "a",
        "-R",
        "100",
        "-d",
        "1s",
        "--runs",
        "1",
        "-q",
        "--json",
    ];
    let said = place.call(&[&both[..], &["-o", "c"]].concat());
    let compared: serde_json::Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}", said.stderr));
    assert!(compared.is_object(), "{compared}");
    assert!(a.sockets.load(Ordering::Relaxed) > 4 && b.sockets.load(Ordering::Relaxed) > 0);
}

/// What failed is shown as it was sent: a message, without words of HTTP.
#[test]
fn a_failed_message_is_shown_as_one() {
    let server = serve(echo);
    let place = Place::new();
    let url = format!("ws://{}/chat", server.address);
    let run = ["run", &url, "-R", "20", "-n", "5", "--message", r#"{"a":1}"#, "--expect", "json $.a == 2"];
    place.call(&[&run[..], &["--no-preflight", "--keep-failures", "1", "--store", "h.db"]].concat());
    let shown = place.call(&["show", "latest", "--failures", "--store", "h.db"]);
    let shown = shown.stdout + &shown.stderr;
    assert!(shown.contains(r#"{"a":1}"#) && shown.contains("message"), "{shown}");
    assert!(!shown.contains("HTTP/1.1") && !shown.contains("Host:"), "{shown}");
}

#[test]
fn what_can_not_be_is_refused() {
    let url = "ws://127.0.0.1:9/chat";
    for (args, part) in [
        (&[url][..], "no message is given"),
        (&["http://127.0.0.1:9/", "--message", "a"], "--message is for WebSockets"),
        (&["http://127.0.0.1:9/", "--depth", "4"], "--depth is for WebSockets"),
        (&[url, "--message", "a", "--depth", "65"], "at most 64"),
        (&[url, "--message", "a", "--match", "header X"], "expected order"),
        (&[url, "--message", "a", "--match", "json $.id"], "no such value"),
        (&[url, "--message", r#"{"id":7}"#, "--match", "json $.id"], "any answer would match"),
        (&[url, "--message", r#"{"id":7,"n":{{index}}}"#, "--match", "json $.id"], "any answer would match"),
        (
            &[url, "--let", "id=constant(7)", "--message", r#"{"id":"{{id}}"}"#, "--match", "json $.id"],
            "any answer would match",
        ),
        (&[url, "--message", r#"{"id":"{{int(3,3)}}"}"#, "--match", "json $.id"], "any answer would match"),
        (&[url, "--message", "a", "--http", "2"], "--http and --streams are for HTTP"),
        (&[url, "--message", "a", "-X", "POST"], "no methods"),
        (&[url, "--message", "a", "--expect", "status=101"], "neither a status nor headers"),
        (&[url, "--message", "a", "-H", "Upgrade: x"], "belongs to the handshake"),
        (&["ws://127.0.0.1:9/{{index}}", "--message", "a"], "in the message alone"),
        (&[url, "http://127.0.0.1:9/", "--message", "a"], "a run speaks one protocol"),
        (&[url, "ws://127.0.0.1:9/other", "--message", "a"], "the same sockets"),
    ] {
        Place::new().call(&[&["run", "-R", "1", "-n", "1"], args].concat()).refused(&[part]);
    }
}
