package sqlitequeue

// steps are the migrations of the queue's tables. Times are Unix milliseconds.
//
// A message is ready when it may be handed out, and otherwise waits until visible: until it is due, or until the lease
// that it is under runs out. Only ready ones are looked for by group, so that going around the groups never passes over
// what is not due. lease is 0 where there is none, or since it was put off; it is kept when it runs out, so that who
// holds it can still acknowledge as long as nobody else got the message.
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
