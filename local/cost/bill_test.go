package main

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

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
		if worker, _, is := strings.Cut(a.step, ":"); is && worker != a.function || a.request == is {
			t.Errorf("%s: function is %s and request is %t, which does not fit the step", a.step, a.function, a.request)
		}
		costOf(a.step) // panics for an unknown step
	}
}

func TestBill(t *testing.T) {
	s, p := deployed(t), listPrices()
	// by hand: requests a day × days × price
	requests := 2 + 60 + 40 + 30 + 30 + 20 + 12 + 10 + memoriesIn + syncsAsked
	l := find(t, variable(1000, s, p), "API Gateway", "requests")
	if want := float64(requests) * 365 / 12 * 1000; !near(l.quantity, want) || !near(l.dollars(), want*3.5e-6) {
		t.Errorf("%g requests cost %g, want %g", l.quantity, l.dollars(), want)
	}
	// A hundred times the companies cost a hundred times as much, except for traces, which are sampled.
	few, many := variable(10, s, p), variable(1000, s, p)
	for i := range few {
		factor := many[i].dollars() / few[i].dollars()
		if traces := few[i].service == "X-Ray"; !traces && !near(factor, 100) || traces && factor > 99 {
			t.Errorf("%s: %s grows by %g", few[i].service, few[i].what, factor)
		}
	}
	for _, l := range append(fixed(s, p), many...) {
		if l.quantity <= 0 || l.dollars() <= 0 || !slices.Contains(p.list(), l.price) {
			t.Errorf("%+v", l)
		}
	}
	for _, one := range p.list() {
		if one.dollars <= 0 || one.per <= 0 || one.unit == "" || one.source == "" {
			t.Errorf("%+v", one)
		}
	}
	if got := firewall(1000, s, p); !near(got, 8+l.quantity*0.6e-6) {
		t.Errorf("the firewall costs %g", got)
	}
}

// TestVolume computes one activity by hand.
func TestVolume(t *testing.T) {
	v := month([]activity{{step: "retrier: an attempt, failed", times: 2, function: "retrier", ms: 97, messages: 1, sent: 7}}, 1000, stack{
		memory: map[string]float64{"retrier": 512},
	})
	want := map[string][2]float64{
		"read":             {v.read, 2000 * 5},
		"written":          {v.written, 2000 * 2},
		"queue":            {v.queue, 2000 * (2 + 2)}, // its own two requests, and the poller's two
		"keys":             {v.keys, 2000},
		"requests":         {v.requests, 0},
		"GB-seconds":       {v.gigabyteSeconds, 2000 * 0.1 * 0.5},
		"GB sent":          {v.sent, 2000 * 7e-6},
		"GB of logs":       {v.logs, 2000 * 1.2e-6},
		"traces":           {v.traces, 2000},
		"traces of many":   {traced(10e6), 2_628_000 + 0.05*(10e6-2_628_000)},
		"kB for a company": {stored(), 150*(1.2+0.7)*365/12 + 150*2*30 + 100*0.4*7 + 24*(0.7+0.6)*365/12},
	}
	for what, n := range want {
		if !near(n[0], n[1]) {
			t.Errorf("%s: %g, want %g", what, n[0], n[1])
		}
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
		if n[0] == 0 || n[0] != n[1] {
			t.Errorf("%d %s, want %d", n[0], what, n[1])
		}
	}
	if s.alarms < count("AWS::CloudWatch::Alarm") || s.alarms > 2*count("AWS::CloudWatch::Alarm") || s.metrics < 10 {
		t.Errorf("%d metrics in %d alarms, %d of the code's", s.alarms, count("AWS::CloudWatch::Alarm"), s.metrics)
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
		"EventstickerFunction1A": {"Type": "AWS::Lambda::Function", "Properties": {"MemorySize": 256}},
		"C": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": {"Fn::GetAtt": ["Main", "StreamArn"]}}},
		"D": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": {"Fn::GetAtt": ["Jobs", "Arn"]}}}}}`))
	if err != nil || s.alarms != 3 || s.queues != 1 || s.memory["ticker"] != 256 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := readStack([]byte("{")); err == nil {
		t.Error("an incomplete template was accepted")
	}
}

// TestPrint checks that the printed lines add up.
func TestPrint(t *testing.T) {
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
			t.Errorf("%g is printed as %s", number, got)
		}
	}
	for dollars, want := range map[float64]string{0.346: "0.35", 9.994: "9.99", 12.5: "13", 1785.7: "1,786"} {
		if got := money(dollars); got != want {
			t.Errorf("$%g is printed as %s", dollars, got)
		}
	}
	if got := listPrices().compute.String(); got != "$"+strconv.FormatFloat(0.0000133334, 'f', -1, 64)+" for a GB-second" {
		t.Errorf("got %s", got)
	}
}
