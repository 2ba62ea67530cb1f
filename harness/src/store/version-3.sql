-- Version 3: campaigns that may stop before all their blocks are made, factorial campaigns, and what a run took.

ALTER TABLE campaign ADD COLUMN stop TEXT NOT NULL DEFAULT '{"is":"all_blocks"}';   -- JSON: when there are enough blocks
ALTER TABLE campaign ADD COLUMN stopped TEXT;                                       -- why no more runs are made; absent while some are
ALTER TABLE campaign ADD COLUMN factors TEXT NOT NULL DEFAULT '[]';                 -- JSON

-- From the end of the run before, or from the start of the program that made it, to its own end: pause, tuning and processes
-- included. Absent in runs of earlier versions.
ALTER TABLE run ADD COLUMN took_ns INTEGER;
