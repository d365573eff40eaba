package main

import (
	"fmt"
	"slices"
)

// line holds a line of a bill: a quantity at its price.
type line struct {
	service  string
	what     string
	quantity float64
	price    price
}

func (l line) dollars() float64 { return l.price.of(l.quantity) }

// volume sums up a month's usage.
type volume struct {
	read, written   float64 // capacity units
	queue, keys     float64 // requests
	requests        float64 // through the gateway
	invocations     map[string]float64
	gigabyteSeconds float64
	sent            float64 // GB
	logs            float64 // GB
	traces          float64
}

// costOf returns the units of a step in the table.
func costOf(name string) units {
	all := steps()
	i := slices.IndexFunc(all, func(s step) bool { return s.name == name })
	if i < 0 {
		panic("cost: the table has no step " + name) // a mistake in this program's lists
	}
	return all[i].units
}

// guarded names the step of the company guard. The bill assumes it for every request with a token.
const guarded = "guard: a company's first request in four seconds"

const kB, gB = 1e3, 1e9

// add adds the usage of an activity, multiplied by times.
func (v *volume) add(a activity, times float64, s stack, b batching) {
	u, calls := costOf(a.step), times
	if a.function == projecting {
		times = b.folds(a, times)
		calls = times / b.perCall
	}
	v.read += times * u.read
	v.written += times * u.written
	v.queue += times * (float64(u.queue) + 2*a.messages)
	v.keys += times * float64(u.keys)
	if a.request && !a.open {
		v.read += times * costOf(guarded).read
	}
	if a.request {
		v.requests += times
		v.logs += times * accessLog * kB / gB
	}
	v.invocations[a.function] += calls
	billed := (a.ms + coldStarts*coldStartMS) / 1e3
	v.gigabyteSeconds += times * billed * s.memory[a.function] / 1024
	v.sent += times * a.sent * kB / gB
	v.logs += calls * float64(u.lines) * metricLine * kB / gB
	if s.reported {
		v.logs += calls * platformLog * kB / gB
	}
}

// followTraces counts traces. A request's trace begins at the gateway and includes the functions behind it; every call of
// another function starts its own.
func (v *volume) followTraces(s stack) {
	v.traces = s.sampling.of(v.requests)
	for _, function := range []string{"projector", "dispatcher", "retrier", "syncer", "ticker"} {
		if s.traced[function] {
			v.traces += defaultSampling().of(v.invocations[function])
		}
	}
}

// month returns the usage of activities that happen times as often as they state.
func month(activities []activity, times float64, s stack, b batching) volume {
	v := volume{invocations: map[string]float64{}}
	for _, a := range activities {
		v.add(a, a.times*times, s, b)
	}
	v.followTraces(s)
	return v
}

// fixed returns what a stack costs without any company.
func fixed(s stack, p prices) []line {
	lines := []line{
		{service: "CloudWatch", what: "alarms, by the metrics that they look at", quantity: float64(s.alarms), price: p.alarm},
		{service: "CloudWatch", what: "metrics of the code, but for those of trouble", quantity: float64(s.metrics), price: p.metric},
		{service: "CloudWatch", what: "dashboard", quantity: float64(s.dashboards), price: p.dashboard},
		{service: "KMS", what: "keys", quantity: float64(s.keys), price: p.key},
		{service: "KMS", what: "the tables' key, every 5 minutes for each role", quantity: float64(len(s.memory)) * fiveMinutes, price: p.keyRequest},
		{service: "Secrets Manager", what: "secrets", quantity: float64(s.secrets), price: p.secret},
		{service: "Secrets Manager", what: "token keys, every 5 minutes for each process", quantity: keyReaders * fiveMinutes, price: p.secretRequest},
		{service: "SQS", what: "polls of idle queues", quantity: float64(s.queues) * pollsAMonth, price: p.queue},
	}
	return append(lines, of(month(always(), 1, s, batching{perCall: 1}), "the ticker's and the canary's ", p)...)
}

// variable returns what the companies add.
func variable(companies int, s stack, p prices) []line {
	lines := of(month(day(), float64(companies)*daysAMonth, s, batchingOf(companies, s)), "", p)
	return append(lines, kept(companies, p)...)
}

// kept returns what the companies' items cost.
func kept(companies int, p prices) []line {
	gigabytes := float64(companies) * stored() * kB / gB
	return []line{
		{service: "DynamoDB", what: "stored after a month", quantity: gigabytes, price: p.storage},
		{service: "DynamoDB", what: "its history of 35 days", quantity: gigabytes, price: p.recovery},
	}
}

// partCost returns what a part of the service costs for so many companies.
func partCost(wanted part, companies int, s stack, p prices) float64 {
	activities := slices.DeleteFunc(day(), func(a activity) bool { return a.part != wanted })
	return sum(of(month(activities, float64(companies)*daysAMonth, s, batchingOf(companies, s)), "", p))
}

// of returns the lines of a volume, without empty ones.
func of(v volume, whose string, p prices) []line {
	invocations := 0.0
	for _, n := range v.invocations {
		invocations += n
	}
	lines := []line{
		{service: "API Gateway", what: "requests", quantity: v.requests, price: p.gateway},
		{service: "Lambda", what: "invocations", quantity: invocations, price: p.lambda},
		{service: "Lambda", what: "GB-seconds", quantity: v.gigabyteSeconds, price: p.compute},
		{service: "DynamoDB", what: "read units", quantity: v.read, price: p.read},
		{service: "DynamoDB", what: "write units", quantity: v.written, price: p.written},
		{service: "SQS", what: "requests", quantity: v.queue, price: p.queue},
		{service: "KMS", what: "data keys opened", quantity: v.keys, price: p.keyRequest},
		{service: "CloudWatch", what: "logs", quantity: v.logs, price: p.logged},
		{service: "CloudWatch", what: fmt.Sprintf("logs kept for %d days", logDays), quantity: v.logs * packedLogs * logDays / daysAMonth, price: p.logKept},
		{service: "X-Ray", what: "traces recorded", quantity: v.traces, price: p.trace},
		{service: "Transfer", what: "to the internet", quantity: v.sent, price: p.transfer},
	}
	lines = slices.DeleteFunc(lines, func(l line) bool { return l.quantity == 0 })
	for i := range lines {
		lines[i].what = whose + lines[i].what
	}
	return lines
}

// sum adds up the lines.
func sum(lines []line) (dollars float64) {
	for _, l := range lines {
		dollars += l.dollars()
	}
	return dollars
}
