-- The one row that orders all changes: the last sequence number and time.
CREATE TABLE clock (
  id bigint PRIMARY KEY CHECK (id = 1),
  seq bigint NOT NULL,
  at bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO clock (id, seq, at) VALUES (1, 0, 0);

-- The highest id handed out in each resource's table.
CREATE TABLE counter (
  name text PRIMARY KEY,
  value bigint NOT NULL
) WITH (fillfactor = 10);

-- Values of the whole service, secrets among them.
CREATE TABLE setting (
  name text PRIMARY KEY,
  value bytea NOT NULL
);

-- What happened, in order.
CREATE TABLE event (
  account bigint NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  at bigint NOT NULL,
  resource text NOT NULL,
  subject bigint NOT NULL,
  rev bigint NOT NULL,
  created bigint NOT NULL,
  updated bigint NOT NULL,
  version text NOT NULL,
  doc text NOT NULL,
  PRIMARY KEY (account, seq)
);
CREATE INDEX event_type ON event (account, type, seq);

-- Where in the order of events a minute begins: all with a sequence number up
-- to seq were committed at or before at.
CREATE TABLE tick (
  at bigint PRIMARY KEY,
  seq bigint NOT NULL
);

-- Events whose own time lies after the time of their commit.
CREATE TABLE ahead (
  account bigint NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (account, seq)
);

-- Answers of idempotent requests.
CREATE TABLE replay (
  account bigint NOT NULL,
  key bytea NOT NULL,
  print bytea NOT NULL,
  answer bytea NOT NULL,
  created bigint NOT NULL,
  PRIMARY KEY (account, key)
);
CREATE INDEX replay_created ON replay (created);

-- The definition under which each resource's table was last opened.
CREATE TABLE shape (
  name text PRIMARY KEY,
  definition text NOT NULL,
  seq bigint NOT NULL
);
