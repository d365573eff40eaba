// Package events builds the asynchronous part: the stream of committed changes with its two readers, the queues of deliveries
// and syncs with their workers, the clock, and the functions that operators and Secrets Manager call.
package events

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/functions/ticker"
	"orgops/infra/api"
	"orgops/infra/data"
	"orgops/infra/function"
	"orgops/infra/nag"
)

// Props holds what the workers are built from.
type Props struct {
	Functions function.Settings
	Data      *data.Data
	API       *api.API
}

// Events holds the workers and their queues.
type Events struct {
	Projector, Dispatcher, Retrier, Syncer, Notifier, Ticker, Rotator, Provisioner *function.Function

	Retries, Syncs, Notices *Queue
	Failed                  awssqs.Queue // discarded batches of the stream
}

// Functions returns all workers.
func (e *Events) Functions() []*function.Function {
	return []*function.Function{e.Projector, e.Dispatcher, e.Retrier, e.Syncer, e.Notifier, e.Ticker, e.Rotator, e.Provisioner}
}

// Variables returns the environment variables with which the operator's commands reach the queues.
func (e *Events) Variables() [][2]string {
	all := [][2]string{{fairVariable, "true"}, {"ORGOPS_FAILED_CHANGES", *e.Failed.QueueUrl()}}
	for _, q := range []*Queue{e.Retries, e.Syncs, e.Notices} {
		all = append(all, [2]string{q.variable + "_QUEUE", *q.QueueUrl()}, [2]string{q.variable + "_DEAD_LETTERS", *q.Dead.QueueUrl()})
	}
	return all
}

// Timeouts of the functions, in seconds. A queue hides a message for a little longer than its worker may run.
const (
	projectorTimeout  = 60
	dispatcherTimeout = 120 // a first attempt has 5 s; a batch has many
	retrierTimeout    = 120 // an attempt has 15 s
	syncerTimeout     = 300 // a slice ends earlier and queues the next
	notifierTimeout   = 60  // a mail has half a minute
	tickerTimeout     = 50  // ends before the next minute's call
)

// New builds the workers.
func New(scope constructs.Construct, p Props) *Events {
	unit := constructs.NewConstruct(scope, jsii.String("Events"))
	e := &Events{
		Retries: newQueue(unit, "Retries", "ORGOPS_RETRIES", retrierTimeout),
		Syncs:   newQueue(unit, "Syncs", "ORGOPS_SYNCS", syncerTimeout),
		Notices: newQueue(unit, "Notices", "ORGOPS_NOTICES", notifierTimeout),
		Failed:  letters(unit, "Failed"),
	}
	nag.Suppress(e.Failed, "AwsSolutions-SQS3", "It receives the batches that the stream's readers discard; an alarm reports each")
	build := func(props function.Props) *function.Function { return function.New(unit, p.Functions, props) }
	e.Projector = build(function.Props{
		Name: "projector", About: "Folds changes into each company's context and timeline",
		Memory: 256, Timeout: projectorTimeout,
	})
	e.Dispatcher = build(function.Props{
		Name: "dispatcher", About: "Turns changes into events and makes the first delivery attempts",
		Memory: 256, Timeout: dispatcherTimeout, Sends: true,
	})
	e.Retrier = build(function.Props{
		Name: "retrier", About: "Retries failed deliveries and runs recoveries",
		Memory: 256, Timeout: retrierTimeout, Sends: true,
	})
	e.Syncer = build(function.Props{
		Name: "syncer", About: "Fetches from providers, a slice at a time",
		Memory: 512, Timeout: syncerTimeout, Sends: true,
	})
	e.Notifier = build(function.Props{
		Name: "notifier", About: "Tells people what happened, by mail and in Slack",
		Memory: 256, Timeout: notifierTimeout, Sends: true,
	})
	e.Ticker = build(function.Props{
		Name: "ticker", About: "Fires the timers that are due",
		Memory: 512, Timeout: tickerTimeout, // 12,500 timers of a shard, each less than a millisecond of a whole processor
	})
	e.Rotator = build(function.Props{
		Name: "rotator", About: "Rotates the signing keys",
		Memory: 256, Timeout: 60,
	})
	e.Provisioner = build(function.Props{
		Name: "provisioner", About: "Creates and administers companies",
		Memory: 1024, Timeout: 30,
	})
	e.followers(p.Data)
	e.workers(p.Data)
	e.mails(p)
	if p.Functions.MailSet != "" {
		e.returns(unit, p.Functions.MailSet)
	}
	e.every(unit, "rate(1 minute)", e.Ticker)
	helped(unit, e.Ticker)

	p.Data.Read(e.Ticker, data.Companies, data.Timers, data.System, data.Logins, data.Registry)
	p.Data.Write(e.Ticker, data.Companies, data.System, data.Timers)
	p.Data.Remove(e.Ticker, data.Timers, data.Logins, data.Registry) // of companies that it erases
	p.Data.Destroy(e.Ticker)
	p.Data.SealOwn(e.Ticker, ticker.CanaryCompany)
	p.API.Issue(e.Ticker)    // the canary's deliveries go to this address
	p.API.Withdraw(e.Ticker) // of companies that it erases, and of their former plans
	p.Data.RotateBy(e.Rotator)
	p.Data.Read(e.Provisioner, data.Companies, data.Logins, data.Registry)
	p.Data.Write(e.Provisioner, data.Companies, data.Logins, data.Registry, data.Timers)
	p.API.Enrol(e.Provisioner)
	return e
}

// followers connects the stream's two readers.
func (e *Events) followers(d *data.Data) {
	d.Read(e.Projector, data.Companies)
	d.Write(e.Projector, data.Companies, data.Timers, data.Spread) // it sees how fast a company grows
	// A context keeps the position of the last change folded of each shard, so the changes must come in the shard's order: one
	// batch of a shard at a time. Lambda names the shard in a tumbling window only. The longest window has the fewest empty events at
	// its end. The table's partition behind the shard writes at most 1,000 units a second, so a batch holds what a busy company changes
	// in the second for which Lambda gathers it: its context is written about once a second. Of different companies the
	// projector commits more contexts than the partition can write: 8 at a time, about 10 ms and 3 units each.
	e.follow(d, e.Projector, projected(), following{batch: 1000, parallel: 1, window: 1, tumbling: 900})

	d.Read(e.Dispatcher, data.Companies)
	d.Write(e.Dispatcher, data.Companies, data.Timers)
	d.Unseal(e.Dispatcher)
	e.Retries.Send(e.Dispatcher)
	e.Syncs.Send(e.Dispatcher)
	e.Notices.Send(e.Dispatcher)
	e.follow(d, e.Dispatcher, dispatched(), following{batch: 100, parallel: 10})
}

// workers connects the queues' workers. A worker also sends to its queue, because it returns messages that are not due. A
// message that waits long becomes a timer, which the ticker sends.
func (e *Events) workers(d *data.Data) {
	d.Read(e.Retrier, data.Companies)
	d.Write(e.Retrier, data.Companies, data.Timers)
	d.Unseal(e.Retrier)
	e.Retries.WorkedBy(e.Retrier)

	d.Read(e.Syncer, data.Companies)
	d.ReadMany(e.Syncer, data.Companies)
	d.Write(e.Syncer, data.Companies, data.Timers)
	d.Unseal(e.Syncer)
	d.Connect(e.Syncer)
	e.Syncs.WorkedBy(e.Syncer)

	e.Retries.Send(e.Ticker)
	e.Syncs.Send(e.Ticker)
	e.Notices.Send(e.Ticker)
}
