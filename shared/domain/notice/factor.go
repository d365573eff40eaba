package notice

import (
	"strconv"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/user"
)

// FactorAdded returns the notice that tells a person of a new second factor.
func FactorAdded(userID, factorID string, now time.Time) Stored {
	return factors(userID, "factor-added", factorID, "A second factor was added to your login", "A second factor was added to your login. From now on a login needs it, in all your companies.", now)
}

// FactorRemoved returns the notice that tells a person that a second factor was removed.
func FactorRemoved(userID, factorID string, now time.Time) Stored {
	return factors(userID, "factor-removed", factorID, "A second factor was removed from your login", "A second factor was removed from your login.", now)
}

// RecoveryRenewed returns the notice that tells a person of new recovery codes.
func RecoveryRenewed(userID string, now time.Time) Stored {
	return factors(userID, "recovery-codes-renewed", "", "Your login has new recovery codes", "Your login has new recovery codes. The former ones count no more.", now)
}

const (
	recoveryUsed  = "recovery-code-used"
	passkeyCopied = "passkey-copied"
)

// RecoveryUsed returns the notice that tells a person that a recovery code was used. left is the number of those that are left.
func RecoveryUsed(userID string, left int, now time.Time) Stored {
	n := factors(userID, recoveryUsed, id.New(), "A recovery code was used to sign in", "Your password and one of your recovery codes were used to sign in. The code counts no more.", now)
	n.Content.Facts = append(n.Content.Facts, Fact{Name: "Recovery codes left", Value: strconv.Itoa(left)})
	return n
}

// PasskeyCopied returns the notice that tells a person that another device may hold a copy of a passkey. No one was let in.
func PasskeyCopied(userID, name string, now time.Time) Stored {
	n := factors(userID, passkeyCopied, id.New(), "A passkey of your login may have been copied",
		"Your password was right, but the passkey has signed with a higher count before. Another device may hold a copy of it, so the sign-in was refused. Remove the passkey and make a new one.", now)
	if name != "" {
		n.Content.Facts = append(n.Content.Facts, Fact{Name: "Passkey", Value: Plain(name)})
	}
	return n
}

// SlackLinked returns the notice that tells a person that a user of Slack acts for them.
func SlackLinked(l SlackLink, workspace string, now time.Time) Stored {
	n := factors(l.UserID, "slack-linked", id.New(), "A user of Slack was linked to you", "A user of Slack was linked to you. What that user presses there counts as yours.", now)
	n.Content.Paragraphs[1] = "If it was not you, end that by the operation unlink-slack-user of the API, and change your password."
	n.Content.Facts = append(n.Content.Facts, Fact{Name: "Workspace", Value: Plain(workspace)}, Fact{Name: "User of Slack", Value: Plain(l.Name + " (" + l.ID + ")")})
	return n
}

func factors(userID, name, subject, title, text string, now time.Time) Stored {
	n := access(user.User{ID: userID}, name, title, "It is about your own login.")
	n.ID, n.CreatedAt, n.DueAt = id.At(now, userID, name, subject), now.UTC().Truncate(time.Millisecond), now.UTC()
	return Stored{Notice: n, Content: Content{
		Paragraphs: []string{text, "If it was not you, change your password and look at your second factors."},
		Facts:      []Fact{{Name: "When", At: now}},
		Link:       &Link{"Sign in and look", "/console/#/account"},
	}}
}
