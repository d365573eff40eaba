package main

// activity describes something that a company does, or that the service does for it, and how often a day.
type activity struct {
	part     part
	step     string  // name in the table of steps
	times    float64 // per day
	function string  // invoked for it
	ms       float64 // billed duration; assumed, not measured
	request  bool    // goes through the gateway
	open     bool    // needs no token
	messages float64 // messages that Lambda receives from a queue and deletes for the activity
	sent     float64 // kB to the internet
	after    float64 // seconds that the projector's change follows another change of the company; 0: it follows none
}

// part names a part of the service that has a cost of its own.
type part string

const (
	partRequests   part = "founders' requests, login and authorizer"
	partIntake     part = "webhooks received"
	partDeliveries part = "deliveries and retries"
	partSyncs      part = "syncs"
	partContexts   part = "contexts and timelines"
)

// parts lists the parts in the order of the bill.
func parts() []part { return []part{partRequests, partIntake, partDeliveries, partSyncs, partContexts} }

const (
	daysAMonth    = 365.0 / 12
	weekly        = 1.0 / 7 // times a day
	hoursAMonth   = 24 * daysAMonth
	minutesAMonth = 60 * hoursAMonth
	quarters      = 4 * hoursAMonth
)

// The model company's day in numbers.
const (
	memoriesIn  = 100 // webhooks received; each creates a memory, which one endpoint receives
	retried     = 2   // webhooks whose first delivery attempt fails
	syncsAsked  = 24  // one run of a feed an hour; pagesFound of the runs find a page of 50 changes
	pagesFound  = 1
	itemsAPage  = 50
	authorized  = 25 // tokens that the gateway has not cached in the last five minutes
	coldStarts  = 0.01
	coldStartMS = 300 // billed by Lambda
)

// Each request to the internet opens a connection and sends these sizes in kB, with the headers of its packets.
const (
	delivered = 4.5
	fetched   = 3
)

// soon is how many seconds after a change the dispatcher or the syncer makes the change that follows from it: Lambda reads the
// stream four times a second, and an attempt takes a quarter of a second.
const soon = 0.6

// day returns what a company does in a day: 328 requests, 150 events delivered, 24 syncs. Every request and message is its own
// invocation, and every change is its own invocation of the dispatcher. Only the changes of a sync's page come in batches of
// ten. The projector's changes share batches as batching describes. An answer includes 0.5 kB of headers. A delivery
// and a fetch open a connection.
func day() []activity {
	return []activity{
		{part: partRequests, step: "login", times: 2, function: "auth", ms: 120, request: true, open: true, sent: 1},
		{part: partRequests, step: "authorizer: a token", times: authorized, function: "authorizer", ms: 5},
		{part: partRequests, step: "get-health", times: 60, function: "missioncontrol", ms: 12, request: true, sent: 3},
		{part: partRequests, step: "get-dashboard", times: 40, function: "missioncontrol", ms: 15, request: true, sent: 5},
		{part: partRequests, step: "list-timeline", times: 30, function: "missioncontrol", ms: 20, request: true, sent: 15},
		{part: partRequests, step: "get-brief", times: 30, function: "intelligence", ms: 15, request: true, sent: 3},
		{part: partRequests, step: "list-recommendations", times: 20, function: "intelligence", ms: 18, request: true, sent: 4},
		{part: partRequests, step: "list-integrations", times: 12, function: "integrations", ms: 20, request: true, sent: 5},
		{part: partRequests, step: "list-memories", times: 10, function: "memory", ms: 25, request: true, sent: 60},

		{part: partIntake, step: "receive-webhook", times: memoriesIn, function: "inbound", ms: 40, request: true, open: true, sent: 1},
		{part: partContexts, step: "projector: a change", times: memoriesIn, function: "projector", ms: 20},
		{part: partDeliveries, step: "dispatcher: an event, delivered to an endpoint", times: memoriesIn - retried, function: "dispatcher", ms: 270, sent: delivered},
		{part: partDeliveries, step: "dispatcher: an event, failed at the endpoint", times: retried, function: "dispatcher", ms: 1000, sent: delivered},
		{part: partContexts, step: "projector: a change", times: memoriesIn, function: "projector", ms: 20, after: soon}, // the deliveries
		{part: partDeliveries, step: "dispatcher: a recorded delivery", times: memoriesIn - retried, function: "dispatcher", ms: 3},
		{part: partDeliveries, step: "dispatcher: a delivery to retry", times: retried, function: "dispatcher", ms: 10},
		{part: partDeliveries, step: "retrier: an attempt, delivered", times: retried, function: "retrier", ms: 250, messages: 1, sent: delivered},
		{part: partContexts, step: "projector: a change", times: retried, function: "projector", ms: 20},
		{part: partDeliveries, step: "dispatcher: a recorded delivery", times: retried, function: "dispatcher", ms: 3},

		{part: partSyncs, step: "sync-memory", times: syncsAsked, function: "memory", ms: 25, request: true, sent: 1},
		{part: partSyncs, step: "dispatcher: a requested sync", times: syncsAsked, function: "dispatcher", ms: 10},
		{part: partSyncs, step: "syncer: a run that finds nothing new", times: syncsAsked - pagesFound, function: "syncer", ms: 500, messages: 1, sent: fetched},
		{part: partSyncs, step: "syncer: a changed page of 50", times: pagesFound, function: "syncer", ms: 2000, messages: 1, sent: fetched},
		{part: partContexts, step: "projector: a change", times: 2 * syncsAsked, function: "projector", ms: 20, after: soon}, // running, then the end
		{part: partContexts, step: "projector: a change with a timeline entry", times: syncsAsked, function: "projector", ms: 25},
		{part: partContexts, step: "projector: a change", times: syncsAsked, function: "projector", ms: 20}, // the timeline's entry
		{part: partSyncs, step: "dispatcher: an event without subscribers", times: 3 * syncsAsked, function: "dispatcher", ms: 10},
		{part: partContexts, step: "projector: 10 changes of a company", times: 2 * pagesFound * itemsAPage / 10, function: "projector", ms: 30},
		{part: partDeliveries, step: "dispatcher: 10 events of a company, delivered", times: pagesFound * itemsAPage / 10, function: "dispatcher", ms: 600, sent: 10 * delivered},
		{part: partDeliveries, step: "dispatcher: a recorded delivery", times: pagesFound * itemsAPage / 10, function: "dispatcher", ms: 3},

		// A weekly brief, whose entry is a change too.
		{part: partContexts, step: "ticker: a minute with a weekly brief", times: weekly, function: "ticker", ms: 60},
		{part: partContexts, step: "projector: the first change after a weekly brief", times: weekly, function: "projector", ms: 25},
		{part: partContexts, step: "dispatcher: an event without subscribers", times: weekly, function: "dispatcher", ms: 10},
	}
}

