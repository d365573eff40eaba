// Package sqs opens the queues. A function that only sends to a queue has no URL of its dead-letter queue.
package sqs

import (
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/run/config"
	"orgops/shared/storage/queue/sqsqueue"
)

// AddRetries adds the queue of retries.
func AddRetries(c *cloud.Cloud, p *boot.Parts) { p.Retries = Retries(c) }

// AddSyncs adds the queue of syncs.
func AddSyncs(c *cloud.Cloud, p *boot.Parts) { p.Syncs = Syncs(c) }

// Retries opens the queue of deliveries that are due later, and of recoveries.
func Retries(c *cloud.Cloud) *sqsqueue.Queue {
	return open(c, "ORGOPS_RETRIES_QUEUE", c.Settings.Retries)
}

// Syncs opens the queue of sync runs.
func Syncs(c *cloud.Cloud) *sqsqueue.Queue { return open(c, "ORGOPS_SYNCS_QUEUE", c.Settings.Syncs) }

func open(c *cloud.Cloud, name string, urls config.QueueURLs) *sqsqueue.Queue {
	return sqsqueue.New(c.Access, sqsqueue.Options{
		URL: c.Need(name, urls.Queue), Dead: urls.Dead, Now: c.Now, FairQueues: c.Settings.FairQueues,
	})
}
