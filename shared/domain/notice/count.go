package notice

import (
	"time"

	"orgops/shared/storage/store"
)

// CountEntity and countPrefix name the entity of the count of a company's mails in a month, and the prefix of its key.
const (
	CountEntity = "notice-count"
	countPrefix = "NOTICECOUNT#"
)

// Count counts the mails of a month.
type Count struct {
	Mails int `json:"mails"`
}

// CountKey returns the sort key of the count of a time's month.
func CountKey(now time.Time) string { return countPrefix + now.UTC().Format("2006-01") }

// Save returns the write of a count.
func (n Count) Save(c store.Company, version int64, now time.Time) store.Op {
	return c.Save(CountKey(now), CountEntity, version, n).Quietly().Until(now.AddDate(0, 2, 0))
}

// Limits of the mails that bring invitations, because their readers have not asked for them: of a company in a day, and of one address
// in a company in a day.
const (
	InvitesPerDay     = 100
	InvitesPerAddress = 3
)

// InvitesEntity and invitesPrefix name the entity of the count of a day's invitations, and the prefix of its key.
const (
	InvitesEntity = "notice-invites"
	invitesPrefix = "NOTICEINVITES#"
)

// Invites counts the mails of a day that bring invitations.
type Invites struct {
	Mails     int            `json:"mails"`
	Addresses map[string]int `json:"addresses"` // by a digest of the address
}

// InvitesKey returns the sort key of the count of a time's day.
func InvitesKey(now time.Time) string { return invitesPrefix + now.UTC().Format(time.DateOnly) }

// Add counts a mail to an address. It returns false, and counts nothing, at a limit.
func (n *Invites) Add(address string) bool {
	digest := store.Login(address).String() // the same for each way to write an address
	if n.Mails >= InvitesPerDay || n.Addresses[digest] >= InvitesPerAddress {
		return false
	}
	if n.Addresses == nil {
		n.Addresses = map[string]int{}
	}
	n.Mails++
	n.Addresses[digest]++
	return true
}

// Save returns the write of the count.
func (n Invites) Save(c store.Company, version int64, now time.Time) store.Op {
	return c.Save(InvitesKey(now), InvitesEntity, version, n).Quietly().Until(now.Add(48 * time.Hour))
}

// Monthly returns how many mails a company on a plan gets in a month. Mails about access count, but are not kept back.
func Monthly(plan string) int {
	switch plan {
	case "enterprise":
		return 200_000
	case "pro":
		return 20_000
	}
	return 1_000
}
