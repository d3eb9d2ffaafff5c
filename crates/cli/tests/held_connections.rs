//! Journeys that hold a connection of the pool: transactions of a real PostgreSQL over several steps, and requests of HTTP.

use crate::own_connections::{MIXED, by_connection};
use crate::protocol_broken::{hear, message, serving};
use crate::stores::Postgres;
use crate::support::hostile::{Act, Hostile, ok};
use crate::support::tried::{each, tried};
use crate::support::{Place, Run, Said};
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

/// Each moves 1 from an account of the first half to one of the second, and thinks between the statements.
const TRANSFER: &str = r#"
[load]
rate = 100
duration = "1s"
seed = 3
[connections]
connections = 4
[let]
from = "uniform(1, 50)"
to = "uniform(51, 100)"
[[journeys]]
name = "transfer"
hold-connection = true
think = "20ms"
[[journeys.steps]]
name = "begin"
url = "/postgres"
sql = ["BEGIN ISOLATION LEVEL READ COMMITTED"]
[[journeys.steps]]
name = "take"
url = "/postgres"
sql = ["UPDATE account SET balance = balance - 1 WHERE id = {{from}}"]
[[journeys.steps]]
name = "give"
url = "/postgres"
sql = ["UPDATE account SET balance = balance + 1 WHERE id = {{to}}"]
[[journeys.steps]]
name = "commit"
url = "/postgres"
sql = ["COMMIT"]
"#;

const FROM: &str = "from = \"uniform(1, 50)\"\n";
const TO: &str = "to = \"uniform(51, 100)\"\n";

fn bank() -> Postgres {
    let postgres = Postgres::start("trust", &[]);
    postgres.sql("CREATE TABLE account AS SELECT g AS id, 0 AS balance FROM generate_series(1, 100) g");
    postgres.sql("CREATE TABLE log (what text UNIQUE)");
    postgres
}

fn called(postgres: &Postgres, command: &str, plan: &str, more: &[&str]) -> Said {
    let path = postgres.place.file("plan.toml", plan);
    let (path, target) = (path.to_string_lossy().into_owned(), postgres.url());
    postgres.call(&[&[command, &path, &target, "--json"], more].concat())
}

#[test]
fn a_transaction_lasts_over_the_steps_of_a_journey() {
    let postgres = bank();
    let run = called(&postgres, "run", TRANSFER, &[]).run();
    run.assert_accounts();
    assert_eq!(run.count("/journeys/0/account/completed"), 100, "{:?}", run.at("/journeys/0/account"));
    assert_eq!(run.at("/journeys/0/hold_connection"), &Value::Bool(true));
    // One journey takes more than 60 ms, and 100 begin in a second: six at once on average, over four connections.
    let counts = ["opened", "held", "closed_open", "own"]
        .map(|name| run.at("/origins/0/connections").get(name).and_then(Value::as_u64).unwrap_or(0));
    assert_eq!(counts, [4, 100, 0, 0]);
    assert!(run.count("/lag_causes/no_connection") > 20, "{:?}", run.at("/lag_causes"));
    let halves = "SELECT sum(balance), sum(balance) FILTER (WHERE id <= 50) FROM account";
    assert_eq!(postgres.sql(halves), "0|-100");
}

#[test]
fn a_journey_that_fails_is_rolled_back() {
    let postgres = bank();
    postgres.sql("INSERT INTO log VALUES ('there')");
    let fails = TRANSFER.replace(TO, "").replace(
        "UPDATE account SET balance = balance + 1 WHERE id = {{to}}",
        "INSERT INTO log VALUES ('there')",
    );
    let run = called(&postgres, "run", &fails, &[]).run();
    run.assert_accounts();
    assert_eq!(run.count("/journeys/0/failures/postgres_unique_violation"), 100);
    assert_eq!((run.connections("held"), run.connections("closed_open")), (100, 100));
    assert_eq!(postgres.sql("SELECT count(*) FROM account WHERE balance <> 0"), "0");
    // A pool keeps its size: nobody has waited for a connection that was not there again.
    assert!(run.connections("peak") == 4, "{:?}", run.at("/origins/0/connections"));
    // A step that takes too long is undone with its journey.
    let slow = TRANSFER
        .replace("sql = [\"COMMIT\"]", "sql = [\"SELECT pg_sleep(5)\"]")
        .replace("rate = 100", "rate = 5");
    let run = called(&postgres, "run", &slow, &["--timeout", "500ms"]).run();
    run.assert_accounts();
    assert_eq!(run.count("/journeys/0/account/timed_out"), 5, "{:?}", run.at("/journeys/0/account"));
    assert_eq!(postgres.sql("SELECT count(*) FROM account WHERE balance <> 0"), "0");
}

