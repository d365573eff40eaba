package user

import (
	"context"
	"errors"
	"maps"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
)

// EndedEntity and EndedPrefix name the entity of an Ended item and the prefix of its key.
const (
	EndedEntity = "ended"
	EndedPrefix = "ENDED#"
)

// MaxEndedTokens limits the single tokens of a principal that are ended within their lifetime, because each request of the company reads
// them.
const MaxEndedTokens = 100

// Ended ends the tokens of a user, a client or an executive: those of generations below From are refused. Each ending increments the generation of
// the user's login, the client or the executive in the same transaction. A token's generation does not depend on any clock, so a token that is issued
// right after the ending, in the same second, is accepted.
type Ended struct {
	From   int64                `json:"from"`
	Tokens map[string]time.Time `json:"tokens,omitempty"` // single tokens that were ended, by their ids, until they expire
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

// Session names the session in which a user began what ends later, such as the way to a provider and back.
type Session struct {
	UserID     string `json:"userId"`
	TokenID    string `json:"tokenId"`
	Generation int64  `json:"generation,omitempty"`
}

// Check returns fault.Forbidden if the session has ended since.
func (s Session) Check(ctx context.Context, c store.Company) error {
	var ended Ended
	_, err := c.Get(ctx, EndedKey(s.UserID), &ended)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Fault(err, "")
	}
	if _, gone := ended.Tokens[s.TokenID]; gone || s.Generation < ended.From {
		return fault.New(fault.Forbidden, "the session in which this began has ended; log in and begin again")
	}
	return nil
}

// GoesOn returns fault.Unauthenticated if the session has ended. It reads the endings, other than Sessions, which may be seconds old: ask it
// before what outlives the session is made.
func (s Session) GoesOn(ctx context.Context, c store.Company) error {
	err := s.Check(ctx, c)
	if fault.KindOf(err) == fault.Forbidden {
		return fault.New(fault.Unauthenticated, "the token was ended; log in again")
	}
	return err
}

// EndToken returns the write that ends one token of a principal, which expires at a time. It returns fault.QuotaExceeded if
// MaxEndedTokens of the principal have been ended and not expired.
func EndToken(ctx context.Context, c store.Company, id, tokenID string, expires, now time.Time) (store.Op, error) {
	var ended Ended
	item, err := c.Get(ctx, EndedKey(id), &ended)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Op{}, store.Fault(err, "")
	}
	maps.DeleteFunc(ended.Tokens, func(_ string, until time.Time) bool { return !now.Before(until) })
	if len(ended.Tokens) >= MaxEndedTokens {
		f := fault.Newf(fault.QuotaExceeded, "%d of these tokens were ended already; try again later, or end all of them", MaxEndedTokens)
		f.RetryAfter = time.Minute
		return store.Op{}, f
	}
	if ended.Tokens == nil {
		ended.Tokens = map[string]time.Time{}
	}
	ended.Tokens[tokenID] = expires.Add(leeway)
	return c.Save(EndedKey(id), EndedEntity, item.Version, ended).Quietly().Until(now.Add(endedKept)), nil
}

// leeway is longer than a verifier accepts a token after its end.
const leeway = time.Minute

// EndTokens returns the write that refuses the principal's tokens of generations below from.
func EndTokens(ctx context.Context, c store.Company, userID string, from int64, now time.Time) (store.Op, error) {
	item, err := c.Get(ctx, EndedKey(userID), nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Op{}, store.Fault(err, "")
	}
	return c.Save(EndedKey(userID), EndedEntity, item.Version, Ended{From: from}).Quietly().Until(now.Add(endedKept)), nil
}