// always returns what happens in a month without any company.
func always() []activity {
	return []activity{
		{step: "ticker: a minute with the canary", times: minutesAMonth - quarters, function: "ticker", ms: 70},
		{step: "ticker: a minute with the canary's delivery", times: quarters, function: "ticker", ms: 75},
		{step: "projector: a change", times: minutesAMonth + 3*quarters, function: "projector", ms: 20}, // the minute's memory; the goal, its delivery and its memory
		{step: "dispatcher: an event without subscribers", times: minutesAMonth + quarters, function: "dispatcher", ms: 10},
		{step: "dispatcher: a change given back", times: minutesAMonth, function: "dispatcher", ms: 10},
		{step: "dispatcher: an event, delivered to an endpoint", times: quarters, function: "dispatcher", ms: 270, sent: delivered},
		{step: "dispatcher: a recorded delivery", times: quarters, function: "dispatcher", ms: 3},
		{step: "receive-webhook, a change", times: quarters, function: "inbound", ms: 40, request: true, open: true, sent: 1},
	}
}

// stored returns the kB that a company has in the table after a month, from how long each kind of item is kept.
func stored() (kilobytes float64) {
	month, events := daysAMonth, float64(memoriesIn+pagesFound*itemsAPage)
	for _, kept := range []struct{ aDay, size, days float64 }{
		{events, 0.8, month},     // memories, kept for good; with the 0.1 kB that DynamoDB adds to each item
		{events, 0.7, month},     // decisions, 180 days
		{events, 1.0, 30},        // deliveries
		{memoriesIn, 0.4, 7},     // receipts
		{2, 0.5, month},          // audit records of the logins, 400 days
		{syncsAsked, 0.7, month}, // runs, 90 days
		{syncsAsked, 0.6, month}, // timeline entries, 180 days
	} {
		kilobytes += kept.aDay * kept.size * min(kept.days, month)
	}
	return kilobytes
}

// Every invocation and request adds these sizes to the logs.
const (
	platformLog = 0.7  // kB that Lambda writes per invocation, unless its log level omits calls that succeed
	metricLine  = 0.5  // kB of a line of metrics
	accessLog   = 0.45 // kB that the gateway writes per request
	logDays     = 30   // retention
	packedLogs  = 0.15 // size of kept logs relative to their text
)

// Requests that depend on time, not on work. Five connections poll an idle queue for 20 s each; a process reads the token
// keys every five minutes; DynamoDB requests the tables' key every five minutes for each role.
const (
	pollsAMonth = 5 * 3 * minutesAMonth
	fiveMinutes = minutesAMonth / 5
	keyReaders  = 7.0 // functions with the token keys, one warm process each
	shards      = 4.0 // of the stream; a table on demand begins with four partitions
)
