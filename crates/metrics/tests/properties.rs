//! Whatever comes, nothing breaks; and what is told of a quantile holds for the values behind the counts.

use proptest::prelude::*;
use unblink_metrics::growth::{Growth, take_histograms, take_numbers};
use unblink_metrics::histogram::{Histogram, Native};
use unblink_metrics::selector::Selector;
use unblink_metrics::{Sample, Value, page, proto, text};

const BOUNDS: [f64; 6] = [0.005, 0.01, 0.1, 1.0, 2.5, f64::INFINITY];

/// A classic histogram of `values`, as text.
fn page_of(values: &[f64], labels: &str) -> String {
    let inner = if labels.is_empty() { String::new() } else { format!("{labels},") };
    let mut out = String::from("# TYPE t_seconds histogram\n");
    for le in BOUNDS {
        let below = values.iter().filter(|v| **v <= le).count();
        let le = if le.is_infinite() { "+Inf".to_string() } else { le.to_string() };
        out += &format!("t_seconds_bucket{{{inner}le=\"{le}\"}} {below}\n");
    }
    out + &format!(
        "t_seconds_sum{{{labels}}} {}\nt_seconds_count{{{labels}}} {}\n",
        values.iter().sum::<f64>(),
        values.len()
    )
}

fn samples(text: &str) -> Vec<Sample> {
    text::page(text.as_bytes()).expect("a page").samples
}

fn selector() -> Selector {
    Selector::parse("t_seconds").expect("a selector")
}

/// The same values in exponential buckets.
fn native(values: &[f64], schema: i32) -> Histogram {
    let mut places: Vec<(i32, f64)> = Vec::new();
    for value in values {
        let place = (value.log2() * f64::from(schema).exp2()).ceil() as i32;
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, count)) => *count += 1.0,
            None => places.push((place, 1.0)),
        }
    }
    places.sort_by_key(|(place, _)| *place);
    let mut next = 0;
    let spans = places.iter().map(|(place, _)| {
        let offset = place - next;
        next = place + 1;
        (offset, 1)
    });
    let positive = (spans.collect(), places.iter().map(|(_, count)| *count).collect());
    let sum = values.iter().sum();
    Native { schema, positive, count: values.len() as f64, sum, ..Native::default() }
        .histogram()
        .expect("one")
}

fn true_quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

