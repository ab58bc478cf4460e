-- The sequence number of the last change of an endpoint.
ALTER TABLE clock ADD COLUMN endpoints bigint NOT NULL DEFAULT 0;

-- Events for endpoints. A row is the delivery and its place in the queue:
-- due is when the next attempt may begin or, while fence names who has claimed
-- it, when the claim ends. Attempts are JSON objects, each followed by a comma.
-- New rows, and those that are being sent, lie together at the end of the key.
CREATE TABLE delivery (
  endpoint bigint NOT NULL,
  seq bigint NOT NULL,
  account bigint NOT NULL,
  version text NOT NULL,
  state bigint NOT NULL,
  tries bigint NOT NULL,
  spent bigint NOT NULL,
  born bigint NOT NULL,
  due bigint NOT NULL,
  fence bigint NOT NULL,
  done bigint NOT NULL,
  reason text NOT NULL,
  attempts text NOT NULL,
  PRIMARY KEY (account, seq, endpoint)
);
CREATE INDEX delivery_endpoint ON delivery (endpoint, seq);
CREATE INDEX delivery_state ON delivery (account, state, seq, endpoint) WHERE state <> 2;
CREATE INDEX delivery_due ON delivery (endpoint, due, seq, fence) WHERE state < 2;
CREATE INDEX delivery_dead ON delivery (endpoint, seq) WHERE state = 3;

-- Events that have more endpoints than one transaction takes: who is behind
-- after still has to get a delivery.
CREATE TABLE fanout (
  seq bigint PRIMARY KEY,
  account bigint NOT NULL,
  after bigint NOT NULL,
  at bigint NOT NULL
);

-- How endpoints have answered.
CREATE TABLE health (
  endpoint bigint PRIMARY KEY,
  delivered bigint NOT NULL,
  failed bigint NOT NULL,
  last_success bigint NOT NULL,
  last_failure bigint NOT NULL,
  failing bigint NOT NULL
);

-- Events that an application wrote in a transaction of its own, until the
-- service takes them into the order of all.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account bigint NOT NULL,
  type text NOT NULL,
  at bigint NOT NULL,
  doc text NOT NULL
);
