//! `--server`, `--network` and `--generator` in words.

use super::words::{Word, split, wrong};
use crate::args::sim::SimArgs;
use crate::errors::{refuse, refused_value};
use crate::request::version::HttpArg;
use crate::value;
use anyhow::{Result, bail};
use unblink_core::dispatch::Room;
use unblink_core::sim::{
    Crowding, EventSpec, GeneratorSpec, Limit, NetworkSpec, RandomWindows, ServerSpec, Service, Windows,
};
use unblink_core::time::Nanos;
use unblink_wire::http2;

const WORDS: &str = "limit=RATE, slots=N, queue=N, service=TIME, events=N, gap=TIME, pause=…, slow=TIME/N, order=connection, crowd=2x@200, down=…, accept-stall=…, refuse=1/N, \
                     reset=1/N, error=1/N (see unblink sim --help)";

/// Events of an answer: each is looked at alone.
const EVENTS_MAX: u32 = 100_000;

/// Stretches of time one after the other that are looked at to find one in which the server is open.
const STRETCHES_MAX: u32 = 100_000;

/// The server that `text` describes, which was given to `flag`.
pub(crate) fn parse(flag: &'static str, text: &str) -> Result<ServerSpec> {
    let mut server = ServerSpec::new(Service::Constant(Nanos::ZERO));
    let (mut count, mut gap) = (None, None);
    let mut seen: Vec<&str> = Vec::new();
    for word in split(flag, text) {
        let many = word.name == "accept-stall" || word.name == "down" || word.name == "pause";
        if !many && seen.contains(&word.name) {
            bail!(word.wrong(format!("{} was given before", word.name)));
        }
        seen.push(word.name);
        match word.name {
            "limit" => server.limit = Some(limit(&word)?),
            "slots" => server.slots = Some(word.count()?),
            "queue" => server.queue_max = Some(queue(&word)?),
            "service" => server.service = service(&word)?,
            "events" => count = Some(word.count()?),
            "gap" => gap = Some(service(&word)?),
            "pause" => pause(&word, &mut server)?,
            "slow" => server.slow_one_in = Some(word.time_in()?),
            "order" if word.value == "connection" => server.in_order = true,
            "order" => {
                bail!(word.wrong("expected connection: of each, one request at a time, in their order"))
            }
            "crowd" => server.crowding = Some(crowd(&word)?),
            "accept-stall" => server.accept_stalled.push(word.windows()?),
            "down" => server.down.push(word.windows()?),
            "refuse" => server.refuse_one_in = word.one_in()?,
            "reset" => server.reset_one_in = word.one_in()?,
            "error" => server.error_one_in = word.one_in()?,
            _ => bail!(word.wrong(format!("unknown word; expected one of {WORDS}"))),
        }
    }
    if !seen.contains(&"service") {
        bail!(wrong(flag, "how long does a request take? Add service=TIME, such as service=10ms"));
    }
    if server.queue_max.is_some() && server.slots.is_none() {
        bail!(wrong(flag, "queue=N needs slots=N: without a limit of requests in service nothing waits"));
    }
    server.events = match (count, gap) {
        (None, None) => None,
        (Some(count), Some(gap)) if count <= EVENTS_MAX => Some(EventSpec { count, gap }),
        (Some(count), Some(_)) => {
            bail!(wrong(flag, format!("events={count}: an answer has at most {EVENTS_MAX} events")))
        }
        _ => bail!(wrong(
            flag,
            "events=N and gap=TIME go together, such as events=20 gap=exp(50ms): how many events an answer has, and the \
             time from one to the next"
        )),
    };
    if !opens(&server.shut) {
        bail!(wrong(
            flag,
            "its pauses follow on one another without a gap, so that it never answers; shorten one"
        ));
    }
    Ok(server)
}

/// The service time of one request, `NAME=TIME`, which is the value of this number of `--service`: the name, and the time,
/// also in words.
pub(super) fn service_of(number: usize, text: &str) -> Result<(String, Service, String)> {
    let refused = |why: String| refused_value("service", number, format!("--service {text:?}: {why}"));
    let named = text.rsplit_once('=').map(|(name, time)| (name.trim(), time.trim()));
    let Some((name, time)) = named.filter(|(name, time)| !name.is_empty() && !time.is_empty()) else {
        bail!(refused("expected NAME=TIME, such as 'cart=exp(2ms)'".into()));
    };
    let time = time.split_whitespace().collect::<String>();
    let word = format!("service={time}");
    let word = split("service", &word).next().expect("a word");
    let service = service(&word).map_err(|error| refused(crate::explain_error(&error)))?;
    Ok((name.to_string(), service, time))
}

