//! How many machines a load takes, for a terminal.

mod constants;
mod limits;

use crate::block::{Block, Paint, Section, Table, Tone, left, plain, right};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::Screen;
use constants::constants;
use limits::{is_held_by_answers, limits, name, stall_opens, whole_rate};
use unblink_artifact::size::{Constant, ConstantsDocument, Limit, SizeDocument};

/// The answer, what breaks first, and what each agent and all of them do.
pub fn render(doc: &SizeDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let (tone, word, sentence) = answer(doc);
    screen.labelled(tone.paint(), word, &sentence);
    screen.paragraph(0, Paint::Dim, &asked(doc));
    let sections = [limits(doc), largest(doc), total(doc)];
    sections.iter().flatten().for_each(|section| screen.section(section));
    constants(&mut screen, "Constants", &given(doc));
    screen.finish()
}

/// What was measured, before it is reckoned with.
pub fn measured(doc: &ConstantsDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let machine = &doc.environment;
    let cores = format::plural(u64::from(machine.cores), "processor", "processors");
    screen.paragraph(0, Paint::Bold, &format!("{}, {cores}, {}", machine.cpu, machine.kernel));
    constants(&mut screen, "Measured here", &doc.constants);
    screen.finish()
}

fn section(name: &'static str, note: String, blocks: Vec<Block>) -> Option<Section> {
    Some(Section { class: "", name, note, blocks })
}

/// Is it enough, in a word and a sentence.
fn answer(doc: &SizeDocument) -> (Tone, &'static str, String) {
    let fleet = &doc.fleet;
    // By itself an agent takes a share for each core.
    let told = match fleet.workers_per_agent < doc.machine.cores {
        true => format!(" (unblink agent --shares {})", fleet.workers_per_agent),
        false => String::new(),
    };
    let agents = format!(
        "{} with {}{told}",
        format::plural(u64::from(fleet.agents), "agent", "agents"),
        format::plural(u64::from(fleet.workers_per_agent), "worker each", "workers each")
    );
    let rate = format::rate_asked(doc.load.per_s);
    let while_held = match is_held_by_answers(doc) {
        true => format!("while answers take {}", format::duration(doc.load.latency_ns)),
        false => format!("through a stall of {}", format::duration(doc.load.stall_ns)),
    };
    if fleet.is_enough {
        let before = match doc.load.open_before {
            true => format!(", with connections opened before (run -c {})", fleet.total.connections),
            false => String::new(),
        };
        return (Tone::Good, "ENOUGH", format!("{agents} offer {rate} {while_held}{before}."));
    }
    let most = whole_rate(fleet.per_s_max);
    let first = fleet.bounds.first().map_or("", |bound| name(bound.limit));
    // More of them say more than can be taken in: so many carry nothing, whatever else binds.
    let mut bounds = fleet.bounds.iter().enumerate();
    let too_many = bounds.find(|(place, bound)| {
        bound.agents_max.is_some()
            && bound.per_s_max < doc.load.per_s
            && (*place == 0 || fleet.per_s_max == 0.0)
    });
    if let Some((_, bound)) = too_many {
        let most = format::plural(bound.agents_max.unwrap_or_default(), "such agent", "such agents");
        let what = format!("are more than {} allows, which is {most}.", name(bound.limit));
        return not_enough(doc, format!("{agents} {what}"));
    }
    let is_one = |limit| matches!(limit, Limit::Opening | Limit::Network | Limit::Bus | Limit::Merge);
    let bind = if fleet.bounds.first().is_some_and(|bound| is_one(bound.limit)) { "binds" } else { "bind" };
    let what = format!("carry up to {most} of {rate} {while_held}: {first} {bind} first.");
    not_enough(doc, format!("{agents} {what}"))
}

fn not_enough(doc: &SizeDocument, why: String) -> (Tone, &'static str, String) {
    match doc.load.agents_asked {
        Some(_) => (Tone::Bad, "NOT ENOUGH", why),
        None => (Tone::Bad, "NOT POSSIBLE", format!("No fleet of such agents is enough. {why}")),
    }
}

