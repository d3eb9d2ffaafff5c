//! Names that somebody may have meant.

/// So many are told.
const TOLD: usize = 4;
/// Names that are less alike than this, of 1, are not.
const LIKE_MIN: f64 = 0.7;

/// Those of `names` that are most like `name`, the most alike first.
pub fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    // The parts of a histogram are called by it.
    let base = |text: &'a str| {
        ["_bucket", "_sum", "_count"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text)
    };
    let score = |other: &str| {
        let contains = other.contains(name) || name.contains(other);
        strsim::jaro_winkler(name, other) + if contains { 0.5 } else { 0.0 }
    };
    let mut all: Vec<(f64, &str)> = names.into_iter().map(base).map(|other| (score(other), other)).collect();
    all.retain(|(alike, other)| *alike >= LIKE_MIN && *other != name);
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    all.dedup_by(|a, b| a.1 == b.1);
    all.into_iter().take(TOLD).map(|(_, name)| name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_comes_first() {
        let names = [
            "up",
            "http_request_duration_seconds_bucket",
            "http_request_duration_seconds_count",
            "http_requests_total",
        ];
        assert_eq!(
            near("http_request_duration_secnds", names),
            ["http_request_duration_seconds", "http_requests_total"]
        );
        assert_eq!(near("zzz", names), [""; 0]);
    }
}
