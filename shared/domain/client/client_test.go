package client_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/client"
)

// TestRotateSecret lets a former secret go on until its own end, also over a second rotation. Each rotation limits how many go on.
func TestRotateSecret(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := client.RotateSecret(nil, client.Secret{Digest: "1"}, now, now.Add(client.Overlap))
	second := client.RotateSecret(first, client.Secret{Digest: "2"}, now, now.Add(client.Overlap))
	third := client.RotateSecret(second, client.Secret{Digest: "3"}, now.Add(time.Hour), now.Add(time.Hour+client.Overlap))
	live := func(all []client.Secret, at time.Time) (digests []string) {
		for _, s := range client.LiveSecrets(all, at) {
			digests = append(digests, s.Digest)
		}
		return digests
	}
	for name, tt := range map[string]struct {
		got, want []string
	}{
		"after two rotations in an hour": {live(third, now.Add(time.Hour)), []string{"3", "2", "1"}},
		"after the first one's end":      {live(third, now.Add(client.Overlap)), []string{"3", "2"}},
		"after both ends":                {live(third, now.Add(time.Hour+client.Overlap)), []string{"3"}},
		"with an end that is now":        {live(client.RotateSecret(third, client.Secret{Digest: "4"}, now, now), now), []string{"4"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s: live secrets differ (-want +got):\n%s", name, diff)
		}
	}
	many := third
	for range 10 {
		many = client.RotateSecret(many, client.Secret{Digest: "x"}, now, now.Add(client.Overlap))
	}
	if len(many) > 6 {
		t.Errorf("%d secrets are kept after many rotations, want few", len(many))
	}
}
