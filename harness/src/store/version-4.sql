-- Version 4: nights. What a suite measured night after night, what was said about it, and logs of other tools beside it.
--
-- A night's values are derived from the runs of its campaigns and kept (docs/adr/0013): histograms and evidence of old nights
-- may be pruned, their values may not. `store check` derives them again where the runs are still whole.

-- The same in every copy of a store, so that merging files twice adds nothing. Earlier campaigns get one that two copies of
-- one store agree on.
ALTER TABLE campaign ADD COLUMN uid TEXT;
UPDATE campaign SET uid = 'before-4-' || id || '-' || started_at_unix_ms || '-' || seed || '-' || scenario;
CREATE UNIQUE INDEX campaign_by_uid ON campaign (uid);

-- When the samples of a run's histograms, its time series and its evidence were pruned; absent while they are there.
ALTER TABLE run ADD COLUMN pruned_at_unix_ms INTEGER;

CREATE TABLE night (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    uid                TEXT NOT NULL UNIQUE,
    suite              TEXT NOT NULL,
    suite_toml         TEXT NOT NULL,              -- the suite file as it was; empty for imported logs
    origin             TEXT NOT NULL,              -- measured or imported
    started_at_unix_ms INTEGER NOT NULL,
    ended_at_unix_ms   INTEGER                     -- absent: it did not come to its end
) STRICT;
CREATE INDEX night_by_suite ON night (suite, started_at_unix_ms);

CREATE TABLE night_campaign (
    night    INTEGER NOT NULL REFERENCES night (id) ON DELETE CASCADE,
    campaign INTEGER NOT NULL UNIQUE REFERENCES campaign (id) ON DELETE CASCADE,
    part     TEXT NOT NULL,                        -- first or confirm
    PRIMARY KEY (night, campaign)
) STRICT, WITHOUT ROWID;

-- Each configuration once, however many nights had it.
CREATE TABLE configuration (
    id     INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,                   -- of facts, hex
    facts  TEXT NOT NULL                           -- JSON object
) STRICT;

CREATE TABLE series (
    id               INTEGER PRIMARY KEY,
    engine           TEXT NOT NULL,
    fabric           TEXT NOT NULL,
    scenario         TEXT NOT NULL,
    workload         TEXT NOT NULL,
    variant          TEXT NOT NULL,
    msg_bytes        INTEGER NOT NULL,
    metric           TEXT NOT NULL,
    requester_host   TEXT NOT NULL,
    requester_device TEXT NOT NULL,
    responder_host   TEXT NOT NULL,
    responder_device TEXT NOT NULL,
    UNIQUE (engine, fabric, scenario, workload, variant, msg_bytes, metric, requester_host, requester_device,
            responder_host, responder_device)
) STRICT;

CREATE TABLE night_value (
    night         INTEGER NOT NULL REFERENCES night (id) ON DELETE CASCADE,
    series        INTEGER NOT NULL REFERENCES series (id),
    value         REAL,                            -- absent: too few valid runs
    runs          TEXT NOT NULL,                   -- JSON array of numbers, in time order
    failed_runs   INTEGER NOT NULL,
    failure       TEXT,
    confirm_runs  TEXT NOT NULL,                   -- JSON array of numbers
    configuration INTEGER NOT NULL REFERENCES configuration (id),
    value_limit   TEXT,                            -- JSON
    faults        TEXT NOT NULL,                   -- JSON array of texts
    PRIMARY KEY (night, series)
) STRICT, WITHOUT ROWID;

-- What was said in a night.
CREATE TABLE reported (
    night     INTEGER NOT NULL REFERENCES night (id) ON DELETE CASCADE,
    series    INTEGER NOT NULL REFERENCES series (id),
    found_by  TEXT NOT NULL,
    certainty TEXT NOT NULL,
    trend     TEXT NOT NULL,
    since     INTEGER NOT NULL REFERENCES night (id) ON DELETE CASCADE,
    PRIMARY KEY (night, series, found_by)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    id                 INTEGER PRIMARY KEY,
    night              INTEGER NOT NULL REFERENCES night (id) ON DELETE CASCADE,
    series             INTEGER REFERENCES series (id),
    text               TEXT NOT NULL,
    written_at_unix_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE acknowledgement (
    id                 INTEGER PRIMARY KEY,
    series             INTEGER NOT NULL REFERENCES series (id),
    night              INTEGER NOT NULL REFERENCES night (id) ON DELETE CASCADE,
    reason             TEXT NOT NULL,
    written_at_unix_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE baseline (
    suite          TEXT NOT NULL,
    name           TEXT NOT NULL,
    night          INTEGER NOT NULL REFERENCES night (id) ON DELETE CASCADE,
    set_at_unix_ms INTEGER NOT NULL,
    PRIMARY KEY (suite, name)
) STRICT, WITHOUT ROWID;

-- One measurement in a log of another tool: where it came from, and all that the log said about it.
CREATE TABLE foreign_run (
    id      INTEGER PRIMARY KEY,
    night   INTEGER NOT NULL REFERENCES night (id) ON DELETE CASCADE,
    engine  TEXT NOT NULL,
    source  TEXT NOT NULL,                         -- name of the file
    sha256  TEXT NOT NULL,                         -- of the file, hex: a file is imported once
    line    INTEGER NOT NULL,                      -- where in it, from 1
    facts   TEXT NOT NULL                          -- JSON
) STRICT;
CREATE INDEX foreign_run_by_file ON foreign_run (sha256);
