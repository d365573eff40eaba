package lambdatest_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"orgops/shared/identity/token"
	"orgops/shared/testkit/lambdatest"
)

var (
	limit = flag.Float64("limit", 0, "the maximum ratio of a function's init to hello's; 0: no limit")
	only  = flag.String("only", "", "start only these functions, separated by commas; empty: all")
)

// start holds the measurements of one cold start.
type start struct {
	init, answer     time.Duration
	cpu              time.Duration // of init
	idle, afterwards int           // peak resident memory at the first request for an event, and after the first answer; KiB
}

// BenchmarkColdStart starts every function's program repeatedly under the Runtime API, and hello with them, so that the
// machine's noise affects both. It prints the time of init (from the start of the process to its first request for an
// event) and of the first answer, and the sizes of program and process. A stub stands in for AWS and answers at once.
func BenchmarkColdStart(b *testing.B) {
	folder := b.TempDir()
	payloads := firstEvents(b)
	names := []string{"hello"}
	programs := map[string]string{"hello": compiled(b, "./hello", folder)}
	for _, name := range functions(b) {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), name) {
			continue
		}
		names = append(names, name)
		programs[name] = compiled(b, "../../../functions/"+name+"/lambda", folder)
	}
	keys := newKeys(b)
	secret := secretOf(b, keys)
	cloud := httptest.NewServer(&emptyCloud{secret: secret})
	b.Cleanup(cloud.Close)
	environment := append(functionEnvironment("cold"), "AWS_ENDPOINT_URL="+cloud.URL,
		"ORGOPS_RETRIES_QUEUE="+cloud.URL+"/1/retries", "ORGOPS_RETRIES_DEAD_LETTERS="+cloud.URL+"/1/dead",
		"ORGOPS_SYNCS_QUEUE="+cloud.URL+"/1/syncs", "ORGOPS_SYNCS_DEAD_LETTERS="+cloud.URL+"/1/dead",
		"ORGOPS_NOTICES_QUEUE="+cloud.URL+"/1/notices", "ORGOPS_NOTICES_DEAD_LETTERS="+cloud.URL+"/1/dead")
	seen := map[string][]start{}
	for b.Loop() {
		for _, name := range names {
			payload := strings.ReplaceAll(payloads[name], "${token}", bearerOf(b, keys, name))
			seen[name] = append(seen[name], once(b, programs[name], environment, []byte(payload)))
		}
	}
	b.ReportMetric(0, "ns/op") // hidden: a total over all programs means nothing
	report(b, names, programs, seen)
}

// once starts a program, measures it, and stops it after its first answer.
func once(b *testing.B, program string, environment []string, payload []byte) start {
	b.Helper()
	f := lambdatest.Start(b, program, environment...)
	defer f.Stop()
	s := start{init: f.Init(), cpu: f.CPU(b), idle: f.PeakMemory(b)}
	begun := time.Now()
	switch r := f.Invoke(b, payload); {
	case strings.Contains(r.Error, "the company has no key"): // the stub holds no keys, which the ticker's canary needs
	case r.Failed:
		b.Fatalf("%s: %s", program, r.Error)
	}
	s.answer, s.afterwards = time.Since(begun), f.PeakMemory(b)
	return s
}

// compiled builds a program of this module for this machine, and returns its path.
func compiled(b *testing.B, pkg, into string) string {
	b.Helper()
	program := filepath.Join(into, strings.ReplaceAll(strings.Trim(pkg, "./"), "/", "-"))
	if err := lambdatest.Compile(b.Context(), "", pkg, program); err != nil {
		b.Fatal(err)
	}
	return program
}

