//! Whatever a document holds, even one that was damaged on disk, the output keeps its form.

use unblink_artifact::document::{IntervalKind, Quantile, RunDocument};
use unblink_report::format::Bound;
use unblink_report::{csv, fixture, format, html, svg, terminal};

const KINDS: [Option<IntervalKind>; 11] = [
    None,
    Some(IntervalKind::BlockBootstrap),
    Some(IntervalKind::Exact),
    Some(IntervalKind::Censored),
    Some(IntervalKind::NotEnoughData),
    Some(IntervalKind::OneEvent),
    Some(IntervalKind::FewEvents),
    Some(IntervalKind::TooShort),
    Some(IntervalKind::NotSteady),
    Some(IntervalKind::Killed),
    Some(IntervalKind::Lost),
];

#[test]
fn no_document_breaks_the_layout() {
    for seed in 0..300 {
        let doc = scrambled(seed);
        for width in [0, 60, 80, 120, u16::MAX] {
            let text = terminal::render(&doc, &terminal::Style { width, color: false });
            let most = usize::from(width.clamp(60, 120));
            for line in text.lines() {
                assert!(line.chars().count() <= most, "seed {seed}: wider than {most}: {line}");
            }
        }
    }
}

#[test]
fn no_document_breaks_a_page() {
    for seed in 0..60 {
        let doc = scrambled(seed);
        let page = html::render(&doc);
        assert!(!page.contains("NaN"), "seed {seed}");
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count(), "seed {seed}");
        for (stem, picture) in svg::all(&doc) {
            assert!(!picture.contains("\"NaN") && !picture.contains("inf"), "seed {seed}: {stem}");
        }
        let lines = csv::series(&doc);
        assert!(lines.lines().all(|line| line.split(',').count() == 17), "seed {seed}");
        csv::percentiles(&doc);
    }
}

#[test]
fn every_duration_has_at_most_four_digits_below_years() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let ns = random.next() >> (random.next() % 64);
        let text = format::plain(&format::duration(ns));
        let (value, unit) = text.rsplit_once(' ').expect("a unit");
        assert!(["ns", "µs", "ms", "s", "min", "h", "d"].contains(&unit), "{text}");
        if ns < 900 * 86_400_000_000_000 {
            assert!(value.chars().filter(char::is_ascii_digit).count() <= 4, "{text}");
        }
    }
}

/// A bound that is shown is never a stronger claim than the one that is known, and hardly a weaker one.
#[test]
fn no_bound_claims_more_than_is_known() {
    let mut random = Random(11);
    for _ in 0..20_000 {
        let ns = random.next() >> (1 + random.next() % 63);
        let (low, high) = (read(&Bound::Lower.duration(ns)), read(&Bound::Upper.duration(ns)));
        let ns = u128::from(ns);
        assert!(low <= ns && ns <= high, "{low} {ns} {high}");
        assert!(high - low <= ns / 100, "{low} {ns} {high}");
        let above = format::above(ns as u64);
        assert_eq!(read(above.strip_prefix(">\u{a0}").expect("a sign")), low, "{above}");
    }
}

/// A duration read back, in ns.
fn read(text: &str) -> u128 {
    let (number, unit) = text.split_once('\u{a0}').expect("a unit");
    let second = 1_000_000_000;
    let units = [
        ("ns", 1),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", second),
        ("min", 60 * second),
        ("h", 3_600 * second),
        ("d", 86_400 * second),
    ];
    let (_, length) = units.iter().find(|(name, _)| *name == unit).expect("a known unit");
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{}{fraction}", whole.replace('\u{202f}', ""));
    digits.parse::<u128>().expect("digits") * length / 10u128.pow(fraction.len() as u32)
}

