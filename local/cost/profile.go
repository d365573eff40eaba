package main

// activity is something that a company does, or has done for it, so often a day.
type activity struct {
	step     string  // of the table
	times    float64 // a day
	function string  // that is invoked for it
	ms       float64 // that are billed of it: assumed, not measured
	request  bool    // it comes through the gateway
	messages float64 // that Lambda takes from a queue for it, and deletes
	sent     float64 // kB that go to the internet
}

const (
	daysAMonth    = 365.0 / 12
	hoursAMonth   = 24 * daysAMonth
	minutesAMonth = 60 * hoursAMonth
)

// The company of the model: its day in figures.
const (
	memoriesIn  = 100 // webhooks received, each of which brings a memory that one endpoint is sent
	retried     = 2   // of those whose first attempt fails
	syncsAsked  = 24  // an hour's run of a feed, one of which finds a page of 50 that has changed
	pagesFound  = 1
	itemsAPage  = 50
	authorized  = 25 // tokens that the gateway does not remember from the last five minutes
	coldStarts  = 0.01
	coldStartMS = 300 // of which Lambda bills
)

// day is what a company does in a day: 328 requests, 150 events delivered, 24 syncs. Every request, change and message is
// an invocation of its own but for the changes of a sync's page, which come ten at a time; where they come closer
// together, it costs less. An answer is sent with 0.5 kB of headers, a delivery over a connection of its own, which takes 5.
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
		{step: "dispatcher: an event, not taken by the endpoint", times: retried, function: "dispatcher", ms: 1000, sent: 7},
		{step: "projector: a change", times: memoriesIn, function: "projector", ms: 20}, // the deliveries
		{step: "dispatcher: a delivery that is on record", times: memoriesIn - retried, function: "dispatcher", ms: 3},
		{step: "dispatcher: a delivery that is to be tried again", times: retried, function: "dispatcher", ms: 10},
		{step: "retrier: an attempt, delivered", times: retried, function: "retrier", ms: 250, messages: 1, sent: 7},
		{step: "projector: a change", times: retried, function: "projector", ms: 20},
		{step: "dispatcher: a delivery that is on record", times: retried, function: "dispatcher", ms: 3},

		{step: "sync-memory", times: syncsAsked, function: "memory", ms: 25, request: true, sent: 1},
		{step: "dispatcher: a sync that was requested", times: syncsAsked, function: "dispatcher", ms: 10},
		{step: "syncer: a run that finds nothing new", times: syncsAsked - pagesFound, function: "syncer", ms: 500, messages: 1, sent: 6},
		{step: "syncer: a page of 50 that has changed", times: pagesFound, function: "syncer", ms: 2000, messages: 1, sent: 6},
		{step: "projector: a change", times: 2 * syncsAsked, function: "projector", ms: 20}, // requested, running
		{step: "projector: a change that the timeline tells of", times: syncsAsked, function: "projector", ms: 25},
		{step: "projector: a change", times: syncsAsked, function: "projector", ms: 20}, // the timeline's entry
		{step: "dispatcher: an event that nobody asked for", times: 3 * syncsAsked, function: "dispatcher", ms: 10},
		{step: "projector: 10 changes of a company", times: 2 * pagesFound * itemsAPage / 10, function: "projector", ms: 30},
		{step: "dispatcher: 10 events of a company, delivered", times: pagesFound * itemsAPage / 10, function: "dispatcher", ms: 500, sent: 70},
		{step: "dispatcher: a delivery that is on record", times: pagesFound * itemsAPage / 10, function: "dispatcher", ms: 3},
	}
}

// always is what happens whether there are companies or not, a month.
func always() []activity {
	return []activity{{step: "ticker: a minute without anything due", times: minutesAMonth, function: "ticker", ms: 60}}
}

// kBs that a company of the model has in the table after a month, by what is kept for how many days of it.
func stored() (kilobytes float64) {
	month, events := daysAMonth, float64(memoriesIn+pagesFound*itemsAPage)
	for _, kept := range []struct{ aDay, size, days float64 }{
		{events, 1.2, month},     // memories, for good; with the 0.1 kB that DynamoDB adds to each item
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

// What logs and other things take that come with every invocation.
const (
	platformLog = 0.7  // kB that Lambda writes of an invocation
	ownLog      = 0.5  // kB of metrics that a function writes of one, if it measures anything
	accessLog   = 0.45 // kB that the gateway writes of a request
	logDays     = 30   // that they are kept
	packedLogs  = 0.15 // of their size that kept logs take
)

// Requests that come with time and not with work. An idle queue is polled by five connections for 20 s each; a process
// reads the token keys every five minutes; DynamoDB asks for the tables' key every five minutes for each role.
const (
	pollsAMonth    = 5 * 3 * minutesAMonth
	fiveMinutes    = minutesAMonth / 5
	keyReaders     = 7.0 // functions with the token keys, a warm process each
	tracedASecond  = 1.0 // of each source of traces, and of what is beyond this share
	tracedOfOthers = 0.05
)