// firstEvents returns a sample event for each function.
func firstEvents(b *testing.B) map[string]string {
	b.Helper()
	all := map[string]string{"hello": "{}"}
	for _, sample := range []string{
		"auth/login-ok", "authorizer/good-token", "console/page", "dispatcher/memory-insert", "executives/list", "inbound/github-issue-opened", "integrations/list",
		"intelligence/context", "mcp/list-tools", "memory/list", "missioncontrol/health", "notifier/job", "operations/decisions", "projector/memory-insert", "provisioner/company",
		"retrier/job", "rotator/finish-secret", "sso/start", "syncer/job", "ticker/minute",
	} {
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(sample)+".json"))
		if err != nil {
			b.Fatal(err)
		}
		all[filepath.Dir(sample)] = string(text)
	}
	return all
}

// bearerOf returns a token of the samples' company for a function. The MCP endpoint takes tokens of its own.
func bearerOf(b *testing.B, keys token.KeySet, function string) string {
	b.Helper()
	claims := token.Claims{Subject: "user", Company: sampleCompany, Plan: "free", Scopes: []string{
		"integrations:read", "intelligence:read", "memory:read", "mission-control:read", "operations:read", "executives:read",
	}}
	if function == "mcp" {
		claims.Resource = token.MCPResource(issuer, sampleCompany)
	}
	return tokenFor(b, keys, claims)
}

// emptyCloud emulates an AWS account that holds only a secret.
type emptyCloud struct{ secret string }

func (c *emptyCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	switch r.Header.Get("X-Amz-Target") {
	case "secretsmanager.GetSecretValue":
		fmt.Fprintf(w, `{"SecretString": %s, "VersionId": "one"}`, strconv.Quote(c.secret))
	case "secretsmanager.DescribeSecret":
		fmt.Fprint(w, `{"RotationEnabled": true, "VersionIdsToStages": {"2f0c9c2e-8b5d-4a0e-9f66-0d7f3f1f4a11": ["AWSCURRENT"]}}`)
	default:
		fmt.Fprint(w, "{}")
	}
}

func report(b *testing.B, names []string, programs map[string]string, seen map[string][]start) {
	b.Helper()
	duration := func(name string, share float64, of func(start) time.Duration) time.Duration {
		all := make([]time.Duration, 0, len(seen[name]))
		for _, s := range seen[name] {
			all = append(all, of(s))
		}
		slices.Sort(all)
		return all[min(int(share*float64(len(all))), len(all)-1)]
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	init := func(s start) time.Duration { return s.init }
	cpu := func(s start) time.Duration { return s.cpu }
	hello := duration("hello", 0.5, init)
	table := &strings.Builder{}
	w := tabwriter.NewWriter(table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "function\tinit ms\tp90\tof hello's\tCPU ms\tof hello's\tfirst answer ms\tboth ms\tRSS MiB\tafter\tMB\t")
	for _, name := range names {
		var idle, afterwards int
		for _, s := range seen[name] {
			idle, afterwards = max(idle, s.idle), max(afterwards, s.afterwards)
		}
		info, err := os.Stat(programs[name])
		if err != nil {
			b.Fatal(err)
		}
		median := duration(name, 0.5, init)
		ratio := float64(median) / float64(hello)
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t\n", name, ms(median), ms(duration(name, 0.9, init)), ratio,
			ms(duration(name, 0.5, cpu)), float64(duration(name, 0.5, cpu))/float64(duration("hello", 0.5, cpu)),
			ms(duration(name, 0.5, func(s start) time.Duration { return s.answer })),
			ms(duration(name, 0.5, func(s start) time.Duration { return s.init + s.answer })),
			float64(idle)/1024, float64(afterwards)/1024, float64(info.Size())/1e6)
		if *limit > 0 && ratio > *limit {
			b.Errorf("%s: init takes %.2f times hello's, want at most %.2f", name, ratio, *limit)
		}
	}
	w.Flush()
	// Not b.Log, which truncates the table.
	fmt.Printf("\n%d starts of each on %s/%s; medians unless noted\n%s", len(seen["hello"]), runtime.GOOS, runtime.GOARCH, table)
}