fn asked(doc: &SizeDocument) -> String {
    let (load, machine) = (&doc.load, &doc.machine);
    let mut parts = vec![
        format!("answers after {}", format::duration(load.latency_ns)),
        if load.tls { "TLS".into() } else { "plain text".into() },
        format!(
            "bodies of {} and {}",
            format::bytes(load.request_body_bytes),
            format::bytes(load.answer_body_bytes)
        ),
        format::plural(u64::from(load.addresses), "address", "addresses") + " of the target",
    ];
    if let Some(requests) = load.requests_per_connection {
        parts.push(format!("{} a connection", format::plural(requests, "request", "requests")));
    }
    if load.open_before {
        parts.push("connections opened before the load".into());
    }
    parts.push(format!(
        "agents of {} and {}",
        format::plural(u64::from(machine.cores), "core", "cores"),
        bits(machine.nic_bits_per_s)
    ));
    parts.join(" · ")
}

fn largest(doc: &SizeDocument) -> Option<Section> {
    let agent = &doc.fleet.largest;
    let [sent, received] = agent.network_bits_per_s.map(bits);
    let mut rows = Vec::new();
    if let Some(streams) = agent.streams {
        rows.push(row("streams of 1\u{202f}024", format::count(streams)));
    }
    rows.push(row("requests", format::rate(agent.per_s)));
    rows.push(row("processors busy", format::number(agent.cores_busy)));
    if stall_opens(doc) {
        let busy = format::percent(agent.worker_busy_in_stall);
        rows.push(row("one worker, while a stall opens connections", busy));
    }
    rows.extend([
        row("connections in the stall", format::count(agent.connections)),
        row("local ports for them", format::count(agent.connections_max)),
        row("descriptors", format::count(agent.descriptors)),
        row("sent, received", format!("{sent}, {received}")),
        row("reported", format!("{}/s", format::bytes(agent.bus_bytes_per_s.ceil() as u64))),
    ]);
    section("The largest agent", String::new(), vec![Block::Table(Table::new([left(""), right("")], rows))])
}

fn total(doc: &SizeDocument) -> Option<Section> {
    let total = &doc.fleet.total;
    let [sent, received] = total.network_bits_per_s.map(bits);
    let rows = vec![
        row("processors busy", format::number(total.cores_busy)),
        row("processors with room", format::number(total.cores)),
        row(
            "connections, in the stall",
            format!("{}, {}", format::count(total.connections_at_rest), format::count(total.connections)),
        ),
        row("sent, received", format!("{sent}, {received}")),
        row("reported", format!("{}/s", format::bytes(total.bus_bytes_per_s.ceil() as u64))),
        row("merging keeps busy", format!("{} of a core", format::percent(total.merge_cores_busy))),
    ];
    section("All agents", String::new(), vec![Block::Table(Table::new([left(""), right("")], rows))])
}

fn row(name: &str, figure: String) -> Vec<crate::block::Span> {
    vec![plain(name), plain(figure)]
}

/// Those that whoever asks has given.
fn given(doc: &SizeDocument) -> Vec<Constant> {
    doc.constants.iter().filter(|one| one.is_given).cloned().collect()
}

