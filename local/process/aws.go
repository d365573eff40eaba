package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/projector"
	"orgops/shared/boot"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/boot/cloud/queues"
	"orgops/shared/boot/cloud/reach"
	"orgops/shared/boot/cloud/sealing"
	"orgops/shared/boot/cloud/tokens"
	"orgops/shared/queue/sqsqueue"
	"orgops/shared/store"
	"orgops/shared/store/dynamostore"
	"orgops/shared/store/dynamostream"
	"orgops/shared/token/tokensecret"
)

// requestBudget is how long a request may take, the tries of what was throttled included: as long as API Gateway waits for
// a function.
const requestBudget = 29 * time.Second

// refreshEvery is how often it is seen whether the token keys are due to be read again.
const refreshEvery = time.Minute

// OpenAWS puts the service together on DynamoDB, SQS, KMS and Secrets Manager, or on what stands in for them, as the
// variables that getenv (os.Getenv) gives say. Close it when it is not run, or after.
//
// The error names every setting that is missing; or else, within reach.Timeout, every service that cannot be used. Of two
// processes on one table the second is refused: see lease.
//
// Deliveries reach this machine only where the operator's networks say so: the store may be one that others share, and
// what their companies configured would otherwise be called from here.
func OpenAWS(ctx context.Context, getenv func(string) string, logger *slog.Logger) (*Process, error) {
	c, err := cloud.Read(getenv)
	c.Logger = logger
	a := openParts(c)
	if err := errors.Join(err, c.Missing()); err != nil {
		return nil, err
	}
	if err := a.reach(ctx); err != nil {
		return nil, err
	}
	a.lease = newLease(a.main, logger, c.Now())
	if err := a.lease.take(ctx); err != nil {
		return nil, err
	}
	b := backend{Backend: a.backend(), feed: a.main, budget: requestBudget, separate: true, keep: a.keep, close: a.close}
	return assemble(c.Config, b, logger)
}

// awsParts is what the process is made of on AWS.
type awsParts struct {
	*cloud.Cloud
	main, keys     *dynamostore.Store
	retries, syncs *sqsqueue.Queue
	tokens         *tokensecret.Keyring
	lease          *lease
}

// openParts calls nobody.
func openParts(c *cloud.Cloud) *awsParts {
	c.Need("ORGOPS_WRAPPING_KEY", c.Settings.WrappingKey)
	c.Need("ORGOPS_TOKEN_KEYS", c.Settings.TokenKeys)
	c.Need("ORGOPS_SIGNING_KEYS", c.Settings.SigningKeys)
	c.Need("ORGOPS_RETRIES_DEAD_LETTERS", c.Settings.Retries.Dead)
	c.Need("ORGOPS_SYNCS_DEAD_LETTERS", c.Settings.Syncs.Dead)
	return &awsParts{
		Cloud: c, main: data.MainWithFeed(c, dynamostream.New(c.Access), projector.Consumer, dispatcher.Consumer), keys: data.Keys(c),
		retries: queues.Retries(c), syncs: queues.Syncs(c),
	}
}

// reach asks every service for what the process needs of it, and reads the token keys.
func (a *awsParts) reach(ctx context.Context) error {
	wrap := func(ctx context.Context) error { // what it is for, so that nobody needs more rights than that
		_, err := sealing.Wrapper(a.Cloud).Wrap(ctx, "none", make([]byte, 32))
		return err
	}
	read := func(ctx context.Context) (err error) {
		a.tokens, err = tokens.SigningKeys(ctx, a.Cloud)
		return err
	}
	s := a.Settings
	return reach.All(ctx, a.Access,
		reach.Check{Service: "DYNAMODB", Thing: "table " + s.Table, Ask: a.main.Ready},
		reach.Check{Service: "DYNAMODB", Thing: "table " + s.KeysTable, Ask: a.keys.Ready},
		reach.Check{Service: "SQS", Thing: "queue " + s.Retries.Queue + " or its dead letters", Ask: a.retries.Ready},
		reach.Check{Service: "SQS", Thing: "queue " + s.Syncs.Queue + " or its dead letters", Ask: a.syncs.Ready},
		reach.Check{Service: "KMS", Thing: "key " + s.WrappingKey, Ask: wrap},
		reach.Check{Service: "SECRETS_MANAGER", Thing: "secret " + s.TokenKeys + " or " + s.SigningKeys, Ask: read},
	)
}

func (a *awsParts) backend() boot.Backend {
	return boot.Backend{
		Store: a.main, Retries: a.retries, Syncs: a.syncs, Vault: sealing.Vault(a.Cloud), Tokens: a.tokens, CursorKey: a.tokens.Cursor(),
		Loopback: allowsLoopback(a.Config.AllowNetworks), FeedTold: true,
	}
}

// allowsLoopback reports whether the operator's networks hold all of this machine's own: then the name localhost is
// allowed as well.
func allowsLoopback(networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Bits() <= 8 && p.Contains(netip.AddrFrom4([4]byte{127})) })
}

// keep renews the lease and follows rotations of the token keys.
func (a *awsParts) keep(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var refreshing sync.WaitGroup
	refreshing.Go(func() {
		ticks := time.NewTicker(refreshEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				a.tokens.Refresh(ctx)
			}
		}
	})
	err := a.lease.keep(ctx)
	stop()
	refreshing.Wait()
	return err
}

func (a *awsParts) close() error { return a.lease.give(context.Background()) }

// OpenTable opens the main table for an operator's command, which needs no more than that and works beside whoever serves
// it.
func OpenTable(ctx context.Context, getenv func(string) string, logger *slog.Logger) (store.Store, error) {
	c, err := cloud.Read(getenv)
	c.Logger = logger
	table := data.Main(c)
	if err := errors.Join(err, c.Missing()); err != nil {
		return nil, err
	}
	if err := reach.All(ctx, c.Access, reach.Check{Service: "DYNAMODB", Thing: "table " + c.Settings.Table, Ask: table.Ready}); err != nil {
		return nil, fmt.Errorf("open the table: %w", err)
	}
	return table, nil
}
