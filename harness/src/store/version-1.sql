-- Version 1 of the store. Times are ms since 1970 UTC or ns as the names say; `rest` holds, as JSON, what of a document
-- has no column here, and never what has one.

CREATE TABLE campaign (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    schema_version     INTEGER NOT NULL,
    scenario           TEXT NOT NULL,
    question           TEXT NOT NULL,
    scenario_toml      TEXT NOT NULL,
    started_at_unix_ms INTEGER NOT NULL,
    blocks             INTEGER NOT NULL,
    seed               TEXT NOT NULL,              -- decimal: u64 does not fit an SQLite integer
    cooldown_ns        INTEGER NOT NULL,
    variants           TEXT NOT NULL,              -- JSON, baseline first
    workloads          TEXT NOT NULL,              -- JSON
    gates              TEXT NOT NULL               -- JSON
) STRICT;
CREATE INDEX campaign_by_scenario ON campaign (scenario);

-- The order as it was drawn. A campaign is finished when every row has a run.
CREATE TABLE planned_run (
    campaign INTEGER NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    workload TEXT NOT NULL,
    variant  TEXT NOT NULL,
    purpose  TEXT NOT NULL,
    PRIMARY KEY (campaign, sequence)
) STRICT, WITHOUT ROWID;

-- One row a try; the last try of a sequence is the run. Ids grow in the order in which runs ended.
CREATE TABLE run (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign           INTEGER NOT NULL,
    sequence           INTEGER NOT NULL,
    try                INTEGER NOT NULL,
    schema_version     INTEGER NOT NULL,
    started_at_unix_ms INTEGER NOT NULL,
    wall_ns            INTEGER NOT NULL,
    fabric             TEXT NOT NULL,
    fabric_label       TEXT NOT NULL,
    status             TEXT NOT NULL,              -- completed, skipped or failed
    outcome            TEXT NOT NULL,              -- JSON: what belongs to the status
    rest               TEXT NOT NULL,              -- JSON: spec, granted
    UNIQUE (campaign, sequence, try),
    FOREIGN KEY (campaign, sequence) REFERENCES planned_run (campaign, sequence) ON DELETE CASCADE
) STRICT;

-- Facts of a host, kept once however many runs were made on it.
CREATE TABLE host (
    fingerprint TEXT PRIMARY KEY,                  -- SHA-256 of facts, hex
    facts       TEXT NOT NULL                      -- JSON
) STRICT;

CREATE TABLE run_host (
    run  INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    side TEXT NOT NULL,
    host TEXT NOT NULL REFERENCES host (fingerprint),
    PRIMARY KEY (run, side)
) STRICT, WITHOUT ROWID;

-- What was seen on one side besides the measurement: device, GID, placement, clock, noise floor, versions.
CREATE TABLE evidence (
    run   INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    side  TEXT NOT NULL,
    kind  TEXT NOT NULL,
    value TEXT NOT NULL,                           -- JSON
    PRIMARY KEY (run, side, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE point (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    run         INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    test        TEXT NOT NULL,
    op          TEXT NOT NULL,
    msg_bytes   INTEGER NOT NULL,
    messages    INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    rest        TEXT NOT NULL,                     -- JSON: intervals, data_check
    UNIQUE (run, position)
) STRICT;

-- The numbers of a point, as published. A quantile with too few samples beyond it has a row without a value.
CREATE TABLE metric (
    point INTEGER NOT NULL REFERENCES point (id) ON DELETE CASCADE,
    name  TEXT NOT NULL,                           -- bandwidth_bits_per_sec, latency_ns.p50, completion_latency_ns.max ...
    value ANY,
    PRIMARY KEY (point, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE histogram (
    point          INTEGER NOT NULL REFERENCES point (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,                  -- latency_ns or completion_latency_ns
    hdr_v2_deflate BLOB NOT NULL,
    saturated      INTEGER NOT NULL,
    PRIMARY KEY (point, name)
) STRICT, WITHOUT ROWID;
