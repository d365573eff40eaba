// Package usagekey names the keys by which the gateway counts a company's requests against its plan, and holds the plans' limits.
// Clients never send a key: the gateway takes keys from the authorizer only.
package usagekey

import (
	"maps"
	"slices"
)

// Of returns a company's key in a plan, padded to the 20 characters that the gateway requires.
//
// Each plan has a key of its own, because the gateway accepts a key in one plan of a stage only. While a company changes its plan,
// tokens with the former plan keep their key, and so none of their requests is refused.
func Of(company, plan string) string {
	const least = 20
	key := "company-" + company + "-" + plan
	for len(key) < least { // never for a company id of this service, which has 36 characters
		key += "-"
	}
	return key
}

// Tier holds a plan's limits for one company.
type Tier struct {
	Rate  int // requests a second, in the long run
	Burst int // requests at once
	Day   int // requests a day
}

// Tiers returns the limits of each plan. The gateway enforces them; a local process has none.
func Tiers() map[string]Tier {
	return map[string]Tier{
		"free":       {Rate: 5, Burst: 20, Day: 20_000},
		"pro":        {Rate: 50, Burst: 200, Day: 1_000_000},
		"enterprise": {Rate: 500, Burst: 1000, Day: 20_000_000},
	}
}

// Plans lists the plans, in the order of their names.
func Plans() []string { return slices.Sorted(maps.Keys(Tiers())) }
