package user

import (
	"context"
	"errors"
	"time"

	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
)

// EndedEntity and EndedPrefix name the entity of an Ended item and the prefix of its key.
const (
	EndedEntity = "ended"
	EndedPrefix = "ENDED#"
)

// Ended ends the tokens of a user, a client or an executive: those of generations below From are refused. Each ending increments the generation of
// the user's login, the client or the executive in the same transaction. A token's generation does not depend on any clock, so a token that is issued
// right after the ending, in the same second, is accepted.
type Ended struct {
	From int64 `json:"from"`
}

// EndedKey returns the sort key of a user's Ended.
func EndedKey(userID string) string { return EndedPrefix + userID }

// endedKept is how long an ending is stored. By then all the tokens that it refuses have expired.
const endedKept = token.Lifetime + time.Hour

// Generation returns the least generation of a principal's tokens that is accepted.
func Generation(ctx context.Context, c store.Company, id string) (int64, error) {
	var ended Ended
	_, err := c.Get(ctx, EndedKey(id), &ended)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return ended.From, store.Fault(err, "")
}

// EndTokens returns the write that refuses the principal's tokens of generations below from.
func EndTokens(ctx context.Context, c store.Company, userID string, from int64, now time.Time) (store.Op, error) {
	item, err := c.Get(ctx, EndedKey(userID), nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Op{}, store.Fault(err, "")
	}
	return c.Save(EndedKey(userID), EndedEntity, item.Version, Ended{From: from}).Quietly().Until(now.Add(endedKept)), nil
}
