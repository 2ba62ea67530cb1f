-- Version 5: clusters. Pairs of nodes measured in rounds, and the record of every measurement.
--
-- What findings are computed from (nodes, rounds, the numbers of pairs) lies in columns and is read in one go. The records are
-- for a closer look at one pair: those of a round are much alike and are kept together, compressed together (docs/adr/0017).

CREATE TABLE cluster (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    uid                TEXT NOT NULL UNIQUE,       -- the same in every copy of a store
    schema_version     INTEGER NOT NULL,
    suite              TEXT NOT NULL,
    suite_toml         TEXT NOT NULL,
    question           TEXT NOT NULL,
    launcher           TEXT NOT NULL,
    pattern            TEXT NOT NULL,
    directions         TEXT NOT NULL,
    seed               TEXT NOT NULL,              -- decimal: u64 does not fit an SQLite integer
    workloads          TEXT NOT NULL,              -- JSON
    schedule           BLOB NOT NULL,              -- zstd of JSON: the rounds as they were planned
    fabric             TEXT,                       -- absent before the first run
    fabric_label       TEXT,
    started_at_unix_ms INTEGER NOT NULL,
    ended_at_unix_ms   INTEGER                     -- absent while rounds are missing
) STRICT;
CREATE INDEX cluster_by_suite ON cluster (suite, started_at_unix_ms);

CREATE TABLE cluster_node (
    cluster  INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    rank     INTEGER NOT NULL,
    name     TEXT NOT NULL,
    host     TEXT,
    place    TEXT NOT NULL,
    device   TEXT NOT NULL,
    switches TEXT NOT NULL,                        -- JSON array of texts, outermost first
    state    TEXT NOT NULL,                        -- JSON
    audit    TEXT,                                 -- JSON
    PRIMARY KEY (cluster, rank),
    UNIQUE (cluster, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE cluster_round (
    cluster             INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    number              INTEGER NOT NULL,
    part                TEXT NOT NULL,             -- pattern or retest
    label               TEXT NOT NULL,
    workload            INTEGER NOT NULL,
    started_at_unix_ms  INTEGER NOT NULL,
    wall_ns             INTEGER NOT NULL,
    skew_ns             INTEGER,
    skew_uncertainty_ns INTEGER,
    controller_ns       INTEGER NOT NULL,
    pruned_at_unix_ms   INTEGER,                   -- when its records were; absent while they are there
    PRIMARY KEY (cluster, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE pair_run (
    cluster   INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    round     INTEGER NOT NULL,
    role      TEXT NOT NULL,
    requester INTEGER NOT NULL,
    responder INTEGER NOT NULL,
    status    TEXT NOT NULL,                       -- measured, invalid or could_not_run
    why       TEXT,
    late_ns   INTEGER,
    remarks   TEXT,                                -- JSON array of texts; absent where it is empty
    PRIMARY KEY (cluster, sequence),
    FOREIGN KEY (cluster, round) REFERENCES cluster_round (cluster, number) ON DELETE CASCADE,
    FOREIGN KEY (cluster, requester) REFERENCES cluster_node (cluster, rank),
    FOREIGN KEY (cluster, responder) REFERENCES cluster_node (cluster, rank)
) STRICT, WITHOUT ROWID;

-- What a pair measured at one message size; a number that was not measured has no value.
CREATE TABLE pair_point (
    cluster                INTEGER NOT NULL,
    sequence               INTEGER NOT NULL,
    position               INTEGER NOT NULL,
    msg_bytes              INTEGER NOT NULL,
    bandwidth_bits_per_sec REAL,
    messages_per_sec       REAL,
    p50_ns                 REAL,
    p99_ns                 REAL,
    PRIMARY KEY (cluster, sequence, position),
    FOREIGN KEY (cluster, sequence) REFERENCES pair_run (cluster, sequence) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The records of a round, in the order of its runs.
CREATE TABLE round_records (
    cluster        INTEGER NOT NULL,
    round          INTEGER NOT NULL,
    first_sequence INTEGER NOT NULL,               -- of its runs, which have the numbers from there on
    lines          BLOB NOT NULL,                  -- zstd of JSON, one record a line
    PRIMARY KEY (cluster, round),
    FOREIGN KEY (cluster, round) REFERENCES cluster_round (cluster, number) ON DELETE CASCADE
) STRICT;

-- The night that a cluster's values went into.
CREATE TABLE night_cluster (
    night   INTEGER PRIMARY KEY REFERENCES night (id) ON DELETE CASCADE,
    cluster INTEGER NOT NULL UNIQUE REFERENCES cluster (id) ON DELETE CASCADE
) STRICT;
