package main

// projecting names the function whose batches the bill computes.
const projecting = "projector"

// batching describes how the projector's changes share batches. Lambda gathers a shard's changes for a window, which begins
// with the first change after the batch before. The projector folds all changes of a company in a batch at once.
type batching struct {
	window   float64 // seconds
	arrivals float64 // changes a second in a shard, of all companies
	perCall  float64 // companies in a batch, on average
}

// batchingOf computes the batching for so many companies, whose changes are spread evenly over the shards.
func batchingOf(companies int, s stack) batching {
	changes := 0.0 // a day; the changes of a page come at once and count as one
	for _, a := range day() {
		if a.function == projecting {
			changes += a.times
		}
	}
	b := batching{window: s.windows[projecting], arrivals: float64(companies) * changes / (24 * 60 * 60) / shards}
	folds := 0.0
	for _, a := range day() {
		if a.function == projecting {
			folds += b.folds(a, a.times)
		}
	}
	b.perCall = 1 + b.arrivals*b.window*folds/changes
	return b
}

// folds returns how many folds an activity that happens so many times costs. A change that shares the batch of the change
// that it follows costs none.
func (b batching) folds(a activity, times float64) float64 { return times * (1 - b.shared(a.after)) }

// shared returns the share of changes that are in the batch of the change so many seconds before them. At random times, one of
// 1+arrivals×window changes opens a batch, and the others come at any time of its window.
func (b batching) shared(after float64) float64 {
	if after == 0 || after >= b.window {
		return 0
	}
	others := b.arrivals * b.window
	return (1 + others*(1-after/b.window)) / (1 + others)
}
