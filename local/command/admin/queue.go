package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"time"

	"orgops/local/process"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/sqs"
	"orgops/shared/run/config"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
)

// mostListed limits how many dead letters one command lists. A driver for SQS leases as many while it looks for the oldest.
const mostListed = 1000

// letterLine shows a dead letter.
type letterLine struct {
	Group    string    `json:"company"`
	Body     string    `json:"body"`
	Reason   string    `json:"reason"`
	BuriedAt time.Time `json:"buriedAt"`
}

// listDeadLetters prints a line for each dead letter of a queue, oldest first.
func listDeadLetters(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	return withQueue(ctx, e, flags, args, func(q queue.Queue) error {
		letters, err := q.DeadLetters(ctx, mostListed)
		if err != nil {
			return err
		}
		out := json.NewEncoder(e.Out)
		for _, l := range letters {
			if err := out.Encode(letterLine{Group: l.Group, Body: string(l.Body), Reason: l.Reason, BuriedAt: l.BuriedAt}); err != nil {
				return err
			}
		}
		if len(letters) == mostListed {
			e.tell("the command lists %d dead letters at most", mostListed)
		}
		return nil
	})
}

// redriveQueue sends the dead letters of a queue again, and prints their number, even after an error.
func redriveQueue(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	return withQueue(ctx, e, flags, args, func(q queue.Queue) error {
		n, err := q.Redrive(ctx)
		return errors.Join(err, json.NewEncoder(e.Out).Encode(map[string]int{"redriven": n}))
	})
}

// withQueue opens the queue that the flag --queue names, and calls do with it.
func withQueue(ctx context.Context, e Env, flags *flag.FlagSet, args []string, do func(queue.Queue) error) error {
	name := flags.String("queue", "", "retries, syncs or notices (required)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *name != boot.Retries && *name != boot.Syncs && *name != boot.Notices {
		return fmt.Errorf("--queue: %q is not retries, syncs or notices", *name)
	}
	if e.Config.Backend == config.AWS {
		q, err := openSQS(e, *name)
		if err != nil {
			return err
		}
		return do(q)
	}
	backend, err := process.OpenEmbedded(ctx, e.Config.Data, false, time.Now)
	if err != nil {
		return err
	}
	q := map[string]queue.Queue{boot.Retries: backend.Retries, boot.Syncs: backend.Syncs, boot.Notices: backend.Notices}[*name]
	return errors.Join(do(q), backend.Close())
}

func openSQS(e Env, name string) (*sqsqueue.Queue, error) {
	c, err := cloud.Read(e.Getenv)
	if err != nil {
		return nil, err
	}
	var q *sqsqueue.Queue
	switch name {
	case boot.Syncs:
		c.Need("ORGOPS_SYNCS_DEAD_LETTERS", c.Settings.Syncs.Dead)
		q = sqs.Syncs(c)
	case boot.Notices:
		c.Need("ORGOPS_NOTICES_DEAD_LETTERS", c.Settings.Notices.Dead)
		q = sqs.Notices(c)
	default:
		c.Need("ORGOPS_RETRIES_DEAD_LETTERS", c.Settings.Retries.Dead)
		q = sqs.Retries(c)
	}
	return q, c.Missing()
}
