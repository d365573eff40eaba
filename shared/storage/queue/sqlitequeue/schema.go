package sqlitequeue

// steps returns the migrations of the queue's tables. Times are Unix milliseconds.
//
// A message with ready = 1 may be leased. Any other message waits until the time in visible: then it becomes due, or its
// lease expires. The index message_ready holds only ready messages, so the round robin never scans waiting messages. lease
// is 0 before the first delivery and after a Defer. A lease that has expired stays in the column, so its holder can still
// acknowledge the message until a redelivery.
func steps() []string {
	return []string{`
CREATE TABLE message (
	id       INTEGER PRIMARY KEY,
	queue    TEXT NOT NULL,
	grp      TEXT NOT NULL,
	ready    INTEGER NOT NULL,
	visible  INTEGER NOT NULL,
	lease    INTEGER NOT NULL,
	receives INTEGER NOT NULL,
	due      INTEGER NOT NULL,
	body     BLOB NOT NULL
);

CREATE INDEX message_ready ON message (queue, grp, visible) WHERE ready = 1;
CREATE INDEX message_waiting ON message (queue, visible, lease) WHERE ready = 0;

CREATE TABLE dead (
	id     INTEGER PRIMARY KEY,
	queue  TEXT NOT NULL,
	grp    TEXT NOT NULL,
	due    INTEGER NOT NULL,
	at     INTEGER NOT NULL,
	reason TEXT NOT NULL,
	body   BLOB NOT NULL
);

CREATE INDEX dead_oldest ON dead (queue, at);
`}
}
