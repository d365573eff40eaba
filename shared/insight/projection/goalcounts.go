package projection

import (
	"slices"

	"orgops/shared/domain/goal"
)

// add adds n (+1 or -1) times other counts.
func (c *GoalCounts) add(other GoalCounts, n int) {
	c.Open, c.Closed = c.Open+n*other.Open, c.Closed+n*other.Closed
	c.Aligned, c.Drifting, c.Misaligned = c.Aligned+n*other.Aligned, c.Drifting+n*other.Drifting, c.Misaligned+n*other.Misaligned
}

// countsOf returns the counts of one goal.
func countsOf(g goal.Goal) GoalCounts {
	if g.State == goal.Closed {
		return GoalCounts{Closed: 1}
	}
	c := GoalCounts{Open: 1}
	switch g.Alignment.Status {
	case goal.Aligned:
		c.Aligned = 1
	case goal.Drifting:
		c.Drifting = 1
	case goal.Misaligned:
		c.Misaligned = 1
	}
	return c
}

// countGoal adds a goal (n = +1) to the counts, or subtracts it (-1).
func (f *folding) countGoal(g goal.Goal, n int) {
	f.Goals.Total += n
	if !f.current(g.Provider, g.Incarnation) {
		return
	}
	of := f.Goals.Providers[g.Provider]
	of.add(countsOf(g), n)
	if f.Goals.Providers == nil {
		f.Goals.Providers = map[string]GoalCounts{}
	}
	f.Goals.Providers[g.Provider] = of
	if of == (GoalCounts{}) {
		delete(f.Goals.Providers, g.Provider)
	}
	if f.configured(g.Provider) {
		f.Goals.add(countsOf(g), n)
	}
}

// configured reports whether the goals of a provider count: it has an integration, or is the company itself.
func (f *folding) configured(provider string) bool {
	_, ok := f.Integrations[provider]
	return ok || provider == goal.Own
}

// listOf returns the list with a provider's open goals.
func (f *folding) listOf(provider string) *[]Goal {
	if f.configured(provider) {
		return &f.Goals.Listed
	}
	return &f.Goals.Former
}

// configure stores a provider's integration, nil if it was deleted. With an integration the provider's goals begin to count, and without
// one they end to.
func (f *folding) configure(provider string, i *Integration) {
	was := f.configured(provider)
	from, n := f.listOf(provider), -1
	delete(f.Integrations, provider)
	if i != nil {
		f.Integrations[provider], n = *i, +1
	}
	if was == (i != nil) {
		return
	}
	f.Goals.add(f.Goals.Providers[provider], n)
	to := f.listOf(provider)
	for _, g := range *from {
		if g.Provider == provider {
			*to = insert(*to, g)
		}
	}
	unlist(from, provider)
	f.boundGoals()
}

// forgetGoals drops the goals of a provider's former integration.
func (f *folding) forgetGoals(provider string) {
	if f.configured(provider) {
		f.Goals.add(f.Goals.Providers[provider], -1)
	}
	delete(f.Goals.Providers, provider)
	unlist(f.listOf(provider), provider)
}

func unlist(listed *[]Goal, provider string) {
	*listed = slices.DeleteFunc(*listed, func(g Goal) bool { return g.Provider == provider })
}

// boundGoals keeps the lists at MaxGoals entries together.
func (f *folding) boundGoals() {
	g := &f.Goals
	g.Listed = g.Listed[:min(len(g.Listed), MaxGoals)]
	g.Former = g.Former[:min(len(g.Former), MaxGoals-len(g.Listed))]
}
