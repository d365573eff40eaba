package ticker

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/erasure"
	"orgops/shared/storage/store"
)

// eraseTurn bounds how long one timer erases: the tick has to come back.
const eraseTurn = 20 * time.Second

// turn returns how long an erasure may go on: not beyond the most of what is left of the tick's time.
func turn(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(eraseTurn, time.Until(deadline)*4/5)
	}
	return eraseTurn
}

// erase removes a company's items. It sets a timer to continue if there is not enough time, and after the first round the timers
// of the rounds that remove what a late worker has written.
func (t *Ticker) erase(ctx context.Context, c store.Company, subject string) ([]store.Op, error) {
	if t.Keys == nil {
		return nil, errors.New("this process cannot destroy keys, so it erases no company")
	}
	now := t.Now().UTC()
	eraser := erasure.Eraser{Store: t.Store, Keys: t.Keys, Now: t.Now}
	receipt, done, err := eraser.Run(ctx, c.ID(), now.Add(turn(ctx)))
	switch {
	case err != nil:
		return nil, err
	case !done:
		return []store.Op{erasure.Again(c, t.Now(), subject)}, nil
	case subject != erasure.First: // no token of the company is valid any more
		return nil, t.endKeys(ctx, c.ID())
	}
	t.Logger.InfoContext(ctx, "company erased", "company", c.ID(), "items", receipt.Items)
	return erasure.Later(c, now), nil
}
