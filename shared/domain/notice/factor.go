package notice

import (
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/user"
)

// FactorAdded returns the notice that tells a person of a new second factor.
func FactorAdded(u user.User, factorID string, now time.Time) Stored {
	return factors(u, "factor-added", factorID, "A second factor was added to your login", "A second factor was added to your login. From now on a login needs it, in all your companies.", now)
}

// FactorRemoved returns the notice that tells a person that a second factor was removed.
func FactorRemoved(u user.User, factorID string, now time.Time) Stored {
	return factors(u, "factor-removed", factorID, "A second factor was removed from your login", "A second factor was removed from your login.", now)
}

// RecoveryRenewed returns the notice that tells a person of new recovery codes.
func RecoveryRenewed(u user.User, now time.Time) Stored {
	return factors(u, "recovery-codes-renewed", "", "Your login has new recovery codes", "Your login has new recovery codes. The former ones count no more.", now)
}

func factors(u user.User, name, subject, title, text string, now time.Time) Stored {
	n := access(u, name, title, "It is about your own login.")
	n.ID, n.CreatedAt, n.DueAt = id.At(now, u.ID, name, subject), now.UTC().Truncate(time.Millisecond), now.UTC()
	return Stored{Notice: n, Content: Content{
		Paragraphs: []string{text, "If it was not you, change your password and look at your second factors."},
		Facts:      []Fact{{Name: "When", At: now}},
		Link:       &Link{"Sign in and look", "/console/#/account"},
	}}
}