#[test]
fn a_server_that_ends_a_transaction_between_two_steps_fails_the_journey() {
    let postgres = bank();
    let idle = TRANSFER
        .replace("[let]\n", "")
        .replace(FROM, "")
        .replace(TO, "")
        .replace(
            "UPDATE account SET balance = balance - 1 WHERE id = {{from}}",
            "SET LOCAL idle_in_transaction_session_timeout = '5ms'",
        )
        .replace(
            "UPDATE account SET balance = balance + 1 WHERE id = {{to}}",
            "INSERT INTO log VALUES ('{{index}}')",
        )
        .replace("think = \"20ms\"", "think = \"200ms\"")
        .replace("rate = 100", "rate = 10");
    let run = called(&postgres, "run", &idle, &[]).run();
    run.assert_accounts();
    assert_eq!(run.count("/journeys/0/failures/closed_early"), 10, "{:?}", run.at("/journeys/0/failures"));
    assert_eq!(postgres.sql("SELECT count(*) FROM log"), "0", "what follows is not done by itself");
}

#[test]
fn control_of_transactions_is_refused_without_the_setting() {
    let postgres = Postgres::start("trust", &[]);
    let shared = TRANSFER.replace("hold-connection = true\n", "");
    let said = called(&postgres, "run", &shared, &[]);
    assert!(
        said.code() == Some(2) && said.stderr.replace("\n    ", " ").contains("hold-connection = true"),
        "{said:?}"
    );
    for (plan, more, part) in [
        (TRANSFER.to_string(), &["--attempts", "3"][..], "not tried again"),
        (TRANSFER.to_string(), &["--depth", "2"], "one request at a time"),
        (
            TRANSFER.replace("hold-connection", "own-connection = true\nhold-connection"),
            &[],
            "leave one of them out",
        ),
    ] {
        let said = called(&postgres, "run", &plan, more);
        let stderr = said.stderr.replace("\n    ", " ");
        assert!(said.code() == Some(2) && stderr.contains(part), "{part}: {said:?}");
    }
}

