-- The one row that orders all changes: the last sequence number and time.
CREATE TABLE clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL
);
INSERT INTO clock (id, seq, at) VALUES (1, 0, 0);

-- The highest id handed out in each resource's table.
CREATE TABLE counter (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

-- Values of the whole service, secrets among them.
CREATE TABLE setting (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) WITHOUT ROWID;

-- What happened, in order.
CREATE TABLE event (
  account INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  resource TEXT NOT NULL,
  subject INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  version TEXT NOT NULL,
  doc TEXT NOT NULL,
  PRIMARY KEY (account, seq)
) WITHOUT ROWID;
CREATE INDEX event_type ON event (account, type, seq);

-- Where in the order of events a minute begins: all with a sequence number up
-- to seq were committed at or before at.
CREATE TABLE tick (
  at INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL
) WITHOUT ROWID;

-- Events whose own time lies after the time of their commit.
CREATE TABLE ahead (
  account INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (account, seq)
) WITHOUT ROWID;

-- Answers of idempotent requests.
CREATE TABLE replay (
  account INTEGER NOT NULL,
  key BLOB NOT NULL,
  print BLOB NOT NULL,
  answer BLOB NOT NULL,
  created INTEGER NOT NULL,
  PRIMARY KEY (account, key)
) WITHOUT ROWID;
CREATE INDEX replay_created ON replay (created);

-- The definition under which each resource's table was last opened.
CREATE TABLE shape (
  name TEXT PRIMARY KEY,
  definition TEXT NOT NULL,
  seq INTEGER NOT NULL
) WITHOUT ROWID;