/// `50/s`, or `50/s+20`: after a quiet time twenty more at once.
fn limit(word: &Word<'_>) -> Result<Limit> {
    let (rate, burst) = match word.value.split_once('+') {
        None => (word.value, 0),
        Some((rate, burst)) => {
            let most =
                |why| word.wrong(format!("after the + expected how many more are taken at once: {why}"));
            (rate, value::positive(burst).map_err(most)?)
        }
    };
    let rate = value::rate(rate).map_err(|why| word.wrong(why))?;
    Ok(Limit { rate, burst })
}

fn queue(word: &Word<'_>) -> Result<u64> {
    let n = word.value.parse::<u64>();
    n.map_err(|_| word.wrong("expected a number of requests that may wait, 0 or more"))
}

/// `2x@200`: twice as slow while more than 200 are in the system. `2x@200~5s`: until none has been for 5 s.
fn crowd(word: &Word<'_>) -> Result<Crowding> {
    let expected = || word.wrong("expected TIMESx@NUMBER or TIMESx@NUMBER~TIME, such as 2x@200 or 2x@200~5s");
    let (times, rest) = word.value.split_once("x@").ok_or_else(expected)?;
    let times =
        times.parse::<f64>().ok().filter(|times| (1.0..=100.0).contains(times)).ok_or_else(expected)?;
    let (above, idle) = match rest.split_once('~') {
        Some((above, idle)) => (above, Some(word.time_of(idle)?)),
        None => (rest, None),
    };
    let above = above.parse().map_err(|_| expected())?;
    Ok(Crowding { above, times, until_idle: idle })
}

fn pause(word: &Word<'_>, server: &mut ServerSpec) -> Result<()> {
    if word.value.contains('@') {
        server.shut.push(word.windows()?);
    } else if let Some((length, gap)) = word.value.split_once('~') {
        let (length, gap_mean) = (word.time_of(length)?, word.time_of(gap)?);
        if length == Nanos::ZERO || gap_mean == Nanos::ZERO {
            bail!(word.wrong("neither the pause nor the gap between two may be 0"));
        }
        if server.shut_at_random.is_some() {
            bail!(word.wrong("pauses at random times were given before"));
        }
        server.shut_at_random = Some(RandomWindows { length, gap_min: Nanos::ZERO, gap_mean });
    } else if word.value.contains('/') {
        if server.every_nth.is_some() {
            bail!(word.wrong("a pause of every n-th request was given before"));
        }
        server.every_nth = Some(word.time_in()?);
    } else {
        bail!(word.wrong(
            "expected 200ms/500 (every 500th request), 1s@30s (once, at 30 s), 200ms@9.5s/10s*6 (on a clock) or \
             500ms~20s (at random)"
        ));
    }
    Ok(())
}

/// Is there a moment after which nothing is shut? Otherwise a request would wait for ever.
fn opens(shut: &[Windows]) -> bool {
    let mut at = shut.iter().map(|windows| windows.first).max().unwrap_or(Nanos::ZERO);
    for _ in 0..STRETCHES_MAX {
        match shut.iter().find_map(|windows| windows.end_of(at)) {
            None => return true,
            Some(end) => at = end,
        }
    }
    false
}

/// `1ms`, `exp(1ms)`, `lognormal(1ms,0.5)`, `pareto(1ms,1.5)`, `values(1ms:90,5ms:10)`,
/// `ramp(10ms,100ms,20s,50s)`.
pub(super) fn service(word: &Word<'_>) -> Result<Service> {
    let Some((kind, rest)) = word.value.split_once('(') else {
        return Ok(Service::Constant(word.time()?));
    };
    let Some(inside) = rest.strip_suffix(')') else {
        bail!(word.wrong("the bracket is not closed (a word has no spaces in it)"));
    };
    let parts: Vec<&str> = inside.split(',').collect();
    let factor = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
        number
            .filter(|number| *number <= 100.0)
            .ok_or_else(|| word.wrong(format!("{text:?} is not a number from 0 to 100")))
    };
    Ok(match (kind, parts.as_slice()) {
        ("exp", [mean]) => Service::Exponential { mean: word.time_of(mean)? },
        ("lognormal", [median, sigma]) => {
            Service::LogNormal { median: word.time_of(median)?, sigma: factor(sigma)? }
        }
        ("pareto", [min, alpha]) => Service::Pareto { min: word.time_of(min)?, alpha: factor(alpha)? },
        ("values", values) => Service::Empirical(weighted(word, values)?),
        ("ramp", [from, to, start, end]) => {
            let (start, end) = (word.time_of(start)?, word.time_of(end)?);
            if end <= start {
                bail!(word.wrong("the ramp ends before it begins"));
            }
            Service::Ramp { from: word.time_of(from)?, to: word.time_of(to)?, start, end }
        }
        _ => bail!(word.wrong(
            "expected a time, exp(MEAN), lognormal(MEDIAN,SIGMA), pareto(LEAST,ALPHA), values(TIME:WEIGHT,…) or \
             ramp(FROM,TO,BEGIN,END)"
        )),
    })
}

