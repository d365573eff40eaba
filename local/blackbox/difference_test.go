package blackbox_test

import (
	"maps"
	"slices"
)

// difference is where a target cannot answer as the others do. The table is the whole of it.
type difference struct {
	target, journey, step string
	change                func(*exchange) // what the golden answer is there
	why                   string
}

var differences = []difference{}

// expected is what a target must answer: the golden record, and what is different there.
func expected(target, journey string, golden []step) []step {
	steps := slices.Clone(golden)
	for _, d := range differences {
		if d.target != target || d.journey != journey {
			continue
		}
		for i, s := range steps {
			if s.Name == d.step {
				steps[i].Answered = s.Answered.copy()
				d.change(steps[i].Answered)
			}
		}
	}
	return steps
}

// copy is an exchange that can be changed.
func (e *exchange) copy() *exchange {
	out := *e
	out.Headers = maps.Clone(e.Headers)
	out.Body = plain(e.Body)
	return &out
}
