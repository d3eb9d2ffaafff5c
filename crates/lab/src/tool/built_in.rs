//! The definitions that come with the program, each with its text.

/// Modes of one program have its `[install]` and `[version]` in a file of their own.
macro_rules! with_install {
    ($mode:literal, $install:literal) => {
        concat!(include_str!(concat!("../../tools/", $mode)), include_str!(concat!("../../tools/", $install)))
    };
}

/// The definitions that come with the program, in the order of tables.
pub(super) const BUILT_IN: &[(&str, &str)] = &[
    ("unblink-open", include_str!("../../tools/unblink-open.toml")),
    ("unblink-closed", include_str!("../../tools/unblink-closed.toml")),
    ("wrk2", include_str!("../../tools/wrk2.toml")),
    ("vegeta", include_str!("../../tools/vegeta.toml")),
    ("k6-arrival-rate", include_str!("../../tools/k6-arrival-rate.toml")),
    ("oha-corrected", include_str!("../../tools/oha-corrected.toml")),
    ("oha-rate", include_str!("../../tools/oha-rate.toml")),
    ("fortio", include_str!("../../tools/fortio.toml")),
    ("bombardier-rate", include_str!("../../tools/bombardier-rate.toml")),
    ("artillery", include_str!("../../tools/artillery.toml")),
    ("hyperfoil", include_str!("../../tools/hyperfoil.toml")),
    ("gatling-open", with_install!("gatling-open.toml", "gatling.install.toml")),
    ("jmeter-precise", with_install!("jmeter-precise.toml", "jmeter.install.toml")),
    ("jmeter-open", with_install!("jmeter-open.toml", "jmeter.install.toml")),
    ("wrk", include_str!("../../tools/wrk.toml")),
    ("ab", include_str!("../../tools/ab.toml")),
    ("hey", include_str!("../../tools/hey.toml")),
    ("h2load", include_str!("../../tools/h2load.toml")),
    ("bombardier", include_str!("../../tools/bombardier.toml")),
    ("autocannon", include_str!("../../tools/autocannon.toml")),
    ("k6-constant-vus", include_str!("../../tools/k6-constant-vus.toml")),
    ("oha", include_str!("../../tools/oha.toml")),
    ("locust", include_str!("../../tools/locust.toml")),
    ("gatling-closed", with_install!("gatling-closed.toml", "gatling.install.toml")),
    ("jmeter-threads", with_install!("jmeter-threads.toml", "jmeter.install.toml")),
    ("unblink-redis", include_str!("../../tools/databases/unblink-redis.toml")),
    ("redis-benchmark", include_str!("../../tools/databases/redis-benchmark.toml")),
    ("unblink-postgres", include_str!("../../tools/databases/unblink-postgres.toml")),
    ("pgbench-rate", include_str!("../../tools/databases/pgbench-rate.toml")),
    ("pgbench", include_str!("../../tools/databases/pgbench.toml")),
    ("unblink-cassandra", include_str!("../../tools/databases/unblink-cassandra.toml")),
    ("latte", include_str!("../../tools/databases/latte.toml")),
];
