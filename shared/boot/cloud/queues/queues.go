// Package queues opens the queues. Who only sends to one is not told where its dead letters are.
package queues

import (
	"orgops/shared/boot/cloud"
	"orgops/shared/config"
	"orgops/shared/queue/sqsqueue"
)

// Retries is the queue of deliveries that are due later, and of recoveries.
func Retries(c *cloud.Cloud) *sqsqueue.Queue {
	return open(c, "ORGOPS_RETRIES_QUEUE", c.Settings.Retries)
}

// Syncs is the queue of sync runs.
func Syncs(c *cloud.Cloud) *sqsqueue.Queue { return open(c, "ORGOPS_SYNCS_QUEUE", c.Settings.Syncs) }

func open(c *cloud.Cloud, name string, urls config.QueueURLs) *sqsqueue.Queue {
	return sqsqueue.New(c.Access, sqsqueue.Options{
		URL: c.Need(name, urls.Queue), Dead: urls.Dead, Now: c.Now, FairQueues: c.Settings.FairQueues,
	})
}
