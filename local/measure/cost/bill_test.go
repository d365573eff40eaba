package main

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/metric"
	"orgops/shared/testkit/errtest"
)

func deployed(t *testing.T) stack {
	t.Helper()
	text, err := golden()
	errtest.Must(t, err)
	s, err := readStack(text)
	errtest.Must(t, err)
	return s
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// find returns a line of a bill.
func find(t *testing.T, lines []line, service, what string) line {
	t.Helper()
	for _, l := range lines {
		if l.service == service && l.what == what {
			return l
		}
	}
	t.Fatalf("no line %s: %s", service, what)
	return line{}
}

// TestDay checks that a company's day consists of measured steps by deployed functions.
func TestDay(t *testing.T) {
	s := deployed(t)
	for _, a := range append(day(), always()...) {
		if s.memory[a.function] == 0 {
			t.Errorf("%s: the template has no function %q", a.step, a.function)
		}
		worker, _, is := strings.Cut(a.step, ":")
		if is && worker != a.function {
			t.Errorf("%s: function = %s, want %s", a.step, a.function, worker)
		}
		if a.request == is {
			t.Errorf("%s: request = %t, want %t", a.step, a.request, !is)
		}
		costOf(a.step) // panics for an unknown step
	}
}

func TestBill(t *testing.T) {
	s, p := deployed(t), listPrices()
	// by hand: requests a day × days × price
	requests := 2 + 60 + 40 + 30 + 30 + 20 + 12 + 10 + memoriesIn + syncsAsked
	l := find(t, variable(1000, s, p), "API Gateway", "requests")
	want := float64(requests) * 365 / 12 * 1000
	if !near(l.quantity, want) {
		t.Errorf("%g requests, want %g", l.quantity, want)
	}
	if !near(l.dollars(), want*3.5e-6) {
		t.Errorf("the requests cost %g, want %g", l.dollars(), want*3.5e-6)
	}
	// A hundred times the companies cost about a hundred times as much: the share of changes that share a batch differs.
	few, many := variable(10, s, p), variable(1000, s, p)
	for i := range few {
		if factor := many[i].dollars() / few[i].dollars(); factor < 80 || factor > 120 {
			t.Errorf("%s: %s grows by %g, want 80 to 120", few[i].service, few[i].what, factor)
		}
	}
	for _, l := range append(fixed(s, p), many...) {
		for name, n := range map[string]float64{"quantity": l.quantity, "cost": l.dollars()} {
			if n <= 0 {
				t.Errorf("%s = %g, want more than 0: %+v", name, n, l)
			}
		}
		if !slices.Contains(p.list(), l.price) {
			t.Errorf("the price is not in the list: %+v", l)
		}
	}
	for _, one := range p.list() {
		for name, n := range map[string]float64{"dollars": one.dollars, "per": one.per} {
			if n <= 0 {
				t.Errorf("%s = %g, want more than 0: %+v", name, n, one)
			}
		}
		for name, text := range map[string]string{"unit": one.unit, "source": one.source} {
			if text == "" {
				t.Errorf("a price has no %s: %+v", name, one)
			}
		}
	}
	if got, want := firewall(1000, s, p), 9+l.quantity*0.6e-6; !near(got, want) {
		t.Errorf("the firewall costs %g, want %g", got, want)
	}
	if got, want := egress(0, s, p), 2*730*0.05; !near(got, want) {
		t.Errorf("fixed addresses without traffic cost %g, want %g", got, want)
	}
}

// TestMonth computes one activity by hand.
func TestMonth(t *testing.T) {
	v := month([]activity{{step: "retrier: an attempt, failed", times: 2, function: "retrier", ms: 97, messages: 1, sent: 7}}, 1000, stack{
		memory: map[string]float64{"retrier": 512}, traced: map[string]bool{"retrier": true}, reported: true,
	}, batching{})
	want := map[string][2]float64{
		"read":             {v.read, 2000 * 5},
		"written":          {v.written, 2000 * 2},
		"queue":            {v.queue, 2000 * 2}, // the poller's
		"keys":             {v.keys, 2000},
		"requests":         {v.requests, 0},
		"GB-seconds":       {v.gigabyteSeconds, 2000 * 0.1 * 0.5},
		"GB sent":          {v.sent, 2000 * 7e-6},
		"GB of logs":       {v.logs, 2000 * 1.2e-6},
		"traces":           {v.traces, 2000},
		"traces of many":   {defaultSampling().of(10e6), 2_628_000 + 0.05*(10e6-2_628_000)},
		"traces by share":  {sampling{ofOthers: 0.05}.of(10e6), 0.05 * 10e6},
		"kB for a company": {stored(), 150*(0.8+0.7)*365/12 + 150*1*30 + 100*0.4*7 + 24*(0.7+0.6)*365/12 + 2*0.5*365/12},
	}
	for what, n := range want {
		if !near(n[0], n[1]) {
			t.Errorf("%s = %g, want %g", what, n[0], n[1])
		}
	}
}

// TestBatching computes shares of batches by hand.
func TestBatching(t *testing.T) {
	s := stack{windows: map[string]float64{projecting: 2}}
	alone, busy := batchingOf(0, s), batching{window: 2, arrivals: 1.5}
	changes := 0.0
	for _, a := range day() {
		if a.function == projecting {
			changes += a.times
		}
	}
	thousand := batchingOf(1000, s)
	for what, n := range map[string][2]float64{
		"companies in a batch of a shard without load": {alone.perCall, 1},
		"share of a change after 0.5 s, without load":  {alone.shared(0.5), 1},
		"share of a change after 2 s, without load":    {alone.shared(2), 0},
		"share of a change that follows none":          {alone.shared(0), 0},
		"share of a change after 0.5 s, with load":     {busy.shared(0.5), 0.25 + 0.75*0.75}, // 1 of 1+1.5×2 opens a batch
		"folds of 8 changes after 0.5 s, with load":    {busy.folds(activity{after: 0.5}, 8), 8 * (1 - 0.8125)},
		"arrivals of 1,000 companies":                  {thousand.arrivals, 1000 * changes / 86400 / 4},
	} {
		if !near(n[0], n[1]) {
			t.Errorf("%s = %g, want %g", what, n[0], n[1])
		}
	}
	if got, most := thousand.perCall, 1+2*thousand.arrivals; got <= 1 || got >= most {
		t.Errorf("companies in a batch = %g, want more than 1 and less than %g", got, most)
	}
}

// TestParts checks that every activity has a part and that the parts add up to the bill.
func TestParts(t *testing.T) {
	s, p := deployed(t), listPrices()
	for _, a := range day() {
		if !slices.Contains(parts(), a.part) {
			t.Errorf("%s: part = %q, want one of %q", a.step, a.part, parts())
		}
	}
	for _, n := range sizes() {
		got := sum(kept(n, p))
		for _, one := range parts() {
			cost := partCost(one, n, s, p)
			if cost <= 0 {
				t.Errorf("%d companies: %s costs %g, want more than 0", n, one, cost)
			}
			got += cost
		}
		if want := sum(variable(n, s, p)); !near(got, want) {
			t.Errorf("%d companies: the parts cost %g, want %g", n, got, want)
		}
	}
}

// TestBudget checks that 1,000 companies cost at most 150 dollars a month.
func TestBudget(t *testing.T) {
	s, p := deployed(t), listPrices()
	if got := sum(fixed(s, p)) + sum(variable(1000, s, p)); got > 150 {
		t.Errorf("1,000 companies cost %.2f dollars a month, want 150 at most", got)
	}
}

// TestStack counts the paid resources in the deployed template a second time, in another way.
func TestStack(t *testing.T) {
	text, err := golden()
	errtest.Must(t, err)
	s := deployed(t)
	count := func(kind string) int { return strings.Count(string(text), `"Type": "`+kind+`"`) }
	for what, n := range map[string][2]int{
		"keys": {s.keys, count("AWS::KMS::Key")}, "secrets": {s.secrets, count("AWS::SecretsManager::Secret")},
		"dashboards": {s.dashboards, count("AWS::CloudWatch::Dashboard")}, "functions": {len(s.memory), count("AWS::Lambda::Function")},
		"queues": {s.queues, strings.Count(string(text), `"BatchSize": 10,`)},
	} {
		if n[1] == 0 {
			t.Errorf("no %s in the template, want some", what)
		}
		if n[0] != n[1] {
			t.Errorf("%d %s, want %d", n[0], what, n[1])
		}
	}
	alarms := count("AWS::CloudWatch::Alarm")
	if s.alarms < alarms || s.alarms > 2*alarms {
		t.Errorf("%d metrics in alarms, want %d to %d", s.alarms, alarms, 2*alarms)
	}
	if s.metrics < 10 {
		t.Errorf("%d of the code's metrics, want at least 10", s.metrics)
	}
	own := regexp.MustCompile(`"Namespace": "Orgops",\s`)
	if !own.Match(text) {
		t.Error("no alarm or dashboard reads the code's metrics")
	}
	for _, paid := range []string{`"MetricsEnabled": true`, "dynamodb:Scan", "dynamodb:PartiQL", "AWS::EC2::NatGateway"} {
		if strings.Contains(string(text), paid) {
			t.Errorf("the template has %s, which the bill does not include", paid)
		}
	}
}

func TestReadStack(t *testing.T) {
	s, err := readStack([]byte(`{"Resources": {
		"A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "Errors"}},
		"B": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Metrics": [{"MetricStat": {}}, {"MetricStat": {}}, {"Expression": "a/b"}]}},
		"EventstickerFunction1A": {"Type": "AWS::Lambda::Function", "Properties": {"MemorySize": 256, "LoggingConfig": {"SystemLogLevel": "WARN"}}},
		"ApiauthFunction2B": {"Type": "AWS::Lambda::Function", "Properties": {"MemorySize": 1024, "TracingConfig": {"Mode": "Active"}}},
		"E": {"Type": "AWS::XRay::SamplingRule", "Properties": {"SamplingRule": {"ReservoirSize": 2, "FixedRate": 0.1}}},
		"C": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {
			"EventSourceArn": {"Fn::GetAtt": ["Main", "StreamArn"]}, "FunctionName": {"Ref": "EventsprojectorFunction3C"}, "MaximumBatchingWindowInSeconds": 2}},
		"D": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": {"Fn::GetAtt": ["Jobs", "Arn"]}}}}}`))
	errtest.Must(t, err)
	want := stack{
		alarms: 3, queues: 1, metrics: len(metric.All()) - 5, memory: map[string]float64{"ticker": 256, "auth": 1024},
		traced: map[string]bool{"ticker": false, "auth": true}, sampling: sampling{2, 0.1}, reported: true,
		windows: map[string]float64{"projector": 2},
	}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(s, s.sampling)); diff != "" {
		t.Errorf("stack (-want +got):\n%s", diff)
	}
	if _, err := readStack([]byte("{")); err == nil {
		t.Error("an incomplete template was accepted")
	}
}

// TestRun checks that the printed lines add up.
func TestRun(t *testing.T) {
	var out strings.Builder
	errtest.Must(t, run(&out))
	s, p := deployed(t), listPrices()
	for _, n := range sizes() {
		total := money(sum(fixed(s, p)) + sum(variable(n, s, p)))
		if !strings.Contains(out.String(), " **"+total+"** |") {
			t.Errorf("the sum for %d companies, %s, is not printed", n, total)
		}
	}
	for number, want := range map[float64]string{0.004: "0.004", 12: "12", 12.345: "12.3", 1234.5: "1,234", 1234567: "1,234,567"} {
		if got := grouped(number); got != want {
			t.Errorf("%g is printed as %s, want %s", number, got, want)
		}
	}
	for dollars, want := range map[float64]string{0.346: "0.35", 9.994: "9.99", 12.5: "13", 1785.7: "1,786"} {
		if got := money(dollars); got != want {
			t.Errorf("$%g is printed as %s, want %s", dollars, got, want)
		}
	}
	if got, want := listPrices().compute.String(), "$0.0000133334 for a GB-second"; got != want {
		t.Errorf("price = %q, want %q", got, want)
	}
}
