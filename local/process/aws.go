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
	"orgops/local/process/preflight"
	"orgops/shared/identity/application"
	"orgops/shared/identity/token"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/cloud/sqs"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/store/dynamostream"
	"orgops/shared/storage/vault"
)

// requestBudget bounds a request, including the retries of throttled calls. API Gateway waits as long for a function.
const requestBudget = 29 * time.Second

// refreshEvery sets how often the process checks whether the token keys are due to be read again.
const refreshEvery = time.Minute

// OpenAWS assembles the service on DynamoDB, SQS, KMS and Secrets Manager, or on their emulators, from the variables that
// getenv (os.Getenv) returns. The caller closes it after Run, or if it never runs.
//
// The error names every missing setting, or, within preflight.Timeout, every service that cannot be used. A second process on
// the same table is refused: see lease.
//
// Deliveries reach this machine only if the operator's networks allow it. Several machines may share the store, and an
// endpoint that a company configured on another machine must not lead to this machine.
func OpenAWS(ctx context.Context, getenv func(string) string, logger *slog.Logger) (*Process, error) {
	c, err := cloud.Read(getenv)
	c.Logger = logger
	a := openParts(c)
	var mailErr, appsErr error
	a.mail, mailErr = sender(c.Config)
	a.apps, appsErr = applications(c.Config)
	if err := errors.Join(err, c.Missing(), mailErr, appsErr); err != nil {
		return nil, err
	}
	if err := a.preflight(ctx); err != nil {
		return nil, err
	}
	a.lease = newLease(a.main, logger, c.Now())
	if err := a.lease.take(ctx); err != nil {
		return nil, err
	}
	return assemble(c.Config, a.backend(), logger), nil
}

// awsParts holds the process's parts on AWS.
type awsParts struct {
	*cloud.Cloud
	main, keys     *dynamostore.Store
	retries, syncs *sqsqueue.Queue
	notices        *sqsqueue.Queue
	tokens         *tokensecret.Keyring
	lease          *lease
	mail           mail.Sender
	apps           application.Static
}

// openParts opens the parts without a call to AWS.
func openParts(c *cloud.Cloud) *awsParts {
	c.Need("ORGOPS_WRAPPING_KEY", c.Settings.WrappingKey)
	c.Need("ORGOPS_TOKEN_KEYS", c.Settings.TokenKeys)
	c.Need("ORGOPS_SIGNING_KEYS", c.Settings.SigningKeys)
	c.Need("ORGOPS_RETRIES_DEAD_LETTERS", c.Settings.Retries.Dead)
	c.Need("ORGOPS_SYNCS_DEAD_LETTERS", c.Settings.Syncs.Dead)
	c.Need("ORGOPS_NOTICES_DEAD_LETTERS", c.Settings.Notices.Dead)
	return &awsParts{
		Cloud: c, main: dynamodb.MainWithFeed(c, dynamostream.New(c.Access), projector.Consumer, dispatcher.Consumer), keys: dynamodb.Keys(c),
		retries: sqs.Retries(c), syncs: sqs.Syncs(c), notices: sqs.Notices(c),
	}
}

// preflight asks every service for what the process needs from it, and reads the token keys.
func (a *awsParts) preflight(ctx context.Context) error {
	wrap := func(ctx context.Context) error { // uses a right that the process needs anyway
		_, err := kms.Wrapper(a.Cloud).Wrap(ctx, "none", make([]byte, 32))
		return err
	}
	read := func(ctx context.Context) (err error) {
		a.tokens, err = secretsmanager.SigningKeys(ctx, a.Cloud)
		return err
	}
	s := a.Settings
	return preflight.All(ctx, a.Access,
		preflight.Check{Service: "DYNAMODB", Thing: "table " + s.Table, Ask: a.main.Ready},
		preflight.Check{Service: "DYNAMODB", Thing: "table " + s.KeysTable, Ask: a.keys.Ready},
		preflight.Check{Service: "SQS", Thing: "queue " + s.Retries.Queue + " or its dead letters", Ask: a.retries.Ready},
		preflight.Check{Service: "SQS", Thing: "queue " + s.Syncs.Queue + " or its dead letters", Ask: a.syncs.Ready},
		preflight.Check{Service: "SQS", Thing: "queue " + s.Notices.Queue + " or its dead letters", Ask: a.notices.Ready},
		preflight.Check{Service: "KMS", Thing: "key " + s.WrappingKey, Ask: wrap},
		preflight.Check{Service: "SECRETS_MANAGER", Thing: "secret " + s.TokenKeys + " or " + s.SigningKeys, Ask: read},
	)
}

func (a *awsParts) backend() backend {
	return backend{
		parts: boot.Parts{
			Store: a.main, Retries: sqs.Timed(a.Cloud, a.retries, a.main, boot.Retries), Syncs: sqs.Timed(a.Cloud, a.syncs, a.main, boot.Syncs),
			Notices: sqs.Timed(a.Cloud, a.notices, a.main, boot.Notices), Mail: a.mail, Applications: a.apps, Vault: kms.Vault(a.Cloud), Separate: true,
			DataKeys: vault.StoreKeys{Store: a.keys},
			Keys:     token.AtHand{Signs: a.tokens.Signer(), Verifies: a.tokens.Public},
		},
		verifier: a.tokens, cursorKey: a.tokens.Cursor(), loopback: allowsLoopback(a.Config.AllowNetworks),
		feed: a.main, budget: requestBudget, keep: a.keep, close: a.close,
	}
}

// allowsLoopback reports whether the operator's networks include this machine's own network. If so, the name localhost is
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

func (a *awsParts) close() error { return a.lease.release(context.Background()) }

// OpenTable opens the main table for an operator's command. It works while another process serves the table.
func OpenTable(ctx context.Context, getenv func(string) string, logger *slog.Logger) (store.Store, error) {
	c, err := cloud.Read(getenv)
	c.Logger = logger
	table := dynamodb.Main(c)
	if err := errors.Join(err, c.Missing()); err != nil {
		return nil, err
	}
	if err := preflight.All(ctx, c.Access, preflight.Check{Service: "DYNAMODB", Thing: "table " + c.Settings.Table, Ask: table.Ready}); err != nil {
		return nil, fmt.Errorf("open the table: %w", err)
	}
	return table, nil
}
