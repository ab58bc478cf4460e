-- Who used which operation of which version on which day (days since 1970).
CREATE TABLE usage (
  version TEXT NOT NULL,
  account INTEGER NOT NULL,
  operation TEXT NOT NULL,
  day INTEGER NOT NULL,
  uses INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (version, account, operation, day)
) WITHOUT ROWID;
CREATE INDEX usage_day ON usage (day);