fn weighted(word: &Word<'_>, values: &[&str]) -> Result<Vec<(Nanos, u64)>> {
    let one = |text: &&str| {
        let parts = text.split_once(':').and_then(|(time, weight)| Some((time, weight.parse::<u32>().ok()?)));
        let (time, weight) =
            parts.ok_or_else(|| word.wrong(format!("{text:?} is not TIME:WEIGHT, such as 5ms:9")))?;
        Ok((word.time_of(time)?, u64::from(weight)))
    };
    let values = values.iter().map(one).collect::<Result<Vec<_>>>()?;
    if values.iter().all(|&(_, weight)| weight == 0) {
        bail!(word.wrong("every weight is 0: give at least one value a weight"));
    }
    Ok(values)
}

/// The network that `text` describes; without words it takes no time.
pub(crate) fn network(text: &str) -> Result<NetworkSpec> {
    let mut network = NetworkSpec::default();
    for word in split("network", text) {
        match word.name {
            "latency" => network.latency = word.time()?,
            "jitter" => network.jitter = word.time()?,
            _ => bail!(word.wrong("unknown word; expected latency=TIME (one way) or jitter=TIME (mean)")),
        }
    }
    Ok(network)
}

/// The generator that `text` describes; without words it is never late.
pub(crate) fn generator(text: &str) -> Result<GeneratorSpec> {
    let mut generator = GeneratorSpec::default();
    for word in split("generator", text) {
        match word.name {
            "pause" if generator.pauses.is_some() => bail!(word.wrong("it has pauses already")),
            "pause" => generator.pauses = Some(word.windows()?),
            "cpu" => generator.cpu_per_event = word.time()?,
            _ => bail!(
                word.wrong("unknown word; expected pause=LENGTH@BEGIN/EVERY or cpu=TIME (for each event)")
            ),
        }
    }
    Ok(generator)
}

