// Package sqs opens the queues. A function that only sends to a queue has no URL of its dead-letter queue.
package sqs

import (
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/run/config"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/storage/store"
)

// AddRetries adds the queue of retries to a function's parts, after the table.
func AddRetries(c *cloud.Cloud, p *boot.Parts) {
	p.Retries = Timed(c, Retries(c), p.Store, boot.Retries)
}

// AddSyncs adds the queue of syncs to a function's parts, after the table.
func AddSyncs(c *cloud.Cloud, p *boot.Parts) { p.Syncs = Timed(c, Syncs(c), p.Store, boot.Syncs) }

// AddNotices adds the queue of what people are told to a function's parts, after the table.
func AddNotices(c *cloud.Cloud, p *boot.Parts) {
	p.Notices = Timed(c, Notices(c), p.Store, boot.Notices)
}

// Timed returns a queue that keeps the messages for which SQS is no place as timers.
func Timed(c *cloud.Cloud, q *sqsqueue.Queue, main store.Store, name string) queue.Queue {
	return timerqueue.Queue{Queue: q, Store: main, Name: name, Now: c.Now}
}

// Retries opens the queue of deliveries that are due later, and of recoveries.
func Retries(c *cloud.Cloud) *sqsqueue.Queue {
	return open(c, "ORGOPS_RETRIES_QUEUE", c.Settings.Retries)
}

// Syncs opens the queue of sync runs.
func Syncs(c *cloud.Cloud) *sqsqueue.Queue { return open(c, "ORGOPS_SYNCS_QUEUE", c.Settings.Syncs) }

// Notices opens the queue of what people are told.
func Notices(c *cloud.Cloud) *sqsqueue.Queue {
	return open(c, "ORGOPS_NOTICES_QUEUE", c.Settings.Notices)
}

func open(c *cloud.Cloud, name string, urls config.QueueURLs) *sqsqueue.Queue {
	return sqsqueue.New(c.Access, sqsqueue.Options{
		URL: c.Need(name, urls.Queue), Dead: urls.Dead, Now: c.Now, FairQueues: c.Settings.FairQueues,
	})
}