fn holds(histogram: &Histogram, values: &[f64]) -> Result<(), TestCaseError> {
    for q in [0.01, 0.5, 0.9, 0.99, 1.0] {
        let bounds = histogram.quantile(q).expect("there are values");
        let exact = true_quantile(values, q);
        let slack = exact * 1e-9;
        prop_assert!(
            bounds.lower - slack <= exact && exact <= bounds.upper + slack,
            "{q}: {exact} in {bounds:?}"
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "\\PC*") {
        let _ = page("text/plain", text.as_bytes());
    }

    #[test]
    fn no_line_breaks_the_reader(text in "[a-z_]{0,4}[{]?[a-z]{0,2}=?\"?[\\\\a\"n,=}]{0,6}[}]? ?[+0-9eINFan.-]{0,8} ?#?") {
        let _ = page("text/plain", text.as_bytes());
        let _ = Selector::parse(&text);
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = proto::page(&bytes);
        let _ = unblink_metrics::api::samples(&bytes);
    }

    #[test]
    fn quantiles_lie_within_their_bounds(
        before in proptest::collection::vec(0.0001f64..5.0, 0..60),
        during in proptest::collection::vec(0.0001f64..5.0, 1..60),
        schema in -2i32..6,
    ) {
        let all: Vec<f64> = before.iter().chain(&during).copied().collect();
        let mut growth = Growth::<Histogram>::default();
        take_histograms(&mut growth, &selector(), 1.0, &samples(&page_of(&before, ""))).expect("one");
        growth.begin();
        take_histograms(&mut growth, &selector(), 2.0, &samples(&page_of(&all, ""))).expect("one");
        prop_assert_eq!((growth.grown.count, growth.resets), (during.len() as f64, 0));
        holds(&growth.grown, &during)?;
        // Of several series with different bins, too: native ones, whose resolution has sunk meanwhile.
        let finer = native(&before, schema + 1);
        let since = native(&all, schema).since(&finer).expect("no new start");
        prop_assert_eq!(since.count, during.len() as f64);
        holds(&since, &during)?;
        let mut both = since;
        both.add(&growth.grown);
        let twice: Vec<f64> = during.iter().chain(&during).copied().collect();
        holds(&both, &twice)?;
    }

    #[test]
    fn counters_add_up_whatever_begins_anew(
        steps in proptest::collection::vec((0u32..1000, proptest::bool::weighted(0.1)), 1..50),
    ) {
        let selector = Selector::parse("x_total{job=\"a\"}").expect("one");
        let (mut growth, mut value, mut sum) = (Growth::<f64>::default(), 500.0, 0.0);
        let sample = |value: f64| {
            let of = |job: &str, value| Sample {
                name: "x_total".into(), labels: vec![("job".into(), job.into())], value: Value::Number(value),
            };
            [of("a", value), of("b", 1e9)]
        };
        take_numbers(&mut growth, &selector, 0.0, &sample(value));
        growth.begin();
        let mut resets = 0;
        for (i, (step, is_reset)) in steps.iter().enumerate() {
            // A process that has counted as much again before it is looked at can't be told from one that went on.
            let is_reset = *is_reset && f64::from(*step) < value;
            value = if is_reset { 0.0 } else { value } + f64::from(*step);
            resets += u64::from(is_reset);
            sum += f64::from(*step);
            take_numbers(&mut growth, &selector, 1.0 + i as f64, &sample(value));
        }
        prop_assert_eq!((growth.grown, growth.resets), (sum, resets));
    }
}

#[test]
fn a_series_that_comes_later_began_at_zero_and_old_samples_count_once() {
    let selector = Selector::parse("x_total").expect("one");
    let mut growth = Growth::<f64>::default();
    take_numbers(&mut growth, &selector, 1.0, &samples("x_total{code=\"200\"} 100\n"));
    growth.begin();
    let both = samples("x_total{code=\"200\"} 150\nx_total{code=\"500\"} 3\n");
    take_numbers(&mut growth, &selector, 2.0, &both);
    take_numbers(&mut growth, &selector, 2.0, &both);
    take_numbers(&mut growth, &selector, 1.5, &samples("x_total{code=\"200\"} 120\n"));
    assert_eq!((growth.grown, growth.resets, growth.from), (53.0, 0, Some(1.0)));
    growth.end_at(3.0);
    assert!(!growth.is_over(100.0));
    take_numbers(
        &mut growth,
        &selector,
        3.5,
        &samples("x_total{code=\"200\"} 160\nx_total{code=\"500\"} NaN\n"),
    );
    take_numbers(&mut growth, &selector, 4.5, &samples("x_total{code=\"200\"} 999\n"));
    assert_eq!(growth.grown, 63.0, "what comes behind the end is not counted");
    assert!(!growth.is_over(1.0), "one is still behind");
    assert!(growth.is_over(0.5), "unless a series without a sample for so long is gone");
}

#[test]
fn a_histogram_that_is_none_says_why() {
    let take = |text: &str| {
        take_histograms(&mut Growth::default(), &selector(), 1.0, &samples(text)).expect_err(text)
    };
    let shrinking =
        "t_seconds_bucket{le=\"1\"} 5\nt_seconds_bucket{le=\"2\"} 4\nt_seconds_bucket{le=\"+Inf\"} 9\n";
    assert!(take(shrinking).contains("not cumulative: up to 2 it counts 4, and up to 1 already 5"));
    assert!(take("t_seconds_bucket{le=\"1\"} 5\n").contains("+Inf is missing"));
    assert!(take("t_seconds_bucket{le=\"x\"} 5\n").contains("le=\"x\" is not a number"));
    assert!(take("t_seconds_bucket 5\n").contains("no label le"));
    assert!(take("t_seconds_bucket{le=\"+Inf\"} NaN\n").contains("not a number"));
    assert!(
        take("t_seconds_bucket{le=\"1\"} 1\nt_seconds_bucket{le=\"1.0\"} 1\nt_seconds_count 2\n")
            .contains("twice")
    );
    // A count stands for the bucket that is missing; a summary is no histogram, and is passed over.
    let mut growth = Growth::default();
    growth.begin();
    let text = "t_seconds_bucket{le=\"1\"} 5\nt_seconds_count 7\nt_seconds_sum 9\n";
    take_histograms(&mut growth, &selector(), 1.0, &samples(text)).expect("one");
    assert_eq!((growth.grown.count, growth.grown.quantile(0.9).map(|b| b.upper)), (7.0, Some(f64::INFINITY)));
    take_histograms(&mut growth, &selector(), 2.0, &samples("t_seconds_count{a=\"1\"} 7\n")).expect("none");
    assert_eq!(growth.grown.count, 7.0);
}

#[test]
fn a_histogram_that_began_anew_counts_all_that_it_says() {
    let mut growth = Growth::default();
    take_histograms(&mut growth, &selector(), 1.0, &samples(&page_of(&[0.5; 50], ""))).expect("one");
    growth.begin();
    take_histograms(&mut growth, &selector(), 2.0, &samples(&page_of(&[0.002; 20], ""))).expect("one");
    assert_eq!((growth.grown.count, growth.resets), (20.0, 1));
    // The same number again in other buckets is a new start, too.
    take_histograms(&mut growth, &selector(), 3.0, &samples(&page_of(&[2.0; 20], ""))).expect("one");
    assert_eq!((growth.grown.count, growth.resets), (40.0, 2));
}