/// What a simulated connection takes at once.
pub(super) fn room(args: &SimArgs) -> Result<Room> {
    let is_two = args.http == HttpArg::Two;
    if args.streams.is_some() && !is_two {
        refuse!(["streams"], "--streams is for HTTP/2, and HTTP/1.1 is simulated: add --http 2");
    }
    if is_two && args.journeys.iter().any(|journey| journey.hold_connection) {
        refuse!(
            ["http"],
            "hold-connection is for connections that take one request at a time: leave --http 2 out, or hold-connection"
        );
    }
    let places = args.streams.unwrap_or(http2::STREAMS);
    Ok(if is_two { Room { places, cancels: true } } else { Room::SINGLE })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ServerSpec> {
        parse("server", text)
    }
    use unblink_core::schedule::Rate;

    const fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn servers() {
        let one = parsed("slots=1 service=1ms pause=200ms/500").unwrap();
        assert_eq!((one.slots, one.every_nth), (Some(1), Some((ms(200), 500))));
        let all = parsed(
            "slots=2 queue=0 service=values(1ms:90,5ms:9) pause=1s@30s pause=200ms@9.5s/10s*6 pause=500ms~20s \
             slow=100ms/100 accept-stall=1s@30s down=5s@20s refuse=1/10 reset=1/20 error=1/30",
        )
        .unwrap();
        assert_eq!(all.service, Service::Empirical(vec![(ms(1), 90), (ms(5), 9)]));
        let every = Windows { first: ms(9500), length: ms(200), every: Some(ms(10_000)), count: Some(6) };
        assert_eq!(all.shut, [Windows::once(ms(30_000), ms(1000)), every]);
        assert_eq!(all.shut_at_random.map(|r| (r.length, r.gap_mean)), Some((ms(500), ms(20_000))));
        assert_eq!((all.refuse_one_in, all.reset_one_in, all.error_one_in), (10, 20, 30));
        assert_eq!((all.queue_max, all.slow_one_in), (Some(0), Some((ms(100), 100))));
        let limit = |text: &str| parsed(&format!("service=1ms limit={text}")).unwrap().limit;
        let fifty = |burst| Some(Limit { rate: Rate::per_second(50), burst });
        assert_eq!((limit("50/s"), limit("50rps"), limit("3k/m+20")), (fifty(0), fifty(0), fifty(20)));
        let crowded = parsed("slots=1 service=1ms crowd=2.5x@200~5s").unwrap();
        let crowding = Crowding { above: 200, times: 2.5, until_idle: Some(ms(5_000)) };
        assert_eq!(crowded.crowding, Some(crowding));
        let streamed = parsed("service=1ms events=20 gap=exp(50ms)").unwrap();
        let gap = Service::Exponential { mean: ms(50) };
        assert_eq!(streamed.events, Some(EventSpec { count: 20, gap }));
        assert!(parsed("service=1ms order=connection").unwrap().in_order && !streamed.in_order);
        assert_eq!(parsed("service=exp(1ms)").unwrap().service, Service::Exponential { mean: ms(1) });
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, parts) in [
            ("slots=1 sevice=1ms", &["word 2", "\"sevice=1ms\"", "service=TIME"][..]),
            ("slots=1", &["service=10ms"]),
            ("service=1", &["without a unit", "1ms or 1s"]),
            ("service=exp(1)", &["without a unit"]),
            ("service=fast", &["word 1", "not a time"]),
            ("service=exp(1ms", &["bracket"]),
            ("service=normal(1ms)", &["exp(MEAN)"]),
            ("service=values(1ms)", &["TIME:WEIGHT"]),
            ("service=values(1ms:0)", &["every weight is 0"]),
            ("service=pareto(1ms,0)", &["0 to 100"]),
            ("service=lognormal(1ms,inf)", &["0 to 100"]),
            ("service=ramp(1ms,2ms,3s,3s)", &["ends before"]),
            ("slots=0 service=1ms", &["word 1", "0"]),
            ("slots=4000000000 service=1ms", &["word 1", "not simulated"]),
            ("queue=5 service=1ms", &["slots=N"]),
            ("service=1ms service=2ms", &["word 2", "before"]),
            ("service=1ms pause=1s", &["200ms/500"]),
            ("service=1ms pause=0s@1s", &["no time"]),
            ("service=1ms pause=2s@1s/1s", &["never ends"]),
            ("service=1ms pause=5s@0s/10s pause=5s@5s/10s", &["never answers"]),
            ("service=1ms pause=0s~1s", &["may be 0"]),
            ("service=1ms error=5%", &["1/N"]),
            ("service=1ms order=none", &["word 2", "expected connection"]),
            ("service=1ms crowd=2@200", &["2x@200"]),
            ("service=1ms crowd=0.5x@200", &["2x@200"]),
            ("service=1ms down=5s", &["LENGTH@BEGIN"]),
            ("service=1ms limit=0", &["word 2", "the rate is 0"]),
            ("service=1ms limit=1..2", &["word 2", "a single rate"]),
            ("service=1ms limit=50/s+x", &["word 2", "at once"]),
            ("service=1ms pause=1s@1s/2s*0", &["number of times"]),
            ("service=9000h", &["longer than a year"]),
            ("service=1ms events=5", &["gap=TIME"]),
            ("service=1ms gap=5ms", &["events=N"]),
            ("service=1ms events=0 gap=5ms", &["word 2"]),
            ("service=1ms events=200000 gap=5ms", &["at most"]),
        ] {
            match parsed(text) {
                Ok(_) => assert!(parts.is_empty(), "{text}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.starts_with("--server: "), "{error}");
                    assert!(
                        parts.iter().all(|part| error.contains(part)) && !parts.is_empty(),
                        "{text}: {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn networks_and_generators() {
        let found = network("latency=1ms jitter=200us").unwrap();
        assert_eq!((found.latency, found.jitter), (ms(1), Nanos::from_micros(200)));
        assert!(network("delay=1ms").unwrap_err().to_string().contains("latency=TIME"));
        let found = generator("pause=5ms@1s/1s cpu=10us").unwrap();
        assert_eq!(found.cpu_per_event, Nanos::from_micros(10));
        assert_eq!(found.pauses.and_then(|windows| windows.every), Some(ms(1000)));
        assert!(generator("pause=1s").is_err() && generator("cores=2").is_err());
    }
}