/// A server that keeps no data and says of its transactions what it is told to say: `ready` is the status behind the answer to the
/// statement of that number in its connection's life, and `behind` is what it says besides, unasked.
fn liar(ready: fn(usize) -> u8, behind: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> String {
    let address = serving(move |mut stream, _| {
        let idle = message(b'Z', b"I");
        hear(&mut stream)?;
        stream.write_all(&[message(b'R', &[0; 4]), idle.clone()].concat())?;
        // All statements of the plan are prepared in one go, each with an answer.
        hear(&mut stream)?;
        stream.write_all(&[message(b'1', b"").repeat(4), idle].concat())?;
        for number in 0.. {
            if !hear(&mut stream)? {
                break;
            }
            let answer = [message(b'2', b""), message(b'C', b"UPDATE 1\0"), message(b'Z', &[ready(number)])];
            stream.write_all(&[answer.concat(), behind(number)].concat())?;
        }
        Ok(())
    });
    format!("postgres://u@{address}/d")
}

/// Steps of a journey: `BEGIN`, two statements, `COMMIT`.
fn lied_to(url: &str, more: &[&str]) -> Run {
    let place = Place::new();
    place.file("plan.toml", TRANSFER);
    let args = [&["run", "plan.toml", url, "--no-preflight", "--timeout", "2s", "--json"], more].concat();
    let run = place.call(&args).run();
    run.assert_accounts();
    run
}

/// Whoever says that it is idle is believed: nothing is open at the end. One that says to the last that a transaction is open has
/// its connection closed, and no other journey finds it.
#[test]
fn a_server_that_lies_about_its_transactions_keeps_no_journey_from_another() {
    let honest = lied_to(&liar(|number| [b'T', b'T', b'T', b'I'][number % 4], |_| Vec::new()), &[]);
    // What never happened is left out.
    let count = |run: &Run, name: &str| run.at("/origins/0/connections")[name].as_u64().unwrap_or(0);
    let counts = |run: &Run| ["held", "opened", "closed_open"].map(|name| count(run, name));
    assert_eq!(counts(&honest), [100, 4, 0]);
    let idle = lied_to(&liar(|_| b'I', |_| Vec::new()), &[]);
    assert_eq!(counts(&idle), [100, 4, 0], "{idle:?}");
    assert_eq!(idle.count("/journeys/0/account/completed"), 100);
    let open = lied_to(&liar(|_| b'T', |_| Vec::new()), &[]);
    assert_eq!(counts(&open)[..1], [100], "{open:?}");
    assert_eq!(count(&open, "closed_open"), 100, "COMMIT has left it open: {open:?}");
    // A status that there is none of is no answer at all.
    let none = lied_to(&liar(|_| b'X', |_| Vec::new()), &[]);
    assert_eq!(none.count("/journeys/0/account/failed"), 100, "{none:?}");
    assert_eq!(count(&none, "closed_broken"), 100, "{none:?}");
}

/// Behind the answer to a step, while the journey thinks and its connection is held: the journey fails where it would go on, and the
/// step after it is sent over no other connection.
#[test]
fn what_comes_unasked_while_a_connection_is_held_ends_its_journey() {
    let ready = |number: usize| [b'T', b'T', b'T', b'I'][number % 4];
    let behind = |number: usize| if number == 1 { message(b'C', b"UPDATE 1\0") } else { Vec::new() };
    let run = lied_to(&liar(ready, behind), &[]);
    assert_eq!(run.count("/journeys/0/account/completed"), 0, "{run:?}");
    assert_eq!(run.count("/journeys/0/account/failed"), 100, "{:?}", run.at("/journeys/0"));
    let connections = run.at("/origins/0/connections");
    assert_eq!(
        (&connections["closed_unasked"], &connections["held"]),
        (&100.into(), &100.into()),
        "{connections}"
    );
    // BEGIN and one statement of each were answered.
    assert_eq!(run.arrivals("ok"), 200, "{:?}", run.at("/arrivals"));
    assert!(run.has_finding("protocol_broken"), "{run:?}");
}

/// Steps are tried over one connection, so that they are one transaction, too.
#[test]
fn a_transaction_is_tried_as_one() {
    let postgres = bank();
    let said = called(&postgres, "try", TRANSFER, &[]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let halves = "SELECT sum(balance), sum(balance) FILTER (WHERE id <= 50) FROM account";
    assert_eq!(postgres.sql(halves), "0|-1");
    let breaks = TRANSFER.replace("balance + 1 WHERE", "balance + 1 / 0 WHERE");
    let said = called(&postgres, "try", &breaks, &[]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert_eq!(postgres.sql(halves), "0|-1", "nothing of it is done");
}

/// The same journeys over three connections of the pool, which they hold.
fn shop() -> String {
    format!("[connections]\nconnections = 3\n{}", MIXED.replace("own-connection", "hold-connection"))
}

#[test]
fn over_http_nobody_else_uses_a_connection_that_is_held() {
    let server = Hostile::start(|_| Act::AnswerAfter(Duration::from_millis(2), ok()));
    let place = Place::new();
    place.file("plan.toml", shop());
    let run = place.measure(&["plan.toml", &server.url(), "--no-preflight"]);
    run.assert_accounts();
    assert_eq!((run.count("/journeys/0/account/completed"), run.arrivals("ok")), (50, 200));
    assert_eq!((run.connections("opened"), run.connections("held")), (3, 50));
    let mut whole = 0;
    for seen in by_connection(&server).values() {
        let mut seen = seen.iter();
        while let Some((step, number)) = seen.next() {
            if step == "items" {
                continue;
            }
            let next = ["cart", "order"].map(|step| Some((step.to_string(), number.clone())));
            assert_eq!((step.as_str(), [seen.next().cloned(), seen.next().cloned()]), ("search", next));
            whole += 1;
        }
    }
    assert_eq!(whole, 50);
}

#[test]
fn over_http_a_journey_fails_whose_connection_is_closed() {
    let server = Hostile::start(|seen| match seen.target.starts_with("/cart") {
        true => Act::AnswerThenClose(ok()),
        false => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file("plan.toml", shop());
    let run = place.measure(&["plan.toml", &server.url(), "--no-preflight"]);
    run.assert_accounts();
    assert_eq!(run.count("/journeys/0/failures/closed_early"), 50);
    assert!(server.seen().iter().all(|seen| !seen.target.starts_with("/order")));
}

/// Nothing of the journey goes over another connection when it is tried, either, whenever the server closes: with its answer, or
/// before the next step. Another journey has another one.
#[test]
fn a_journey_whose_connection_is_closed_fails_when_it_is_tried_as_in_a_run() {
    let closes = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    for act in [Act::AnswerThenClose(closes.to_vec()), Act::AnswerThenClose(ok())] {
        let server = Hostile::start(move |seen| match seen.target.starts_with("/cart") {
            true => act.clone(),
            false => Act::Answer(ok()),
        });
        let place = Place::new();
        place.file("plan.toml", shop());
        let (document, said) = tried(&place, &["plan.toml", &server.url()]);
        assert_eq!(said.code(), Some(1), "{said:?}");
        let steps = each(&document);
        let [.., search, cart, order] = &steps[..] else { panic!("{document:#}") };
        assert_eq!([search, cart].map(|step| step["outcome"].as_str()), [Some("as_expected"); 2]);
        assert_eq!(order["outcome"], "no_answer", "{order:#}");
        // A close that was not announced may be seen before the next step is sent, or after.
        assert!(server.seen().iter().all(|seen| !seen.target.starts_with("/order")));
        assert_eq!(server.connections(), 2, "one of the journey, and one of the request that stands alone");
    }
    // Its connection was announced to end with the answer before: nothing was sent.
    let server = Hostile::start(|_| Act::AnswerThenClose(closes.to_vec()));
    let place = Place::new();
    place.file("plan.toml", shop());
    let (document, _) = tried(&place, &["plan.toml", &server.url()]);
    let steps = each(&document);
    let [.., search, cart, order] = &steps[..] else { panic!("{document:#}") };
    assert_eq!(search["outcome"], "as_expected");
    let why = cart["why"].as_str().expect("it is told");
    assert!(
        why.contains("counts as closed_early") && cart.get("sent").is_none_or(Value::is_null),
        "{cart:#}"
    );
    assert_eq!((order["outcome"].as_str(), server.connections()), (Some("not_sent"), 2));
}
