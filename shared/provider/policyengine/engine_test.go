package policyengine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// request is permitted by the default policies.
func request() policy.Request {
	return policy.Request{
		Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: "goal.update",
		Resource: timeline.Reference{Type: "goal", ID: "g"},
		Context:  policy.Context{Kind: "github", Permissions: []string{"goal.update"}, Port: "goal.update", Enabled: true, Certified: true},
		Item:     policy.Item{Provider: "github", ExternalID: "7", Title: "Ship the beta", State: "open", Percent: 40},
		Payload:  map[string]any{"title": "Ship the beta", "progress": 0.4},
	}
}

func statement(text string) policy.Statement {
	return policy.Statement{ID: "own", Mode: policy.Enforce, Text: text}
}

func TestEngine_Decide(t *testing.T) {
	t.Parallel()
	e, a := policyengine.New(func() time.Time { return now }), store.For(webtest.OpenStore(t), "a")
	one, err := e.Decide(t.Context(), a, request())
	errtest.Must(t, err)
	other, err := e.Decide(t.Context(), a, request())
	errtest.Must(t, err)
	if one.Verdict != policy.Permitted {
		t.Errorf("verdict = %s, want %s", one.Verdict, policy.Permitted)
	}
	if len(one.ID) != 36 {
		t.Errorf("id = %q, want a UUID", one.ID)
	}
	if one.ID == other.ID {
		t.Errorf("two decisions have the id %s", one.ID)
	}
}

// What the schema does not have gets an error instead of a verdict, which the caller treats as denied.
func TestEngine_Decide_Unknown(t *testing.T) {
	t.Parallel()
	a := store.For(webtest.OpenStore(t), "a")
	for name, change := range map[string]func(*policy.Request){
		"principal": func(r *policy.Request) { r.Principal.Type = "stranger" },
		"action":    func(r *policy.Request) { r.Action = "memory.destroy" },
		"port":      func(r *policy.Request) { r.Action = "inbound.receive" },
		"resource":  func(r *policy.Request) { r.Resource.Type = "company" },
	} {
		r := request()
		change(&r)
		if d, err := policyengine.New(time.Now).Decide(t.Context(), a, r); err == nil {
			t.Errorf("%s: verdict = %s, want an error", name, d.Verdict)
		}
	}
}

// An action that JSON cannot express has no digest, so that no approval could be bound to it.
func TestEngine_Decide_NoDigest(t *testing.T) {
	t.Parallel()
	set, err := policyengine.Compile([]policy.Statement{statement(
		`@approval("agree") forbid (principal, action, resource) unless { context.approval == context.digest };`)})
	errtest.Must(t, err)
	r := request()
	r.Payload = math.NaN()
	if d, err := set.Decide("a", r, now); err == nil {
		t.Errorf("verdict = %s, want an error", d.Verdict)
	}
}

// Where no policy asks for an approval, the digest is not computed. It still never equals an absent approval.
func TestEngine_Decide_Unidentified(t *testing.T) {
	t.Parallel()
	set, err := policyengine.Compile([]policy.Statement{statement(
		`forbid (principal, action, resource) unless { context.approval == context["\u{64}igest"] };`)})
	errtest.Must(t, err)
	d, err := set.Decide("a", request(), now)
	errtest.Must(t, err)
	if d.Verdict != policy.Denied {
		t.Errorf("verdict = %s, want %s", d.Verdict, policy.Denied)
	}
}

// The digest depends on every part of the action, and not on the order of members or on how a number is written.
func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(company string, r policy.Request) string {
		d, err := policyengine.Digest(company, r)
		errtest.Must(t, err)
		return d
	}
	first := digest("a", request())
	if want := "RultgcKdP2HSt33qFlwwlDjpT48eqnRGFxH-2etK5WM"; first != want {
		t.Errorf("digest = %s, want %s, the SHA-256 of the canonical JSON", first, want)
	}
	for name, change := range map[string]func(*policy.Request){
		"principal": func(r *policy.Request) { r.Principal.ID = "feed" },
		"action":    func(r *policy.Request) { r.Action = "memory.upsert" },
		"resource":  func(r *policy.Request) { r.Resource.ID = "h" },
		"payload":   func(r *policy.Request) { r.Payload = map[string]any{"title": "Ship the beta", "progress": 0.5} },
	} {
		r := request()
		change(&r)
		if got := digest("a", r); got == first {
			t.Errorf("%s: the digest did not change", name)
		}
	}
	if got := digest("b", request()); got == first {
		t.Error("another company: the digest did not change")
	}
	same := request()
	same.Payload = struct {
		Title    string  `json:"title"`
		Progress float64 `json:"progress"`
	}{"Ship the beta", 4e-1}
	if got := digest("a", same); got != first {
		t.Errorf("the same action in another order: digest = %s, want %s", got, first)
	}
}

