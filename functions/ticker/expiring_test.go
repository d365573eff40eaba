package ticker_test

import (
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
)

// TestTicker_Expiring marks a certification and credentials as about to expire, once, and ends the certification at its time.
func TestTicker_Expiring(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c, now := r.Company("a"), r.Clock.Now()
	end, credentials := now.Add(90*24*time.Hour), now.Add(30*24*time.Hour)
	i := integration.Integration{
		Provider: "feed", Kind: "feed", State: integration.Certified, Enabled: true, Certification: &integration.Certification{ExpiresAt: end},
		Credentials: &integration.CredentialNames{ExpiresAt: &credentials},
	}
	ops := append(i.CredentialsEnding(c, 1), i.Ending(c, 1), c.Create(integration.Key("feed"), integration.Entity, i))
	errtest.Must(t, c.Commit(t.Context(), ops...))
	wantMarks := func(at time.Time, certification, credentials bool) {
		t.Helper()
		r.Clock.Set(at)
		r.tick()
		var is integration.Integration
		r.Get("a", integration.Key("feed"), &is)
		got := [2]bool{is.Certification.WarnedAt != nil, is.Credentials.WarnedAt != nil}
		if want := [2]bool{certification, credentials}; got != want {
			t.Errorf("at %v certification and credentials are marked: %v, want %v", at, got, want)
		}
	}
	wantMarks(credentials.Add(-integration.Warns-time.Second), false, false)
	wantMarks(credentials.Add(-integration.Warns), false, true)
	wantMarks(end.Add(-integration.Warns-time.Second), false, true)
	wantMarks(end.Add(-integration.Warns), true, true)
	r.Clock.Set(end)
	r.tick()
	r.wantState("a", "feed", integration.Sandbox)
}

// TestTicker_Expiring_Renewed leaves credentials that were replaced meanwhile, and a certification that was renewed.
func TestTicker_Expiring_Renewed(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c, now := r.Company("a"), r.Clock.Now()
	end, later := now.Add(20*24*time.Hour), now.Add(90*24*time.Hour)
	i := integration.Integration{
		Provider: "feed", State: integration.Certified, Enabled: true, Certification: &integration.Certification{ExpiresAt: end},
		Credentials: &integration.CredentialNames{ExpiresAt: &end},
	}
	former := append(i.CredentialsEnding(c, 1), i.Ending(c, 1))
	i.Certification, i.Credentials = &integration.Certification{ExpiresAt: later}, &integration.CredentialNames{ExpiresAt: &later}
	errtest.Must(t, c.Commit(t.Context(), append(former, c.Create(integration.Key("feed"), integration.Entity, i))...))
	r.Clock.Set(end)
	r.tick()
	var is integration.Integration
	r.Get("a", integration.Key("feed"), &is)
	if is.Certification.WarnedAt != nil {
		t.Error("the certification is marked as about to expire, want it left: it was renewed")
	}
	if is.Credentials.WarnedAt != nil {
		t.Error("the credentials are marked as about to expire, want them left: they were replaced")
	}
	r.wantState("a", "feed", integration.Certified)
}
