-- Version 2: hosts may be tuned once a block instead of once a run.

ALTER TABLE campaign ADD COLUMN grouping TEXT NOT NULL DEFAULT 'per_run';
