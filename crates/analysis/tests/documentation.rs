//! `docs/validity.md` names every finding once, with the thresholds that the code has.

use unblink_analysis::finding::FindingCode;
use unblink_analysis::steady::{INTERVALS_MIN, LEVELS_RATIO_MAX};
use unblink_analysis::thresholds::*;
use unblink_core::record::BEGUN_GRACE;

/// `| code | found when | severity | what to do |`
fn table() -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validity.md");
    let text = std::fs::read_to_string(path).expect("docs/validity.md");
    let rows = text.lines().filter_map(|line| {
        let (code, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        Some((code.to_string(), rest.to_string()))
    });
    rows.collect()
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

#[test]
fn every_finding_has_its_row() {
    let documented: Vec<String> = table().into_iter().map(|(code, _)| code).collect();
    let mut codes: Vec<&str> = FindingCode::ALL.iter().map(|code| code.code()).collect();
    let mut sorted: Vec<&str> = documented.iter().map(String::as_str).collect();
    codes.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(sorted, codes);
}

#[test]
fn every_threshold_is_the_documented_one() {
    let late = |share| format!("{} above {}", "degrades", percent(share));
    let expected: [(&str, Vec<String>); 19] = [
        (
            "saturated",
            vec![
                format!("fewer than {}", percent(SATURATED_ANSWERED_SHARE)),
                format!("each of {SATURATED_STRETCHES} stretches"),
                format!("more than {} of what fell due in it", percent(SATURATED_GROWTH_SHARE)),
                format!("more than {} of what falls due within", percent(SATURATED_LEVEL_SHARE)),
                format!("given {CONNECTIONS_ENOUGH} times as many"),
            ],
        ),
        (
            "retries_amplified",
            vec![
                format!("at least {AMPLIFIED_MIN} attempts"),
                format!("more than {} of the arrivals", percent(AMPLIFIED_FAILED_SHARE)),
            ],
        ),
        (
            "not_steady",
            vec![
                format!("fewer than {INTERVALS_MIN} intervals"),
                format!("differ by more than {LEVELS_RATIO_MAX} times"),
            ],
        ),
        (
            "too_short",
            vec![
                format!("more than {} of all", percent(TOO_SHORT_UNANSWERED_SHARE)),
                format!("at least {SAMPLES_ABOVE_MIN},"),
            ],
        ),
        (
            "sent_below_offered",
            vec![
                format!("at least {SENT_MISSING_MIN} were"),
                format!("degrades below {}", percent(SENT_SHARE_DEGRADES)),
                format!("invalidates below {}", percent(SENT_SHARE_INVALIDATES)),
            ],
        ),
        (
            "generator_late",
            vec![
                format!("above {} ms", LATE_FLOOR.0 / 1_000_000),
                format!("more than {} of", percent(LATE_SHARE_DEGRADES)),
                format!("up to p{}: {}", LATE_QUANTILE_MAX * 100.0, late(LATE_SHARE_DEGRADES)),
                format!("invalidates above {}", percent(LATE_SHARE_INVALIDATES)),
                format!("beyond p{}: {}", LATE_QUANTILE_MAX * 100.0, late(LATE_SHARE_INVALIDATES)),
            ],
        ),
        (
            "generator_busy",
            vec![late(BUSY_SHARE_DEGRADES), format!("invalidates above {}", percent(BUSY_SHARE_INVALIDATES))],
        ),
        (
            "generator_paused",
            vec![
                format!("for {} ms or longer", PAUSE_MIN.0 / 1_000_000),
                format!(
                    "more than {} ms and more than {}",
                    LATE_FLOOR.0 / 1_000_000,
                    percent(PAUSE_MOVED_SHARE_DEGRADES)
                ),
                format!(
                    "up to p{}: degrades above {}",
                    LATE_QUANTILE_MAX * 100.0,
                    percent(PAUSE_MOVED_SHARE_DEGRADES)
                ),
                format!("invalidates above {}", percent(PAUSE_MOVED_SHARE_INVALIDATES)),
            ],
        ),
        (
            "cpu_steal",
            vec![
                late(STEAL_SHARE_DEGRADES),
                format!("invalidates above {}", percent(STEAL_SHARE_INVALIDATES)),
            ],
        ),
        (
            "arrivals_not_as_claimed",
            vec![
                format!("p below {}", percent(ARRIVAL_P_VALUE_MAX)),
                format!("off by {} or more", percent(ARRIVAL_DISTANCE_MIN)),
                format!("granted {} µs", ARRIVAL_SEND_TOLERANCE.0 / 1_000),
                format!(
                    "by {ARRIVAL_CORRELATION_MIN} or more and by {ARRIVAL_CORRELATION_SIGMAS} standard deviations"
                ),
                format!("more than {} µs off the line", ARRIVAL_OFF_THE_LINE_MAX.0 / 1_000),
            ],
        ),
        ("client_shed_load", vec![format!("invalidates above {}", percent(SHED_SHARE_INVALIDATES))]),
        ("local_limit", vec![format!("invalidates when above {}", percent(LOCAL_LIMIT_SHARE_INVALIDATES))]),
        ("pool_limit_reached", vec![late(POOL_WAITED_SHARE_DEGRADES)]),
        ("users_not_begun", vec![format!("within {} ms of it", BEGUN_GRACE.0 / 1_000_000)]),
        (
            "users_outnumber_connections",
            vec![format!("degrades when more than {}", percent(POOL_WAITED_SHARE_DEGRADES))],
        ),
        (
            "failures_shape_percentile",
            vec![format!("invalidates above {}", percent(FAILED_SHARE_INVALIDATES))],
        ),
        (
            "target_full",
            vec![
                format!("degrades when more than {}", percent(FAILED_SHARE_DEGRADES)),
                format!("invalidates above {}", percent(FAILED_SHARE_INVALIDATES)),
            ],
        ),
        (
            "timeouts_shape_percentile",
            vec![format!("degrades up to p{}", CENSORED_QUANTILE_DEGRADES * 100.0)],
        ),
        ("cut_off", vec![late(CUT_OFF_SHARE_DEGRADES)]),
    ];
    let table = table();
    for (code, fragments) in expected {
        let (_, row) = table.iter().find(|(documented, _)| documented == code).expect("has its row");
        for fragment in fragments {
            assert!(row.contains(&fragment), "`{code}` does not say {fragment:?}: {row}");
        }
    }
    let few = table.iter().find(|(code, _)| code == "few_samples").expect("has its row");
    assert!(few.1.contains(&format!("Fewer than {SAMPLES_ABOVE_MIN} samples")));
}
