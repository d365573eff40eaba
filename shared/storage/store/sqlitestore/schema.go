package sqlitestore

// steps returns the migrations of the store's tables.
//
// Times are Unix milliseconds, expires is Unix seconds, 0 for never. A version column of a change is NULL if the change has
// no such image. The bodies come last, so that reading other columns does not touch a body's overflow pages.
//
// The second step gives items row ids. New rows then lie next to each other at the end of the table, so a commit writes few of its
// pages. Only the small entries of the index are in the order of their keys.
// https://www.sqlite.org/withoutrowid.html#when_to_use_without_rowid
//
// The third step moves timers, whose partitions were those of their hours. It does not matter in which shard a timer lies.
func steps() []string {
	return []string{`
CREATE TABLE item (
	pk      TEXT NOT NULL,
	sk      TEXT NOT NULL,
	entity  TEXT NOT NULL,
	version INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	quiet   INTEGER NOT NULL,
	body    BLOB NOT NULL,
	PRIMARY KEY (pk, sk)
) WITHOUT ROWID;

CREATE TABLE change (
	seq         INTEGER PRIMARY KEY,
	company     TEXT NOT NULL,
	sk          TEXT NOT NULL,
	entity      TEXT NOT NULL,
	at          INTEGER NOT NULL,
	old_version INTEGER,
	new_version INTEGER,
	old_body    BLOB,
	new_body    BLOB
);

CREATE TABLE position (
	consumer TEXT PRIMARY KEY,
	seq      INTEGER NOT NULL
) WITHOUT ROWID;
`, `
CREATE TABLE row (
	id      INTEGER PRIMARY KEY,
	pk      TEXT NOT NULL,
	sk      TEXT NOT NULL,
	entity  TEXT NOT NULL,
	version INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	quiet   INTEGER NOT NULL,
	body    BLOB NOT NULL
);
CREATE UNIQUE INDEX item_key ON row (pk, sk);
INSERT INTO row (pk, sk, entity, version, at, expires, quiet, body)
	SELECT pk, sk, entity, version, at, expires, quiet, body FROM item ORDER BY pk, sk;
DROP TABLE item;
ALTER TABLE row RENAME TO item;
`, `
UPDATE item SET pk = 'DUE#' || substr(pk, 16) WHERE pk GLOB 'DUE#??????????#?';
`}
}
