-- The sequence number of the last change of an endpoint.
ALTER TABLE clock ADD COLUMN endpoints INTEGER NOT NULL DEFAULT 0;

-- Events for endpoints. A row is the delivery and its place in the queue:
-- due is when the next attempt may begin or, while fence names who has claimed
-- it, when the claim ends. Attempts are JSON objects, each followed by a comma.
-- New rows, and those that are being sent, lie together at the end of the key.
CREATE TABLE delivery (
  endpoint INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  account INTEGER NOT NULL,
  version TEXT NOT NULL,
  state INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  born INTEGER NOT NULL,
  due INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  done INTEGER NOT NULL,
  reason TEXT NOT NULL,
  attempts TEXT NOT NULL,
  PRIMARY KEY (account, seq, endpoint)
) WITHOUT ROWID;
CREATE INDEX delivery_endpoint ON delivery (endpoint, seq);
CREATE INDEX delivery_state ON delivery (account, state, seq, endpoint) WHERE state <> 2;
-- Both hold the state, though it is in their conditions: without it SQLite looks
-- every row up in the table.
CREATE INDEX delivery_due ON delivery (endpoint, due, seq, fence, state) WHERE state < 2;
CREATE INDEX delivery_dead ON delivery (endpoint, seq, born, state) WHERE state = 3;

-- Events that have more endpoints than one transaction takes: who is behind
-- after still has to get a delivery.
CREATE TABLE fanout (
  seq INTEGER PRIMARY KEY,
  account INTEGER NOT NULL,
  after INTEGER NOT NULL,
  at INTEGER NOT NULL
);

-- How endpoints have answered.
CREATE TABLE health (
  endpoint INTEGER PRIMARY KEY,
  delivered INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  last_success INTEGER NOT NULL,
  last_failure INTEGER NOT NULL,
  failing INTEGER NOT NULL
);

-- Events that an application wrote in a transaction of its own, until the
-- service takes them into the order of all.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  account INTEGER NOT NULL,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  doc TEXT NOT NULL
);