/// A document with fields replaced by extremes and names by text of any length.
fn scrambled(seed: u64) -> RunDocument {
    let mut r = Random(seed);
    let mut doc = match seed % 4 {
        0 => fixture::failures(),
        1 => fixture::one_row(),
        2 => fixture::saturated(),
        _ => fixture::empty(),
    };
    doc.series.rows.truncate(20);
    doc.heatmap.columns.truncate(40);
    let connections = &mut doc.origins[0].connections;
    for n in [
        &mut doc.arrivals.scheduled,
        &mut doc.arrivals.ok,
        &mut doc.arrivals.failed,
        &mut doc.arrivals.timed_out,
        &mut doc.arrivals.timed_out_never_sent,
        &mut connections.peak,
        &mut connections.limit,
        &mut doc.plan.timeout_ns,
        &mut doc.plan.warmup_ns,
        &mut doc.bytes_received,
        &mut doc.lag_causes.no_connection,
        &mut doc.lag_causes.no_connection_ns,
        &mut doc.lag_causes.no_room,
        &mut doc.lag_causes.no_room_ns,
        &mut doc.heatmap.column_ns,
    ] {
        if r.next().is_multiple_of(3) {
            *n = r.number();
        }
    }
    doc.rate.sent = [0.0, f64::NAN, f64::INFINITY, 1e-9, 1e18][r.below(5)];
    doc.plan.summary = r.name();
    for target in &mut doc.targets {
        target.url = r.name();
    }
    for operation in &mut doc.operations {
        operation.plan.name = r.name();
        operation.arrivals.failed = r.number();
        operation.arrivals.scheduled = None;
    }
    for _ in 0..r.below(30) {
        doc.failures.insert(r.name(), r.number());
        doc.codes.insert(r.name(), r.number());
        doc.origins[0].connections.by_address.insert(r.name(), r.number());
    }
    for finding in &mut doc.validity.findings {
        finding.message = r.name();
        finding.remedy = r.name();
        finding.evidence.insert(r.name(), f64::NAN);
    }
    for d in [&mut doc.response_time, &mut doc.service_time, &mut doc.send_lag, &mut doc.phases.transfer] {
        d.count = r.number();
        d.censored = r.number() % 3;
        d.max = (r.below(3) > 0).then(|| r.number());
        d.mean = [None, Some(f64::NAN), Some(-1.0), Some(1e30)][r.below(4)];
        for quantile in &mut d.quantiles {
            let [censored, few_samples] = [r.below(2) == 0, r.below(2) == 0];
            let [low, high] = [r.number(), r.number()].map(|end| Some(end).filter(|_| r.below(2) == 0));
            let kind = KINDS[r.below(KINDS.len() as u64)];
            *quantile = Quantile {
                q: quantile.q,
                value: r.number(),
                censored,
                few_samples,
                low,
                high,
                interval: kind,
                event_at_ns: Some(r.number()),
                events: Some(3),
                needed_ns: Some(r.number()),
                if_answered_now: high,
                if_never: low,
                if_lost_at_once: low,
                if_lost_never: high,
                answered_within: Some(f64::NAN),
            };
        }
    }
    for row in &mut doc.series.rows {
        row.start_ns = r.number();
        row.length_ns = r.number();
        row.due = r.number();
        row.backlog = r.number();
        row.generator_late_p99_ns = Some(r.number());
    }
    for column in &mut doc.heatmap.columns {
        column.start_ns = if r.below(2) == 0 { column.start_ns } else { r.number() };
        column.p99_ns = Some(r.number());
        column.cells.push((r.next() as u32, r.next() as u32));
    }
    if r.below(4) == 0 {
        doc.heatmap.bin_edges_ns.truncate(r.below(4));
    }
    for point in &mut doc.spectrum.response_time {
        point.q = [0.0, 1.0, 0.5, 2.0, -1.0][r.below(5)];
        point.value_ns = r.number();
    }
    doc
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> usize {
        (self.next() % n) as usize
    }

    /// Of any magnitude, extremes included.
    fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            _ => self.next() >> self.below(64),
        }
    }

    fn name(&mut self) -> String {
        const LETTERS: [char; 12] =
            ['a', 'é', ' ', '<', '&', '"', '\u{1b}', '漢', '\n', '%', '\u{202e}', '/'];
        (0..self.below(150)).map(|_| LETTERS[self.below(12)]).collect()
    }
}
