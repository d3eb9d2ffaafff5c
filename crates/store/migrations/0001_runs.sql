-- Read by SQLite and by PostgreSQL. Columns are what is searched by; `run` holds the rest as JSON.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    series TEXT NOT NULL,
    -- Nanoseconds after 1970.
    started_ns BIGINT NOT NULL,
    target TEXT NOT NULL,
    validity TEXT NOT NULL,
    verdict TEXT NOT NULL,
    run TEXT NOT NULL
);

CREATE INDEX runs_by_start ON runs (started_ns);

CREATE INDEX runs_by_series ON runs (series, started_ns);

CREATE TABLE tags (
    run_id TEXT NOT NULL REFERENCES runs (id),
    tag TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run_id, tag)
);

CREATE TABLE baselines (
    name TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs (id),
    -- RFC 3339 in UTC, to the millisecond: the order of the text is that of the times.
    set_at TEXT NOT NULL,
    PRIMARY KEY (name, run_id)
);
