-- Keys compare as bytes. A row that is written again gets a new revision, so no revision is ever used twice and values are appended at the end of the table.
CREATE TABLE records (
  revision INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL COLLATE BINARY UNIQUE,
  value BLOB NOT NULL
);

-- The oldest schema a program may know and still work with this database.
INSERT INTO meta (name, value) VALUES ('compatible_from', 1);
