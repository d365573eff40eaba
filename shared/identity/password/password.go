// Package password checks, hashes and verifies passwords: argon2id with OWASP's parameters, in the PHC string format,
// and the policy of NIST SP 800-63B.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"orgops/shared/base/fault"
)

// Cost is what a new hash takes.
type Cost struct {
	Memory uint32 // KiB
	Passes uint32
}

// OWASP returns OWASP's parameters for argon2id.
func OWASP() Cost { return Cost{Memory: 19 << 10, Passes: 2} }

const (
	parallelism = 1
	saltLen     = 16
	keyLen      = 32
)

// The length of a password, in code points. NIST asks for at least 8 and for no rules on which characters to use.
const (
	MinLength = 8
	MaxLength = 128
)

// maxWaiting limits the calls that wait or run: about two seconds of work.
const maxWaiting = 64

// Hasher hashes and verifies passwords, one at a time, because a hash needs 19 MiB of memory and the whole process must stay
// under 80 MiB. Calls beyond maxWaiting return fault.Unavailable at once. Make it with New; it is safe for concurrent use.
type Hasher struct {
	cost  Cost
	queue chan struct{}
	slot  chan struct{}
	dummy string
}

// New makes a Hasher with OWASP's parameters.
func New() *Hasher { return NewWith(OWASP()) }

// NewWith makes a Hasher whose new hashes take a cost. Tests that log in often give less than New does.
func NewWith(cost Cost) *Hasher {
	dummy := phc{memory: cost.Memory, passes: cost.Passes, parallelism: parallelism, salt: make([]byte, saltLen), key: make([]byte, keyLen)}
	rand.Read(dummy.salt)
	rand.Read(dummy.key) // no known password has this hash
	return &Hasher{cost: cost, queue: make(chan struct{}, maxWaiting), slot: make(chan struct{}, 1), dummy: dummy.String()}
}

// Hash returns the PHC string of a password with a fresh salt. It waits for its turn until ctx ends.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltLen)
	rand.Read(salt)
	p := phc{memory: h.cost.Memory, passes: h.cost.Passes, parallelism: parallelism, salt: salt}
	key, err := h.derive(ctx, password, p, keyLen)
	if err != nil {
		return "", err
	}
	p.key = key
	return p.String(), nil
}

// HashLike hashes a password as Hash does, with the salt of another hash unless that has other parameters than new hashes have. One
// derivation then verifies a password against both; see Matches.
func (h *Hasher) HashLike(ctx context.Context, password, like string) (string, error) {
	if h.NeedsRehash(like) {
		return h.Hash(ctx, password)
	}
	p, err := parse(like)
	if err != nil {
		return "", err
	}
	p.key, err = h.derive(ctx, password, p, keyLen)
	return p.String(), err
}

// Matches reports which of the hashes were made from password. It derives one key for all hashes of a salt, and one if there is no
// hash, so the time does not reveal whether there is any. An empty hash matches nothing.
func (h *Hasher) Matches(ctx context.Context, password string, hashes []string) ([]bool, error) {
	matches, derived := make([]bool, len(hashes)), map[string][]byte{}
	for i, hash := range hashes {
		if hash == "" {
			continue
		}
		p, err := parse(hash)
		if err != nil {
			return nil, err
		}
		key, size := p.key, uint32(len(p.key))
		p.key = nil
		same := fmt.Sprintf("%s %d", p, size)
		if derived[same] == nil {
			if derived[same], err = h.derive(ctx, password, p, size); err != nil {
				return nil, err
			}
		}
		matches[i] = subtle.ConstantTimeCompare(derived[same], key) == 1
	}
	if len(derived) == 0 {
		return matches, h.Dummy(ctx, password)
	}
	return matches, nil
}

// Verify reports whether hash was made from password. Its time does not depend on where the two differ. It returns an error
// when hash cannot be read, when too many calls wait, or when ctx ends.
func (h *Hasher) Verify(ctx context.Context, password, hash string) (bool, error) {
	p, err := parse(hash)
	if err != nil {
		return false, err
	}
	key, err := h.derive(ctx, password, p, uint32(len(p.key)))
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(key, p.key) == 1, nil
}

// Dummy takes as long as Verify. Call it for a login that does not exist, so that the response time does not reveal the
// missing login.
func (h *Hasher) Dummy(ctx context.Context, password string) error {
	_, err := h.Verify(ctx, password, h.dummy)
	return err
}

func (h *Hasher) derive(ctx context.Context, password string, p phc, size uint32) ([]byte, error) {
	select {
	case h.queue <- struct{}{}:
		defer func() { <-h.queue }()
	default:
		return nil, &fault.Error{Kind: fault.Unavailable, Detail: "too many logins at once; try again", RetryAfter: time.Second}
	}
	select {
	case h.slot <- struct{}{}:
		defer func() { <-h.slot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text := norm.NFC.String(password) // keyboards differ in how they compose accents
	return argon2.IDKey([]byte(text), p.salt, p.passes, p.memory, p.parallelism, size), nil
}

// NeedsRehash reports whether hash was made with other parameters than new hashes have, or cannot be read.
func (h *Hasher) NeedsRehash(hash string) bool {
	p, err := parse(hash)
	return err != nil || (Cost{p.memory, p.passes}) != h.cost || p.parallelism != parallelism || len(p.salt) != saltLen || len(p.key) != keyLen
}

// Generate returns a random password of 120 bits, in groups that a person can read and type: no letter looks like a digit.
func Generate() string {
	text := strings.ToLower(rand.Text()[:24]) // base32: a–z and 2–7
	return strings.Join([]string{text[:6], text[6:12], text[12:18], text[18:]}, "-")
}

// phc holds a hash with its parameters: $argon2id$v=19$m=19456,t=2,p=1$salt$key.
type phc struct {
	memory, passes uint32
	parallelism    uint8
	salt, key      []byte
}

func (p phc) String() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, p.memory, p.passes, p.parallelism, b64.EncodeToString(p.salt), b64.EncodeToString(p.key))
}

var errHash = errors.New("password: not an argon2id hash with affordable parameters")

// parse reads a PHC string. The bounds limit the memory and time that a damaged record can cost.
func parse(hash string) (phc, error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return phc{}, errHash
	}
	var p phc
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.parallelism); err != nil {
		return phc{}, errHash
	}
	salt, err := base64.RawStdEncoding.Strict().DecodeString(parts[4])
	if err != nil {
		return phc{}, errHash
	}
	key, err := base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if err != nil {
		return phc{}, errHash
	}
	p.salt, p.key = salt, key
	affordable := p.memory >= 8 && p.memory <= 2*OWASP().Memory && p.passes >= 1 && p.passes <= 10 && p.parallelism >= 1 && p.parallelism <= 4
	if !affordable || len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 {
		return phc{}, errHash
	}
	return p, nil
}
