package main

// activity describes something that a company does, or that the service does for it, and how often a day.
type activity struct {
	step     string  // name in the table of steps
	times    float64 // per day
	function string  // invoked for it
	ms       float64 // billed duration; assumed, not measured
	request  bool    // goes through the gateway
	messages float64 // messages that Lambda receives from a queue and deletes for the activity
	sent     float64 // kB to the internet
}

const (
	daysAMonth    = 365.0 / 12
	hoursAMonth   = 24 * daysAMonth
	minutesAMonth = 60 * hoursAMonth
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

// day returns what a company does in a day: 328 requests, 150 events delivered, 24 syncs. Every request, change and message
// is its own invocation. Only the changes of a sync's page come in batches of ten. If other changes come in batches too, the
// cost is lower. An answer includes 0.5 kB of headers. A delivery opens a connection, which takes 5 kB.
func day() []activity {
	return []activity{
		{step: "login", times: 2, function: "auth", ms: 120, request: true, sent: 1},
		{step: "authorizer: a token", times: authorized, function: "authorizer", ms: 5},
		{step: "get-health", times: 60, function: "missioncontrol", ms: 12, request: true, sent: 3},
		{step: "get-dashboard", times: 40, function: "missioncontrol", ms: 15, request: true, sent: 5},
		{step: "list-timeline", times: 30, function: "missioncontrol", ms: 20, request: true, sent: 15},
		{step: "get-brief", times: 30, function: "intelligence", ms: 15, request: true, sent: 3},
		{step: "list-recommendations", times: 20, function: "intelligence", ms: 18, request: true, sent: 4},
		{step: "list-integrations", times: 12, function: "integrations", ms: 20, request: true, sent: 5},
		{step: "list-memories", times: 10, function: "memory", ms: 25, request: true, sent: 60},

		{step: "receive-webhook", times: memoriesIn, function: "inbound", ms: 40, request: true, sent: 1},
		{step: "projector: a change", times: memoriesIn, function: "projector", ms: 20},
		{step: "dispatcher: an event, delivered to an endpoint", times: memoriesIn - retried, function: "dispatcher", ms: 250, sent: 7},
		{step: "dispatcher: an event, failed at the endpoint", times: retried, function: "dispatcher", ms: 1000, sent: 7},
		{step: "projector: a change", times: memoriesIn, function: "projector", ms: 20}, // the deliveries
		{step: "dispatcher: a recorded delivery", times: memoriesIn - retried, function: "dispatcher", ms: 3},
		{step: "dispatcher: a delivery to retry", times: retried, function: "dispatcher", ms: 10},
		{step: "retrier: an attempt, delivered", times: retried, function: "retrier", ms: 250, messages: 1, sent: 7},
		{step: "projector: a change", times: retried, function: "projector", ms: 20},
		{step: "dispatcher: a recorded delivery", times: retried, function: "dispatcher", ms: 3},

		{step: "sync-memory", times: syncsAsked, function: "memory", ms: 25, request: true, sent: 1},
		{step: "dispatcher: a requested sync", times: syncsAsked, function: "dispatcher", ms: 10},
		{step: "syncer: a run that finds nothing new", times: syncsAsked - pagesFound, function: "syncer", ms: 500, messages: 1, sent: 6},
		{step: "syncer: a changed page of 50", times: pagesFound, function: "syncer", ms: 2000, messages: 1, sent: 6},
		{step: "projector: a change", times: 2 * syncsAsked, function: "projector", ms: 20}, // requested, running
		{step: "projector: a change with a timeline entry", times: syncsAsked, function: "projector", ms: 25},
		{step: "projector: a change", times: syncsAsked, function: "projector", ms: 20}, // the timeline's entry
		{step: "dispatcher: an event without subscribers", times: 3 * syncsAsked, function: "dispatcher", ms: 10},
		{step: "projector: 10 changes of a company", times: 2 * pagesFound * itemsAPage / 10, function: "projector", ms: 30},
		{step: "dispatcher: 10 events of a company, delivered", times: pagesFound * itemsAPage / 10, function: "dispatcher", ms: 500, sent: 70},
		{step: "dispatcher: a recorded delivery", times: pagesFound * itemsAPage / 10, function: "dispatcher", ms: 3},
	}
}

// always returns what happens in a month without any company.
func always() []activity {
	return []activity{{step: "ticker: a minute without anything due", times: minutesAMonth, function: "ticker", ms: 60}}
}

// stored returns the kB that a company has in the table after a month, from how long each kind of item is kept.
func stored() (kilobytes float64) {
	month, events := daysAMonth, float64(memoriesIn+pagesFound*itemsAPage)
	for _, kept := range []struct{ aDay, size, days float64 }{
		{events, 1.2, month},     // memories, kept for good; with the 0.1 kB that DynamoDB adds to each item
		{events, 0.7, month},     // decisions, 180 days
		{events, 2.0, 30},        // deliveries
		{memoriesIn, 0.4, 7},     // receipts
		{syncsAsked, 0.7, month}, // runs, 90 days
		{syncsAsked, 0.6, month}, // timeline entries, 180 days
	} {
		kilobytes += kept.aDay * kept.size * min(kept.days, month)
	}
	return kilobytes
}

// Every invocation and request adds these sizes to the logs.
const (
	platformLog = 0.7  // kB that Lambda writes per invocation
	ownLog      = 0.5  // kB of metrics that a function writes per invocation, if it measures anything
	accessLog   = 0.45 // kB that the gateway writes per request
	logDays     = 30   // retention
	packedLogs  = 0.15 // size of kept logs relative to their text
)

// Requests that depend on time, not on work. Five connections poll an idle queue for 20 s each; a process reads the token
// keys every five minutes; DynamoDB requests the tables' key every five minutes for each role.
const (
	pollsAMonth    = 5 * 3 * minutesAMonth
	fiveMinutes    = minutesAMonth / 5
	keyReaders     = 7.0 // functions with the token keys, one warm process each
	tracedASecond  = 1.0 // per source of traces; of the others, X-Ray records the share tracedOfOthers
	tracedOfOthers = 0.05
)
