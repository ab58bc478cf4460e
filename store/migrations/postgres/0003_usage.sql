-- Who used which operation of which version on which day (days since 1970).
CREATE TABLE usage (
  version text NOT NULL,
  account bigint NOT NULL,
  operation text NOT NULL,
  day bigint NOT NULL,
  uses bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL,
  PRIMARY KEY (version, account, operation, day)
) WITH (fillfactor = 50);
CREATE INDEX usage_day ON usage (day);
