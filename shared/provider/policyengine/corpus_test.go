package policyengine_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/executive"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// principal describes who asks, in a corpus file.
type principal struct {
	Type        string // integration, if absent
	ID, Kind    string
	Enabled     bool
	Certified   bool
	Permissions []string
}

// sample describes one request and the decision that is expected.
type sample struct {
	Name      string
	Principal string // a name of the file's entities
	Action    string
	Resource  timeline.Reference
	Item      policy.Item
	Port      string // the action, if absent
	Approved  bool   // the exact action has been approved
	Foreign   bool   // another action has been approved
	Want      struct {
		Verdict  policy.Verdict
		Policies []string
		Reasons  []string
		Shadow   *policy.Shadow
	}
}

// corpus holds one file: policies, entities, and requests with the expected decisions.
type corpus struct {
	Stored     string // "refused" if the check refuses to store the policies
	Statements []policy.Statement
	Entities   map[string]principal
	Requests   []sample
}

func (c corpus) request(s sample) policy.Request {
	p := c.Entities[s.Principal]
	port := s.Port
	if port == "" {
		port = s.Action
	}
	asks := p.Type
	if asks == "" {
		asks = integration.Entity
	}
	return policy.Request{
		Principal: timeline.Reference{Type: asks, ID: p.ID}, Action: s.Action, Resource: s.Resource, Item: s.Item, Payload: s.Item,
		Context: policy.Context{Kind: p.Kind, Permissions: p.Permissions, Port: port, Enabled: p.Enabled, Certified: p.Certified},
	}
}

// TestCorpus decides every request of the corpus. It also checks that the schema describes every request, so that a policy
// which passes the check finds every fact that it uses.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/corpus/*.json")
	errtest.Must(t, err)
	if len(files) < 5 {
		t.Fatalf("%d files, want at least 5", len(files))
	}
	valid := validator(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			errtest.Must(t, err)
			var c corpus
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			errtest.Must(t, d.Decode(&c))
			problems, err := policycheck.New().Check("", c.Statements)
			errtest.Must(t, err)
			if got, want := len(problems) > 0, c.Stored == "refused"; got != want {
				t.Errorf("problems of the policies = %v, want some: %t", problems, want)
			}
			for _, s := range c.Requests {
				t.Run(s.Name, func(t *testing.T) { decideSample(t, c, s, valid) })
			}
		})
	}
}

// TestCorpus_Default has a request that each policy of the service decides.
func TestCorpus_Default(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/corpus/*.json")
	errtest.Must(t, err)
	deciding := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		errtest.Must(t, err)
		var c corpus
		errtest.Must(t, json.Unmarshal(text, &c))
		for _, s := range c.Requests {
			for _, id := range s.Want.Policies {
				deciding[id] = true
			}
		}
	}
	policies, err := filepath.Glob("default/*.cedar")
	errtest.Must(t, err)
	for _, file := range policies {
		if id := strings.TrimSuffix(filepath.Base(file), ".cedar"); !deciding[id] {
			t.Errorf("%s decides no request of the corpus, want one", id)
		}
	}
	if len(policies) < 8 {
		t.Errorf("%d policies, want at least 8", len(policies))
	}
}

func decideSample(t *testing.T, c corpus, s sample, valid *validate.Validator) {
	set, err := policyengine.Compile(c.Statements)
	errtest.Must(t, err)
	r := c.request(s)
	request, entities, err := policyengine.Ask(r)
	errtest.Must(t, err)
	errtest.Must(t, valid.Request(request))
	errtest.Must(t, valid.Entities(entities))
	if s.Approved {
		r.Approval, err = policyengine.Digest("a", r)
		errtest.Must(t, err)
	}
	if s.Foreign {
		r.Approval, err = policyengine.Digest("b", r)
		errtest.Must(t, err)
	}
	got, err := set.Decide("a", r, now)
	errtest.Must(t, err)
	want := policy.Decision{
		ID: got.ID, Verdict: s.Want.Verdict, Principal: r.Principal, Action: r.Action, Resource: r.Resource, Policies: s.Want.Policies,
		Reasons: s.Want.Reasons, Shadow: s.Want.Shadow, PolicySet: set.Digest(), At: now,
	}
	if s.Want.Verdict == policy.NeedsApproval {
		want.ActionDigest, err = policyengine.Digest("a", r)
		errtest.Must(t, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decision differs (-want +got):\n%s", diff)
	}
}

// The engine knows every action of the schema, and the schema every action that a connector may ask for.
func TestSchema_Actions(t *testing.T) {
	t.Parallel()
	var s schema.Schema
	errtest.Must(t, s.UnmarshalCedar([]byte(policycheck.Schema)))
	resolved, err := s.Resolve()
	errtest.Must(t, err)
	var known []string
	for uid, a := range resolved.Actions {
		if a.AppliesTo == nil {
			continue
		}
		known = append(known, string(uid.ID))
		r := request()
		r.Action = string(uid.ID)
		_, entities, err := policyengine.Ask(r)
		errtest.Must(t, err)
		if err := validate.New(resolved).Entity(entities[uid]); err != nil {
			t.Errorf("%s: %v", uid, err)
		}
	}
	ways := []integration.Port{integration.EventDeliver, integration.InboundReceive, integration.SyncPull} // in or out, no actions
	all := catalog.All(outbound.New(outbound.Options{}), time.Now)
	for _, provider := range all.Kinds() {
		c, _ := all.Lookup(provider)
		for _, port := range c.Ports(json.RawMessage(`{}`)) {
			if !slices.Contains(ways, port) && !slices.Contains(known, string(port)) {
				t.Errorf("the schema has no action %s, which %s may ask for", port, provider)
			}
		}
	}
	for _, a := range executive.Actions() {
		if !slices.Contains(known, string(a)) {
			t.Errorf("the schema has no action %s, which an executive may ask for", a)
		}
	}
}

func validator(t *testing.T) *validate.Validator {
	t.Helper()
	var s schema.Schema
	errtest.Must(t, s.UnmarshalCedar([]byte(policycheck.Schema)))
	resolved, err := s.Resolve()
	errtest.Must(t, err)
	return validate.New(resolved)
}