/// `10 Gbit/s`.
fn bits(per_s: f64) -> String {
    let units = [(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let (length, unit) = units.into_iter().find(|(length, _)| per_s >= *length).unwrap_or((1.0, "bit/s"));
    format!("{}\u{a0}{unit}", format::number(per_s / length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::size::{Agent, Bound, Dealt, Fleet, OpenBefore, Total};
    use unblink_artifact::size::{SIZE_SCHEMA, SizeLoad, SizeMachine};

    fn document() -> SizeDocument {
        let bound = |limit, agents_if_equal, per_s_max, stall_s_max| Bound {
            limit,
            agents_if_equal,
            agents_max: None,
            per_s_max,
            stall_s_max,
        };
        SizeDocument {
            schema: SIZE_SCHEMA.into(),
            load: SizeLoad {
                per_s: 10e6,
                latency_ns: 20_000_000,
                stall_ns: 1_000_000_000,
                dealt: Dealt::Streams,
                tls: false,
                request_body_bytes: 0,
                answer_body_bytes: 2_048,
                requests_per_connection: None,
                operations: 1,
                addresses: 1,
                open_before: false,
                agents_asked: None,
            },
            machine: SizeMachine { cores: 4, nic_bits_per_s: 10e9 },
            fleet: Fleet {
                is_enough: true,
                agents: 512,
                workers_per_agent: 1,
                agents_if_equal: Some(355),
                if_open_before: None,
                auto_max: None,
                bounds: vec![
                    bound(Limit::Ports, 355, 14_454_784.9, Some(1.445_478)),
                    bound(Limit::Opening, 120, 21_351_125.9, None),
                    bound(Limit::Processor, 39, 33_323_000.0, None),
                ],
                per_s_max: 14_454_784.9,
                stall_s_max: 1.445_478,
                largest: Agent {
                    streams: Some(2),
                    per_s: 19_531.25,
                    cores_busy: 0.15,
                    worker_busy_in_stall: 0.468,
                    connections: 19_532,
                    connections_max: 28_232,
                    descriptors: 19_596,
                    network_bits_per_s: [37.5e6, 390.6e6],
                    bus_bytes_per_s: 11_459.2,
                },
                total: Total {
                    cores_busy: 76.8,
                    cores: 153.6,
                    connections: 10_000_000,
                    connections_at_rest: 200_000,
                    network_bits_per_s: [19.2e9, 200e9],
                    bus_bytes_per_s: 5_867_110.0,
                    merge_cores_busy: 0.256,
                },
            },
            constants: Vec::new(),
        }
    }

    fn shown(doc: &SizeDocument) -> String {
        render(doc, &Style { width: 80, color: false })
    }

    #[test]
    fn the_answer_comes_first_and_fits() {
        let text = shown(&document());
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat(&text).starts_with(
            "ENOUGH 512 agents with 1 worker each (unblink agent --shares 1) offer 10 000 000/s through a stall"
        ));
        let mut all_cores = document();
        all_cores.machine.cores = 1;
        assert!(flat(&shown(&all_cores)).starts_with("ENOUGH 512 agents with 1 worker each offer"));
        assert!(text.contains("355 agents would do if shares were equal"), "{text}");
        assert!(text.contains("this fleet carries stalls of up to 1.44 s"), "{text}");
        assert!(flat(&text).contains("opening connections ≥ 120 21 351 125/s –"), "{text}");
        assert!(flat(&text).contains("one worker, while a stall opens connections 46.8 %"), "{text}");
        assert!(!text.contains("Constants"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    /// What helps where connections can't be opened in time: opening them before, if that is enough.
    #[test]
    fn connections_that_are_opened_too_slowly() {
        let flat = |doc: &SizeDocument| shown(doc).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut doc = document();
        (doc.load.tls, doc.fleet.is_enough, doc.fleet.agents_if_equal) = (true, false, None);
        (doc.fleet.agents, doc.fleet.workers_per_agent) = (256, 4);
        (doc.fleet.per_s_max, doc.fleet.stall_s_max) = (6_180_485.8, 0.02);
        doc.fleet.largest.worker_busy_in_stall = 1.618;
        let opening = Bound {
            limit: Limit::Opening,
            agents_if_equal: 415,
            agents_max: None,
            per_s_max: 6_180_485.8,
            stall_s_max: Some(0.02),
        };
        doc.fleet.bounds[1] = opening;
        doc.fleet.bounds.swap(0, 1);
        doc.fleet.if_open_before = Some(OpenBefore { agents: 512, connections: 10_000_384 });
        let text = flat(&doc);
        assert!(text.starts_with("NOT POSSIBLE"), "{text}");
        assert!(text.contains(
            "carry up to 6 180 485/s of 10 000 000/s through a stall of 1 s: opening connections binds"
        ));
        assert!(text.contains("opening connections ≥ 415 6 180 485/s 20 ms"), "{text}");
        assert!(
            text.contains("this fleet carries no stall that is longer than answers take anyway"),
            "{text}"
        );
        assert!(text.contains("takes 162 % of a worker's processor, so arrivals would wait"), "{text}");
        assert!(text.contains("(run -c 10000384; here --open-before). Then 512 agents would do."), "{text}");
        assert!(!text.contains("if shares were equal") && !text.contains("ot any"), "{text}");
        doc.fleet.if_open_before = None;
        let text = flat(&doc);
        assert!(text.contains("is not enough by itself") && !text.contains("would do"), "{text}");
        // Nothing opens in a stall that is shorter than answers.
        (doc.load.stall_ns, doc.fleet.is_enough) = (10_000_000, true);
        doc.fleet.bounds.remove(0);
        let text = flat(&doc);
        assert!(text.contains("A longer stall would open a connection for each arrival"), "{text}");
        assert!(!text.contains("one worker, while"), "{text}");
    }

    /// A fleet that is larger for opening connections alone says what the smaller one would take; one with a pool has all of it.
    #[test]
    fn connections_that_are_opened_before() {
        let flat = |doc: &SizeDocument| shown(doc).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut doc = document();
        doc.fleet.if_open_before = Some(OpenBefore { agents: 36, connections: 1_000_008 });
        let text = flat(&doc);
        assert!(text.contains("(run -c 1000008; here --open-before), 36 agents would do"), "{text}");
        assert!(!text.contains("would wait for connections"), "{text}");
        (doc.load.open_before, doc.fleet.if_open_before) = (true, None);
        (doc.fleet.total.connections, doc.fleet.largest.worker_busy_in_stall) = (10_000_384, 1.618);
        doc.fleet.bounds.remove(1);
        let text = flat(&doc);
        assert!(
            text.contains("through a stall of 1 s, with connections opened before (run -c 10000384)."),
            "{text}"
        );
        assert!(text.contains("connections opened before the load"), "{text}");
        assert!(!text.contains("--open-before") && !text.contains("one worker, while"), "{text}");
    }

    /// A run that is started without more words would stop below what was promised.
    #[test]
    fn more_connections_than_a_run_opens_by_itself() {
        let flat = |doc: &SizeDocument| shown(doc).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut doc = document();
        assert!(!flat(&doc).contains("-c auto"));
        doc.fleet.auto_max = Some(10_000_384);
        assert!(flat(&doc).contains("say how many (run -c auto:10000384)."), "{}", flat(&doc));
        doc.fleet.is_enough = false;
        assert!(!flat(&doc).contains("-c auto"), "it is of no use to a fleet that is not enough");
    }

    /// What all agents meet has a greatest number of them, and a remedy where it breaks first.
    #[test]
    fn more_agents_than_can_be_merged() {
        let mut doc = document();
        let told = "merged in steps";
        let merge = |agents_max, per_s_max| Bound {
            limit: Limit::Merge,
            agents_if_equal: 1,
            agents_max: Some(agents_max),
            per_s_max,
            stall_s_max: None,
        };
        doc.fleet.bounds.push(merge(1_000, 19.5e6));
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = flat(&shown(&doc));
        assert!(text.contains("merging ≤ 1 000 19 500 000/s –") && !text.contains(told), "{text}");
        // The first to break of those that hold.
        doc.fleet.bounds.insert(0, merge(600, 11.7e6));
        assert!(flat(&shown(&doc)).contains(told));
        doc.fleet.bounds[0] = merge(127, 2.4e6);
        (doc.fleet.is_enough, doc.load.agents_asked) = (false, Some(512));
        let text = flat(&shown(&doc));
        assert!(text.starts_with("NOT ENOUGH 512 agents with 1 worker each"), "{text}");
        assert!(text.contains("are more than merging allows, which is 127 such agents."), "{text}");
        assert!(text.contains(told) && text.contains("fewer requests"), "{text}");
        // Too many carry nothing, whatever breaks before.
        let mut many = doc.clone();
        (many.fleet.bounds[0].per_s_max, many.fleet.per_s_max) = (9.0e6, 0.0);
        many.fleet.bounds.swap(0, 1);
        let text = flat(&shown(&many));
        assert!(text.contains("are more than merging allows") && !text.contains("0/s of"), "{text}");
        // Ports bind the largest fleet that can be merged.
        doc.fleet.bounds = vec![document().fleet.bounds[0].clone(), merge(127, 10e6)];
        (doc.fleet.agents, doc.fleet.per_s_max) = (127, 3.5e6);
        let text = flat(&shown(&doc));
        assert!(text.contains("local ports bind first") && text.contains(told), "{text}");
        doc.fleet.bounds[1].limit = Limit::Bus;
        assert!(flat(&shown(&doc)).contains("faster network"));
    }

    /// Connections are held by answers that take longer than the stall.
    #[test]
    fn answers_that_take_longer_than_the_stall() {
        let flat = |doc: &SizeDocument| shown(doc).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut doc = document();
        (doc.load.latency_ns, doc.load.stall_ns) = (2_000_000_000, 500_000_000);
        (doc.fleet.is_enough, doc.fleet.per_s_max, doc.fleet.stall_s_max) = (false, 7_227_392.4, 0.0);
        let text = flat(&doc);
        assert!(text.contains("carry up to 7 227 392/s of 10 000 000/s while answers take 2 s:"), "{text}");
        assert!(text.contains("local ports ≥ 355 14 454 784/s not any"), "{text}");
        assert!(text.contains("A stall of 500 ms changes nothing") && text.contains("Not any:"), "{text}");
        // 1.44 s are more than 20 ms.
        (doc.load.latency_ns, doc.fleet.per_s_max) = (20_000_000, 0.07);
        let text = flat(&doc);
        assert!(text.contains("carry up to 0.07/s of 10 000 000/s through a stall of 500 ms:"), "{text}");
        assert!(text.contains("1.44 s") && !text.contains("ot any") && !text.contains("nothing"), "{text}");
    }

    /// Sixty columns hold a large fleet's table.
    #[test]
    fn a_narrow_terminal_has_a_row_for_each_limit() {
        let mut doc = document();
        doc.fleet.bounds[0].agents_if_equal = 17_711;
        doc.fleet.bounds[1].per_s_max = 1_317_647_058.0;
        let text = render(&doc, &Style { width: 60, color: false });
        let row = text.lines().find(|line| line.contains("local ports ")).expect("a row");
        assert!(row.contains("17 711") && row.ends_with("1.44 s"), "{text}");
    }

    /// Each sentence stands only where it is so.
    #[test]
    fn what_is_not_so_is_not_said() {
        let mut doc = document();
        doc.load.dealt = Dealt::Equally;
        doc.fleet.largest.streams = None;
        let text = shown(&doc);
        assert!(!text.contains("if shares were equal") && !text.contains("--open-before"), "{text}");
        assert!(!text.contains("streams"), "{text}");
        doc.fleet.is_enough = false;
        doc.fleet.stall_s_max = 0.0;
        let text = shown(&doc);
        assert!(text.starts_with("NOT POSSIBLE  No fleet of such agents is enough."), "{text}");
        assert!(text.contains("local ports bind first") && text.contains("--addresses"), "{text}");
        assert!(!text.contains("carries stalls"), "{text}");
        doc.load.agents_asked = Some(400);
        assert!(shown(&doc).starts_with("NOT ENOUGH  512 agents"));
        doc.constants =
            vec![Constant { name: "ports".into(), value: 60_000.0, source: "--set".into(), is_given: true }];
        assert!(shown(&doc).contains("ports  60 000  --set"));
    }
}
