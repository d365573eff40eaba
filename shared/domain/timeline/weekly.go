package timeline

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"orgops/shared/storage/store"
)

// BriefTimer names the kind of the timer that writes a company's weekly brief. A company has one at a time.
const BriefTimer = "weekly-brief"

// The weekly briefs are written on Monday morning, UTC: from weekStart after the start of the week, spread over weekSpread.
const (
	Week       = 7 * 24 * time.Hour
	weekStart  = 4 * time.Hour
	weekSpread = 4 * time.Hour
)

// BriefAge is how old a company is at least at its first weekly brief. An earlier one would have nothing to tell.
const BriefAge = 24 * time.Hour

// NextBrief returns when a company's next weekly brief is due, after now. The companies are spread over some hours of Monday.
func NextBrief(companyID string, now time.Time) time.Time {
	sum := sha256.Sum256([]byte(BriefTimer + "#" + companyID))
	offset := weekStart + time.Duration(binary.BigEndian.Uint64(sum[:])%uint64(weekSpread/time.Second))*time.Second
	due := now.UTC().Truncate(Week).Add(offset) // weeks of the zero time begin on a Monday
	if !due.After(now) {
		due = due.Add(Week)
	}
	return due
}

// SetBrief returns the op that sets the timer of the company's next weekly brief.
func SetBrief(c store.Company, now time.Time) store.Op {
	return c.Timer(NextBrief(c.ID(), now), BriefTimer, "")
}