// The set's digest depends on ids, modes and texts, and not on their order.
func TestCompile_Digest(t *testing.T) {
	t.Parallel()
	const permit = "permit (principal, action, resource);"
	a, b := policy.Statement{ID: "a", Mode: policy.Enforce, Text: permit}, policy.Statement{ID: "b", Mode: policy.Enforce, Text: permit}
	digest := func(all ...policy.Statement) string {
		set, err := policyengine.Compile(all)
		errtest.Must(t, err)
		return set.Digest()
	}
	first := digest(a, b)
	if got := digest(b, a); got != first {
		t.Errorf("in another order: digest = %s, want %s", got, first)
	}
	shadowed, spaced, renamed := b, b, b
	shadowed.Mode, spaced.Text, renamed.ID = policy.LogOnly, permit+" ", "c"
	for name, other := range map[string]policy.Statement{"mode": shadowed, "text": spaced, "id": renamed} {
		if got := digest(a, other); got == first {
			t.Errorf("another %s: the digest did not change", name)
		}
	}
	if got := digest(a); got == first {
		t.Error("one policy less: the digest did not change")
	}
}

func TestCompile_Refused(t *testing.T) {
	t.Parallel()
	const permit = "permit (principal, action, resource);"
	for name, all := range map[string][]policy.Statement{
		"not Cedar":          {statement("permit")},
		"no policy":          {statement("// nothing")},
		"two in one text":    {statement(permit + permit)},
		"an id twice":        {statement(permit), statement(permit)},
		"a default's id":     {{ID: "principal-enabled", Mode: policy.Enforce, Text: permit}},
		"too long":           {statement(permit + strings.Repeat(" ", policy.MaxText))},
		"too many brackets":  {statement("permit (principal, action, resource) when { " + strings.Repeat("(", 400) + "true" + strings.Repeat(")", 400) + " };")},
		"brackets in a text": {statement(`permit (principal, action, resource) when { "` + strings.Repeat("[", 400) + `" == "" };`)},
	} {
		if _, err := policyengine.Compile(all); err == nil {
			t.Errorf("%s: compiled, want an error", name)
		}
	}
}

// FuzzCompile gives the engine any text as a policy. The engine must not panic, and a policy that cannot be evaluated must
// deny.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`permit (principal, action, resource);`, `forbid (principal, action, resource) when { resource.percent * 9223372036854775807 > 0 };`,
		`@approval("x") forbid (principal, action in [Action::"goal.update"], resource) unless { context.approval == context.digest };`,
		`forbid (principal, action, resource) when { resource.title like "S*" && [1, "a"].contains(resource["nothing"]) };`,
		`forbid (principal is Integration in User::"x", action, resource) when { if principal has kind then ip("1.2.3.4").isLoopback() else {a: 1}.a < -1 };`,
		`permit (principal, action, resource) when { decimal("x").lessThan(decimal("1.0")) || datetime("2024-01-01") < context.now };`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := policyengine.Compile([]policy.Statement{statement(text)})
		if err != nil {
			return
		}
		d, err := set.Decide("a", request(), now)
		errtest.Must(t, err)
		for _, reason := range d.Reasons {
			if strings.Contains(reason, "could not be evaluated") && d.Verdict != policy.Denied {
				t.Errorf("verdict = %s with %q, want %s", d.Verdict, reason, policy.Denied)
			}
		}
		if len(d.Policies) == 0 {
			t.Errorf("no policy decided %s, though the default policies do", d.Verdict)
		}
	})
}

// hundred returns policies as companies write them, of which a tenth only log. With the seven defaults they are 100.
func hundred() []policy.Statement {
	texts := []string{
		`forbid (principal == Integration::"feed-%d", action, resource is Memory) unless { resource.kind == "issue" };`,
		`@reason("people close goals") forbid (principal, action == Action::"goal.update", resource) when { resource.state == "closed" && resource.title like "Team %d*" };`,
		`@approval("agree") forbid (principal, action in Action::"connector", resource) when { resource.title == "%d" } unless { context.approval == context.digest };`,
		`permit (principal, action, resource) when { principal.certified && principal.kind == "kind-%d" && principal.permissions.contains("goal.update") };`,
		`forbid (principal, action, resource is Goal) when { resource.percent > 100 + %d || resource.externalId like "*/trial/*" };`,
	}
	var all []policy.Statement
	for i := range 93 {
		mode := policy.Enforce
		if i%10 == 0 {
			mode = policy.LogOnly
		}
		all = append(all, policy.Statement{ID: fmt.Sprintf("p%d", i), Mode: mode, Text: fmt.Sprintf(texts[i%len(texts)], i)})
	}
	return all
}

// BenchmarkDecide measures one decision under 100 policies, with the digest of the action.
func BenchmarkDecide(b *testing.B) {
	set, err := policyengine.Compile(hundred())
	errtest.Must(b, err)
	r := request()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := set.Decide("a", r, now); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile measures what a process pays once for each version of a company's 100 policies.
func BenchmarkCompile(b *testing.B) {
	all := hundred()
	for b.Loop() {
		if _, err := policyengine.Compile(all); err != nil {
			b.Fatal(err)
		}
	}
}
