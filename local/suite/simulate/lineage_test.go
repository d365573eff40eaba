package simulate_test

import (
	"orgops/local/suite/simulate/simqueue"
)

// longestChain is how often Lambda invokes a function in one chain. It drops the next invocation, unless the function allows loops.
const longestChain = 16

// lineage returns what an environment's messages carry: the chain of its last invocation. A client's begin none.
func (e *environment) lineage() simqueue.Lineage {
	if e.current == nil {
		return nil
	}
	return e.current.lineage
}

// continued returns the lineage of an invocation with messages. AWS does not document what becomes of the chains of a batch, so
// the invocation continues all of them. ends reports that Lambda drops it.
func (w *world) continued(f *function, messages []simqueue.Leased) (lineage simqueue.Lineage, ends bool) {
	lineage = simqueue.Lineage{}
	for _, m := range messages {
		for name, calls := range m.Lineage {
			lineage[name] = max(lineage[name], calls)
		}
	}
	lineage[f.name]++
	w.longest = max(w.longest, lineage[f.name])
	if lineage[f.name] > longestChain {
		w.violated("chains", "Lambda drops invocation %d of %s in one chain, with %s", lineage[f.name], f.name, messages[0].Body)
		return nil, true
	}
	return lineage, false
}
