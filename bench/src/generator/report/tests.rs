//! What the tools really printed of a short load with a stall, cut down to what is read and a little around it.

use super::*;

const MS: u64 = 1_000_000;

/// `unblink run`, 0.1.0.
const UNBLINK: &str = r#"{"schema": "unblink.run/2", "arrivals": {"scheduled": 400, "ok": 400, "failed": 0},
    "response_time": {"unit": "ns", "count": 400, "quantiles": [
        {"q": 0.5, "value": 8798207, "censored": false}, {"q": 0.95, "value": 22773759, "censored": false},
        {"q": 0.99, "value": 26836991, "censored": false}, {"q": 0.999, "value": 28791237, "censored": true}]},
    "generator_late": {"quantiles": [{"q": 0.5, "value": 9687, "censored": false},
        {"q": 0.99, "value": 3749887, "censored": false}]}}"#;

/// `vegeta report -type=json`, 12.12.0, whole.
const VEGETA: &str = r#"{"latencies":{"total":11851750592,"mean":29629376,"50th":312088,"90th":122770015,"95th":228861406,
    "99th":300082042,"max":312952385,"min":52238},"bytes_in":{"total":2400,"mean":6},"bytes_out":{"total":0,"mean":0},
    "earliest":"2026-11-21T17:13:00.681131587Z","latest":"2026-11-21T17:13:02.676937032Z",
    "end":"2026-11-21T17:13:02.677351137Z","duration":1995805445,"wait":414105,"requests":400,
    "rate":200.4203370634656,"throughput":200.37876094340425,"success":1,"status_codes":{"200":400},"errors":[]}"#;

/// `fortio load -json`, 1.68.2.
const FORTIO: &str = r#"{"RunType": "HTTP", "RequestedQPS": "200", "ActualQPS": 198.48479190916441,
    "DurationHistogram": {"Count": 400, "Max": 0.301820537, "Percentiles": [
        {"Percentile": 50, "Value": 0.0005752814371428571}, {"Percentile": 95, "Value": 0.004888888888888889},
        {"Percentile": 99, "Value": 0.025}, {"Percentile": 99.9, "Value": 0.30109232220000004}]},
    "ConnectionStats": {"Percentiles": [{"Percentile": 50, "Value": 0.000266148}]},
    "RetCodes": {"200": 400}}"#;

/// `wrk2 --latency`, 4.0.0.
const WRK2: &str = "Running 13s test @ http://127.0.0.1:41547/
  1 threads and 8 connections
  Thread calibration: mean lat.: 31.586ms, rate sampling interval: 169ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   187.18ms  282.93ms   1.00s    82.09%
    Req/Sec   213.25    282.17     1.22k    93.75%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%   22.61ms
 75.000%  260.86ms
 90.000%  698.37ms
 99.000%  972.29ms
 99.900%  994.30ms
 99.990%    1.00s 
 99.999%    1.00s 
100.000%    1.00s 

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.149     0.000000            1         1.00
";

/// `oha --output-format json`: not recorded but written by the schema that oha publishes.
const OHA: &str = r#"{"summary": {"successRate": 1.0, "total": 2.0}, "latencyPercentiles": {"p50": 0.0005, "p95": 0.2,
    "p99": 0.29, "p99.9": 0.299, "p99.99": 0.3}, "statusCodeDistribution": {"200": 400}}"#;

/// `k6 run --summary-export`: not recorded but written by k6's documentation.
const K6: &str = r#"{"metrics": {"http_reqs": {"count": 400, "rate": 200.0}, "http_req_duration": {"p(50)": 0.5,
    "p(95)": 200.25, "p(99)": 290.5, "p(99.9)": 299.5, "max": 300.0}}}"#;

#[test]
fn what_was_recorded_is_read_to_the_digit() {
    let read = unblink(UNBLINK).unwrap();
    assert_eq!((read.p50_ns, read.p99_ns, read.ok), (Some(8_798_207), Some(26_836_991), Some(400)));
    assert_eq!(read.late_p99_ns, Some(3_749_887));
    let read = vegeta(VEGETA).unwrap();
    assert_eq!((read.p95_ns, read.p99_ns, read.p99_9_ns), (Some(228_861_406), Some(300_082_042), None));
    assert_eq!(read.ok, Some(400));
    let read = fortio(FORTIO).unwrap();
    assert_eq!((read.p50_ns, read.p99_ns, read.p99_9_ns), (Some(575_281), Some(25 * MS), Some(301_092_322)));
    assert_eq!(read.ok, Some(400));
    let read = wrk2(WRK2).unwrap();
    assert_eq!(
        (read.p50_ns, read.p99_ns, read.p99_9_ns),
        (Some(22_610_000), Some(972_290_000), Some(994_300_000))
    );
    assert_eq!((read.p95_ns, read.ok), (None, None));
}

#[test]
fn what_is_only_documented_is_read_by_its_names() {
    let read = oha(OHA).unwrap();
    assert_eq!((read.p50_ns, read.p99_9_ns, read.ok), (Some(500_000), Some(299 * MS), Some(400)));
    let read = k6(K6).unwrap();
    assert_eq!(
        (read.p50_ns, read.p95_ns, read.p99_9_ns),
        (Some(500_000), Some(200_250_000), Some(299_500_000))
    );
}

#[test]
fn a_bound_of_a_censored_percentile_is_no_value() {
    assert_eq!(unblink(UNBLINK).unwrap().p99_9_ns, None);
}

#[test]
fn what_is_not_understood_is_quoted_and_never_guessed() {
    type Read = fn(&str) -> Result<Reported>;
    let renamed: [(Read, String); 6] = [
        (unblink, UNBLINK.replace("\"q\": 0.99,", "\"quantile\": 0.99,")),
        (vegeta, VEGETA.replace("99th", "p99")),
        (fortio, FORTIO.replace("\"Percentile\": 99.9", "\"Percentile\": 99.5")),
        (wrk2, WRK2.replace("972.29ms", "972.29 parsecs")),
        (oha, OHA.replace("\"p99\"", "\"q99\"")),
        (k6, K6.replace("290.5", "\"290.5ms\"")),
    ];
    for (read, text) in renamed {
        assert!(read(&text).is_err(), "{text}");
        assert!(read("").is_err());
        let error = format!("{:#}", read("Usage: tool [options]").unwrap_err());
        assert!(error.contains("Usage: tool"), "{error}");
    }
}

#[test]
fn times_with_units_are_read_and_others_are_not() {
    let read = ["800.00us", "1.02ms", "1.50s", "1.20m"].map(|text| time_with_unit(text).unwrap());
    assert_eq!(read, [800_000, 1_020_000, 1_500 * MS, 72_000 * MS]);
    for wrong in ["", "ms", "1.02", "1.02h", "-nan", "1.0.2ms"] {
        assert!(time_with_unit(wrong).is_err(), "{wrong}");
    }
}
