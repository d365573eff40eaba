package main

// step names something that happens, with what it requests from AWS.
type step struct {
	name string
	units
}

// steps lists the cost of everything that happens, as TestSteps measures it: the operations by their ids, then the workers'
// steps. Each step is its process's first work for the company, so it includes opening the company's data key. A step within
// five minutes of another step costs one get and one KMS request less.
//
// A login counts its try for the e-mail address and for the network in one item, so it costs one write, not a transaction. Under
// an attack from 100 networks in a minute that item grows to 3 kB: three write units a try and one read unit more.
//
// A memory has 1.1 kB (0.7 kB stored), a delivery 1.6 kB (0.9 kB stored), the company's context 11 kB (2.6 kB stored); lists are full
// pages of 50.
func steps() []step {
	return []step{
		{"login", units{gets: 1, queries: 1, puts: 1, read: 2, written: 1}},
		{"get-keys", units{}},
		{"get-liveness", units{}},
		{"get-problem-type", units{}},

		{"get-health", units{gets: 1, read: 1}},
		{"get-health, not modified", units{gets: 1, read: 1}},
		{"get-readiness", units{gets: 1, read: 1}},
		{"get-dashboard", units{gets: 1, read: 1}},
		{"list-timeline", units{gets: 1, queries: 1, read: 7}},
		{"get-brief", units{gets: 1, queries: 1, read: 4}},
		{"get-brief, of a month", units{gets: 1, queries: 1, read: 4}},
		{"list-recommendations", units{gets: 1, queries: 1, read: 2}},
		{"get-context", units{gets: 1, read: 1}},

		{"list-integrations", units{gets: 1, queries: 2, read: 3}},
		{"configure-integration", units{gets: 5, queries: 1, transactions: 1, read: 6, written: 4, keys: 1}},
		{"configure-integration, again", units{gets: 5, transactions: 1, read: 5, written: 4, keys: 1}},
		{"get-integration", units{gets: 3, read: 3}},
		{"delete-integration", units{gets: 4, transactions: 1, read: 4, written: 4}},
		{"enable-integration", units{gets: 3, puts: 1, read: 3, written: 1}},
		{"disable-integration", units{gets: 3, puts: 1, read: 3, written: 1}},
		{"put-integration-credentials", units{gets: 3, transactions: 1, read: 3, written: 4, keys: 1}},
		{"delete-integration-credentials", units{gets: 3, transactions: 1, read: 3, written: 4, keys: 1}},
		{"rotate-integration-secret", units{gets: 3, transactions: 1, read: 3, written: 4, keys: 1}},
		{"certify-integration", units{gets: 6, transactions: 1, read: 6, written: 6, keys: 1}},
		{"get-integration-certification", units{gets: 3, read: 3}},
		{"test-integration", units{gets: 3, queries: 1, read: 4, keys: 1}},
		{"list-integration-deliveries", units{queries: 1, read: 11}},
		{"get-integration-delivery", units{gets: 1, read: 1}},
		{"retry-integration-delivery", units{gets: 2, puts: 1, read: 2, written: 1}},
		{"recover-integration", units{gets: 1, puts: 1, read: 1, written: 1}},
		{"recover-integration, with an Idempotency-Key", units{gets: 2, puts: 3, read: 2, written: 3}},

		{"sync-memory", units{gets: 2, transactions: 1, read: 2, written: 6}},
		{"list-syncs", units{queries: 1, read: 7}},
		{"get-sync", units{gets: 1, read: 1}},
		{"cancel-sync", units{gets: 2, transactions: 1, read: 2, written: 4}},
		{"list-memories", units{queries: 1, read: 8}},
		{"get-memory", units{gets: 1, read: 1}},
		{"list-goals", units{queries: 1, read: 7}},
		{"get-goal", units{gets: 1, read: 1}},

		{"receive-webhook", units{gets: 4, transactions: 1, read: 4, written: 6, keys: 1, lines: 1}},
		{"receive-webhook, a change", units{gets: 4, transactions: 1, read: 4, written: 6, keys: 1, lines: 1}},
		{"receive-webhook, a goal", units{gets: 4, transactions: 1, read: 4, written: 8, keys: 1, lines: 1}},
		{"receive-webhook, a repeat", units{gets: 4, transactions: 1, read: 4, keys: 1, lines: 1}},
		{"receive-webhook, forged", units{gets: 3, read: 3, keys: 1, lines: 1}},

		{"start of a process that verifies tokens", units{secrets: 1}},
		{"start of a process that signs them", units{secrets: 2}},
		{"authorizer: a token", units{}},
		{"projector: a change", units{gets: 1, puts: 1, read: 1, written: 3, lines: 1}},
		{"projector: 10 changes of a company", units{gets: 1, puts: 1, read: 1, written: 3, lines: 1}},
		{"projector: a change with a timeline entry", units{gets: 1, transactions: 1, read: 1, written: 8, lines: 1}},
		{"dispatcher: an event, delivered to an endpoint", units{gets: 2, queries: 2, puts: 1, read: 4, written: 1, keys: 1, lines: 1}},
		{"dispatcher: an event, failed at the endpoint", units{gets: 2, queries: 2, puts: 2, read: 4, written: 2, keys: 1, lines: 1}},
		{"dispatcher: 10 events of a company, delivered", units{gets: 11, queries: 20, puts: 10, read: 31, written: 10, keys: 1, lines: 1}},
		{"dispatcher: an event without subscribers", units{queries: 1, read: 1}},
		{"dispatcher: a recorded delivery", units{}},
		{"dispatcher: a delivery to retry", units{puts: 1, written: 1, queue: 1}},
		{"dispatcher: a requested sync", units{queue: 1}},
		{"retrier: an attempt, delivered", units{gets: 3, queries: 1, puts: 1, read: 4, written: 1, keys: 1, lines: 1}},
		{"retrier: an attempt, failed", units{gets: 4, queries: 1, puts: 2, read: 5, written: 2, keys: 1, lines: 1}},
		{"retrier: an attempt at a rate limit", units{gets: 3, queries: 1, puts: 2, read: 4, written: 2, keys: 1, lines: 1}},
		{"retrier: an early message", units{gets: 1, read: 1, queue: 2}},
		{"retrier: a recovery of 10 deliveries", units{gets: 1, queries: 1, transactions: 1, read: 4, written: 22}},
		{"syncer: a run that finds nothing new", units{gets: 5, puts: 1, transactions: 1, read: 5, written: 7, lines: 1}},
		{"syncer: an unchanged page of 50", units{gets: 55, puts: 1, transactions: 1, read: 55, written: 7, lines: 1}},
		{"syncer: a changed page of 50", units{gets: 55, puts: 1, transactions: 1, read: 55, written: 113, lines: 1}},
		{"ticker: a minute without anything due", units{gets: 1, queries: 8, puts: 1, read: 9, written: 1}},
		{"ticker: a minute with a due timer", units{gets: 2, queries: 8, puts: 1, transactions: 1, read: 10, written: 5}},
		{"ticker: a minute with a goal to review", units{gets: 2, queries: 8, puts: 1, transactions: 1, read: 10, written: 7}},
		{"provisioner: a company", units{transactions: 1, written: 8}},
		{"rotator: a rotation", units{secrets: 17}},
	}
}
