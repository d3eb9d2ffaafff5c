//! What a request takes from its answers for those that follow it.

use super::url::Speaks;
use unblink_workload::answer::{Capture, Captured, Condition, Redirects};

/// What a step of a journey takes from its answers, and may use of those before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Taking {
    /// A bit for each value that its journey has by then.
    pub known: u64,
    pub captures: Vec<Captured>,
    /// Some of what is taken is told by the answer, value by value. So it may be of a request of `[[setup]]`, too, which has its
    /// captures elsewhere.
    pub tells_values: bool,
    /// It is asked again and again until its answer is like this.
    pub until: Vec<Condition>,
    /// Where its answers may send it on.
    pub redirects: Option<Redirects>,
    /// Its journey holds its connection.
    pub holds_connection: bool,
}

/// Why nothing can be taken so from the answers of what speaks this, if it can't.
pub(crate) fn refusal(capture: &Capture, speaks: Speaks) -> Option<&'static str> {
    let is_of_rows = matches!(capture, Capture::Column(_));
    let is_of_http = matches!(capture, Capture::Header(_) | Capture::Cookie(_) | Capture::Cookies);
    match speaks {
        Speaks::Redis if is_of_rows || is_of_http => Some(
            "a reply of Redis has none: take reply, element NUMBER, field NAME, regex PATTERN or json PATH",
        ),
        Speaks::Postgres | Speaks::Cql if is_of_http || (capture.is_told() && !is_of_rows) => {
            Some("rows have none: take column NAME, regex PATTERN or json PATH")
        }
        Speaks::Http | Speaks::WebSocket | Speaks::Grpc if is_of_rows => Some(
            "column is for rows of PostgreSQL and of Cassandra: take json PATH, header NAME, regex PATTERN or cookie NAME",
        ),
        Speaks::Http | Speaks::WebSocket | Speaks::Grpc if capture.is_told() => Some(
            "reply, element and field are for Redis: take json PATH, header NAME, regex PATTERN or cookie NAME",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_fits_what_is_spoken() {
        for (text, taken_from) in [
            ("json $.a", &[Speaks::Http, Speaks::Redis, Speaks::Postgres, Speaks::Cql, Speaks::Grpc][..]),
            ("regex (a)", &[Speaks::Http, Speaks::Redis, Speaks::Postgres, Speaks::Cql, Speaks::Grpc]),
            ("header A", &[Speaks::Http, Speaks::Grpc]),
            ("cookie a", &[Speaks::Http, Speaks::Grpc]),
            ("column a", &[Speaks::Postgres, Speaks::Cql]),
            ("reply", &[Speaks::Redis]),
            ("element 0", &[Speaks::Redis]),
            ("field a", &[Speaks::Redis]),
        ] {
            let capture = Capture::parse(text).unwrap();
            for speaks in [Speaks::Http, Speaks::Redis, Speaks::Postgres, Speaks::Cql, Speaks::Grpc] {
                assert_eq!(
                    refusal(&capture, speaks).is_none(),
                    taken_from.contains(&speaks),
                    "{text} {speaks:?}"
                );
            }
        }
    }
}
