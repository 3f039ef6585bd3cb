CREATE SEQUENCE revisions CACHE 1000;

CREATE TABLE records (
  key text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL,
  revision bigint NOT NULL DEFAULT nextval('revisions')
);

-- Servers that share the storage. Deleting a row fences its server: it cannot write any more.
CREATE TABLE replicas (
  id text PRIMARY KEY,
  name text NOT NULL UNIQUE,
  started_at timestamptz NOT NULL DEFAULT now(),
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  version_seen bigint NOT NULL DEFAULT 0
);

-- One row per writing connection: the id of its last commit.
CREATE TABLE commits (
  slot text PRIMARY KEY,
  replica text NOT NULL REFERENCES replicas (id) ON DELETE CASCADE,
  commit_id text NOT NULL
);
CREATE INDEX commits_replica ON commits (replica);

-- Raised by each commit that other servers must hear of.
CREATE TABLE cache_version (
  id integer PRIMARY KEY,
  version bigint NOT NULL
);
INSERT INTO cache_version (id, version) VALUES (1, 1);

-- What such a commit wrote: its keys, or a prefix of them all.
CREATE TABLE changes (
  version bigint PRIMARY KEY,
  commit_id text NOT NULL,
  keys text[],
  prefix text,
  written_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO changes (version, commit_id, prefix) VALUES (1, 'first', '');

-- Who does a background job.
CREATE TABLE jobs (
  name text PRIMARY KEY,
  replica text REFERENCES replicas (id) ON DELETE SET NULL,
  epoch bigint NOT NULL,
  until timestamptz NOT NULL
);
