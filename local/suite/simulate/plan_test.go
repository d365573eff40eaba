package simulate_test

import (
	"math/rand/v2"
	"slices"
)

// fault names a kind of fault.
type fault string

// The kinds. README.md says which document of AWS each follows. The last but one is no fault but a stricter check, and the last is for notices alone.
const (
	throttled  fault = "throttled" // a call is refused
	unknown    fault = "unknown"   // a write's or a send's outcome is unknown
	slow       fault = "slow"      // a call takes up to 20 s
	killed     fault = "killed"    // an environment ends in the middle of an invocation
	twice      fault = "twice"     // a batch or a message is delivered again although it was handled
	late       fault = "late"      // a message is visible later than it is due
	split      fault = "split"     // a shard of the stream splits
	many       fault = "many"      // functions have more than one environment
	clocks     fault = "clocks"    // clocks of environments differ and step
	failing    fault = "failing"   // receivers answer with errors, late or not at all
	gone       fault = "gone"      // receivers answer 410
	dead       fault = "dead"      // one receiver never answers 2xx
	hot        fault = "hot"       // the store refuses the writes of a company for ten minutes
	shuffled   fault = "shuffled"  // the stream has the records of a transaction in any order
	lost       fault = "lost"      // a message to a queue is lost
	outage     fault = "outage"    // the store refuses everything for half an hour
	keyless    fault = "keyless"   // the key service throttles a fifth of the calls, and refuses all for ten minutes
	expiring   fault = "expiring"  // items expire, and are deleted days later
	strictness fault = "strict"    // no attempt is excused because a delivery had two messages
	crowded    fault = "crowded"   // people get more notices than an hour takes, Slack throttles, and the mail host is away when the rest is due
)

// kinds lists the faults of the default run.
func kinds() []fault {
	return []fault{throttled, unknown, slow, killed, twice, late, split, many, clocks, failing, gone, dead, shuffled, hot, outage, lost, keyless, expiring}
}

// plan says which faults a seed has, and how often.
type plan struct {
	on           map[fault]bool
	rate         float64 // of each fault, for one call
	environments int     // of a function at most
}

// newPlan draws about half of the faults, so that a fault is not always hidden by another.
func newPlan(random *rand.Rand, allowed []fault) plan {
	p := plan{on: map[fault]bool{}, rate: 0.002 + 0.03*random.Float64(), environments: 1}
	for _, f := range kinds() {
		draw := random.IntN(2) == 0
		p.on[f] = draw && slices.Contains(allowed, f)
	}
	p.on[dead] = p.on[dead] && random.IntN(8) == 0         // its deliveries take three days
	p.on[expiring] = p.on[expiring] && random.IntN(2) == 0 // a month takes a third of a seed's time
	for _, f := range allowed {
		if !slices.Contains(kinds(), f) {
			p.on[f] = true
		}
	}
	wide := random.IntN(4) == 0
	if p.on[many] {
		p.environments = 2 + random.IntN(6)
		if wide {
			p.environments = 100
		}
	}
	return p
}

// names lists the faults that are on.
func (p plan) names() []string {
	names := []string{}
	for f, on := range p.on {
		if on {
			names = append(names, string(f))
		}
	}
	slices.Sort(names)
	return names
}
