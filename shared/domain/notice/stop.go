package notice

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// Stop names what one click on a mail ends: the mails of one kind to one person.
type Stop struct {
	Company, UserID string
	Kind            Kind

	signature []byte
}

// Stops reports whether one click ends the mails of a kind (RFC 8058). Mails about the own access and approvals are not ended so.
func Stops(k Kind) bool { return k == Alert || k == Brief }

// StopPath begins the paths that end the mails of a kind, below the service's address. The token follows.
const StopPath = "/auth/unsubscribe/"

// Token returns the token of a stop, signed with the key of the person's box, which gets one if it has none. The token does not expire: a
// mail may be read late. Choosing the kind again revokes it.
func (b *Box) Token(s Stop) string {
	if len(b.Key) == 0 {
		b.Key = make([]byte, sha256.Size)
		_, _ = rand.Read(b.Key) // it never fails
	}
	return strings.Join([]string{s.Company, s.UserID, string(s.Kind), base64.RawURLEncoding.EncodeToString(b.sign(s))}, ".")
}

func (b Box) sign(s Stop) []byte {
	mac := hmac.New(sha256.New, b.Key)
	text := "unsubscribe " + s.Company + " " + s.UserID + " " + string(s.Kind)
	if n := b.Chosen[s.Kind]; n > 0 {
		text += " " + strconv.Itoa(n)
	}
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func errStop() error {
	return fault.New(fault.NotFound, "the link is incomplete, or was revoked; sign in and choose what you are told")
}

// ParseStop reads a token without checking its signature.
func ParseStop(token string) (Stop, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 4 || !id.Valid(parts[0]) || !id.Valid(parts[1]) || !Stops(Kind(parts[2])) {
		return Stop{}, errStop()
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[3])
	if err != nil {
		return Stop{}, errStop()
	}
	return Stop{parts[0], parts[1], Kind(parts[2]), signature}, nil
}

// Verify returns fault.NotFound for a token whose signature is wrong or revoked.
func (s Stop) Verify(ctx context.Context, c store.Company) error {
	var box Box
	if _, err := c.Get(ctx, BoxKey(s.UserID), &box); err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Fault(err, "")
	}
	if len(box.Key) == 0 || !hmac.Equal(box.sign(s), s.signature) {
		return errStop()
	}
	return nil
}

// stopRounds limits how often Take starts again after others have changed the preferences. A mail program does not repeat a click.
const stopRounds = 5

// Take ends the mails of the kind to the person.
func (s Stop) Take(ctx context.Context, c store.Company, now time.Time) error {
	var err error
	for range stopRounds {
		if err = s.take(ctx, c, now); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return store.Fault(err, "")
}

func (s Stop) take(ctx context.Context, c store.Company, now time.Time) error {
	p, err := LoadChosen(ctx, c, s.UserID)
	switch {
	case err != nil:
		return err
	case p.Follows && slices.Contains(p.ended, s.Kind), !p.Follows && !p.Tells(s.Kind):
		return nil
	case p.Follows: // the rest goes on to follow the company's defaults
		return c.Commit(ctx, p.Follow(c, s.UserID, append(p.ended, s.Kind)...))
	}
	p.end(s.Kind)
	ops := []store.Op{p.Save(c, s.UserID, p.Version)}
	if p.Wants(Brief, Mail) { // the timer of the former version has no effect
		ops = append(ops, c.Timer(now, BriefTimer, briefTimer(s.UserID, p.Version+1)+planned))
	}
	return c.Commit(ctx, ops...)
}

// Tells reports whether a kind of notice comes by any channel.
func (p Preferences) Tells(k Kind) bool { return p.Wants(k, Mail) || p.Wants(k, Slack) }

// Renew returns the write that revokes the links of earlier mails of a kind, if the person wants it again and one click may have ended it.
func (p Preferences) Renew(ctx context.Context, c store.Company, userID string, was Preferences) ([]store.Op, error) {
	again := slices.DeleteFunc([]Kind{Alert, Brief}, func(k Kind) bool { return was.Tells(k) || !p.Tells(k) })
	if len(again) == 0 {
		return nil, nil
	}
	var box Box
	item, err := c.Get(ctx, BoxKey(userID), &box)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(box.Key) == 0 {
		return nil, nil
	}
	if box.Chosen == nil {
		box.Chosen = map[Kind]int{}
	}
	for _, k := range again {
		box.Chosen[k]++
	}
	return []store.Op{box.Save(c, userID, item.Version)}, err
}
