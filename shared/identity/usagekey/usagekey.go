// Package usagekey names the keys by which the gateway counts a company's requests against its plan, and holds the plans' limits.
// Clients never send a key: the gateway takes keys from the authorizer only.
package usagekey

import (
	"fmt"
	"maps"
	"slices"
)

// Of returns a company's key in a plan, padded to the 20 characters that the gateway requires.
//
// Each plan has a key of its own, because the gateway accepts a key in one plan of a stage only. While a company changes its plan,
// tokens with the former plan keep their key, and so none of their requests is refused.
func Of(company, plan string) string { return padded("company-" + company + "-" + plan) }

// NeedsKey reports whether each company on a plan needs a key of its own. A region has 10,000 keys, and AWS raises that for no one.
// So the companies on the free plan share one key, and the functions count their requests: see Buckets.
func NeedsKey(plan string) bool { return plan != free }

// Shared returns the one key of all companies whose plan needs none of their own, behind the gateway's API of this id.
func Shared(api string) string { return padded("shared-key-of-" + api) }

func padded(key string) string {
	const least = 20
	for len(key) < least {
		key += "-"
	}
	return key
}

const free = "free"

// Tier holds a plan's limits for one company.
type Tier struct {
	Rate  int // requests a second, in the long run
	Burst int // requests at once
	Day   int // requests a day
	// Bytes of memories that the plan includes. More are stored all the same, with a warning.
	Bytes int64
}

// Tiers returns the limits of each plan. The gateway enforces them, or the functions if the plan needs no key; a local process
// has none.
func Tiers() map[string]Tier {
	return map[string]Tier{
		free:         {Rate: 5, Burst: 20, Day: 20_000, Bytes: 1 << 30},
		"pro":        {Rate: 50, Burst: 200, Day: 1_000_000, Bytes: 20 << 30},
		"enterprise": {Rate: 500, Burst: 1000, Day: 20_000_000, Bytes: 1 << 40},
	}
}

// Agent returns the limits of one agent of a company with these: a half, so that no agent keeps the company's people and other agents out.
func (t Tier) Agent() Tier { return Tier{Rate: t.Rate / 2, Burst: t.Burst / 2, Day: t.Day / 2} }

// Plans lists the plans, in the order of their names.
func Plans() []string { return slices.Sorted(maps.Keys(Tiers())) }

// Policy returns the limits of a plan as the header RateLimit-Policy lists them (draft-ietf-httpapi-ratelimit-headers-10), "" for a
// plan without limits.
func Policy(plan string) string {
	tier, ok := Tiers()[plan]
	if !ok {
		return ""
	}
	return fmt.Sprintf(`"second";q=%d;w=1, "day";q=%d;w=86400`, tier.Rate, tier.Day)
}

// AgentPolicy returns the limits of an agent and of its company in the same form.
func AgentPolicy(plan string) string {
	tier := Tiers()[plan].Agent()
	return fmt.Sprintf(`%q;q=%d;w=1, %q;q=%d;w=86400, `, agents+second, tier.Rate, agents+day, tier.Day) + Policy(plan)
}

// Names of limits. Those of an agent begin with agents.
const (
	second = "second"
	day    = "day"
	agents = "agent-"
)
