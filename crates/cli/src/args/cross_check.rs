//! The service's own metrics, which are held against what was measured: flags of `unblink run`.

use clap::Args;
use unblink_metrics::selector::Selector;

/// Nothing that is measured depends on them.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cross-check")]
pub(crate) struct CrossCheckArgs {
    /// Ask this Prometheus server for the service's own metrics, and hold them against what is measured
    #[arg(long, value_name = "URL", conflicts_with = "cross_check_scrape")]
    pub cross_check_prometheus: Option<String>,

    /// The same, from the page of metrics that the service itself has, such as http://127.0.0.1:9100/metrics
    #[arg(long, value_name = "URL")]
    pub cross_check_scrape: Option<String>,

    /// Histogram of the service's response times, such as http_request_duration_seconds: its name says the unit
    #[arg(long, value_name = "METRIC", value_parser = latency)]
    pub cross_check_latency: Option<Selector>,

    /// Counter of the requests that the service has answered, such as 'http_requests_total{job="shop"}' (without it the
    /// histogram's own count)
    #[arg(long, value_name = "METRIC", value_parser = Selector::parse)]
    pub cross_check_requests: Option<Selector>,

    /// Counter of the service's own errors, such as 'http_requests_total{code=~"5.."}'
    #[arg(long, value_name = "METRIC", value_parser = Selector::parse)]
    pub cross_check_errors: Option<Selector>,

    /// Watch this metric over time, such as process_resident_memory_bytes; a counter by its growth per second. May be given
    /// several times, up to 8; with --shape soak it is looked at for drift
    #[arg(long, value_name = "METRIC", value_parser = Selector::parse)]
    pub cross_check_watch: Vec<Selector>,
}

impl CrossCheckArgs {
    /// Where metrics come from: the flag, the URL, and whether that is a Prometheus server.
    pub(crate) fn source(&self) -> Option<(&'static str, &str, bool)> {
        let prometheus = self.cross_check_prometheus.as_ref().map(|url| (PROMETHEUS, url.as_str(), true));
        prometheus.or(self.cross_check_scrape.as_ref().map(|url| (SCRAPE, url.as_str(), false)))
    }

    /// Something is asked of the service.
    pub(crate) fn is_asked(&self) -> bool {
        self.source().is_some()
    }

    /// The flags of the metrics that are asked for.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.cross_check_latency.is_some(), "cross-check-latency"),
            (self.cross_check_requests.is_some(), "cross-check-requests"),
            (self.cross_check_errors.is_some(), "cross-check-errors"),
            (!self.cross_check_watch.is_empty(), "cross-check-watch"),
        ];
        all.into_iter().filter_map(|(is_asked, flag)| is_asked.then_some(flag))
    }
}

pub(crate) const PROMETHEUS: &str = "cross-check-prometheus";
pub(crate) const SCRAPE: &str = "cross-check-scrape";

/// What metrics of times end in, and how many nanoseconds that is.
const UNITS: [(&str, f64); 5] =
    [("_seconds", 1e9), ("_milliseconds", 1e6), ("_ms", 1e6), ("_microseconds", 1e3), ("_nanoseconds", 1.0)];

/// A histogram of times, called by its own name or by that of its buckets.
fn latency(text: &str) -> Result<Selector, String> {
    let selector = Selector::parse(text)?;
    let name = selector.name.strip_suffix("_bucket").unwrap_or(&selector.name).to_string();
    let selector = selector.called(name);
    match unit_ns(&selector.name) {
        Some(_) => Ok(selector),
        None => Err(format!(
            "the unit of {} is not known: a histogram of times ends in _seconds, _milliseconds, _ms, _microseconds or _nanoseconds",
            selector.name
        )),
    }
}

/// How many nanoseconds the unit is in which the metric of this name is.
pub(crate) fn unit_ns(name: &str) -> Option<f64> {
    UNITS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, ns)| *ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_says_its_unit() {
        let name = |text| latency(text).map(|selector| selector.to_string());
        assert_eq!(name("a_seconds"), Ok("a_seconds".into()));
        assert_eq!(name("a_seconds_bucket{job=\"b\"}"), Ok("a_seconds{job=\"b\"}".into()));
        assert!(name("a_duration").is_err_and(|why| why.contains("_milliseconds")));
        assert_eq!(
            [unit_ns("x_milliseconds"), unit_ns("x_seconds"), unit_ns("x")],
            [Some(1e6), Some(1e9), None]
        );
    }
}
