package restore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/command/restore"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/export"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/suspension"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// source makes a suspended company with items of each kind, and returns its id and its export.
func source(t *testing.T) (id string, file []byte) {
	t.Helper()
	st, now := webtest.OpenStore(t), time.Now()
	made, err := company.Provision(t.Context(), st, password.New(), company.New{Name: "Acme", Email: "ada@acme.test", Plan: "pro"}, now)
	errtest.Must(t, err)
	c := store.For(st, made.CompanyID)
	put := func(key, entity string, body any) {
		errtest.Must(t, c.Commit(t.Context(), c.Create(key, entity, body)))
	}
	at := now.UTC().Truncate(time.Second)
	for _, provider := range []string{"webhook", "feed"} {
		i := integration.Integration{Provider: provider, Kind: provider, State: integration.Certified, Enabled: true, Config: json.RawMessage(`{}`)}
		if provider == "webhook" {
			i.SecretAt = &at
		}
		put(integration.Key(provider), integration.Entity, i)
	}
	facts := projection.Empty(c.ID())
	facts.ContextVersion, facts.Applied, facts.Integrations["webhook"] = 7, "999", projection.Integration{Enabled: true}
	put(projection.Key, projection.Entity, facts)
	special := []string{company.Entity, user.Entity, integration.Entity, projection.Entity}
	for _, k := range export.Kinds() {
		if k.Not != "" || slices.Contains(special, k.Entity) {
			continue
		}
		var ops []store.Op
		for n := range 30 {
			key, names := keyed(k.Entity, n)
			body := json.RawMessage(`{"title":"<&>",` + names + `"note":"` + strings.Repeat("x", 9000) + `"}`)
			if k.Entity == integration.ManifestEntity {
				ops = append(ops, c.Create(key, k.Entity, described("kind"+of(n))))
				break
			}
			if ops = append(ops, c.Create(key, k.Entity, body)); !strings.Contains(key, of(n)) {
				break
			}
		}
		errtest.Must(t, c.Commit(t.Context(), ops...))
	}
	errtest.Must(t, c.Commit(t.Context(), c.Create("RECEIPT#feed#"+sum("expires"), "receipt", struct{}{}).Until(now.Add(time.Hour))))
	_, err = suspension.Suspend(t.Context(), c, "it moves", now)
	errtest.Must(t, err)
	return c.ID(), exported(t, c)
}

// described returns the body of a stored manifest. Each edit replaces a text of the manifest.
func described(kind string, edits ...string) json.RawMessage {
	raw := json.RawMessage(`{"kind":"` + kind + `","title":"Tickets","description":"Tickets.","base":"https://api.example.com",` +
		`"streams":[{"name":"tickets","request":{},"records":"/data","item":{"target":"memory","id":"/id","title":"/id"}}]}`)
	body, err := json.Marshal(integration.StoredManifest{Kind: kind, Manifest: raw, Digest: connector.Digest(raw)})
	if err != nil {
		panic(err)
	}
	return json.RawMessage(strings.NewReplacer(edits...).Replace(string(body)))
}

// of returns what names an nth item.
func of(n int) string { return fmt.Sprintf("%02d", n) }

// sum returns a SHA-256 as keys have it, with what it is of at its begin.
func sum(of string) string {
	return of + base64.RawURLEncoding.EncodeToString(make([]byte, sha256.Size))[len(of):]
}

// keyed returns the key of an entity's nth item, and the members of its body that name it. Of some entities there is one.
func keyed(entity string, n int) (key, names string) {
	of := of(n)
	one := map[string]string{"policies": "POLICIES", "sso": "SSO", "mapping": "MAPPING#webhook", "certification": "CERTIFICATION#feed"}
	if key, ok := one[entity]; ok {
		return key, ""
	}
	switch entity {
	case "receipt":
		if n%2 == 0 { // of release 0.1.0
			return arrival.ReceiptKey(arrival.Owner{Provider: "webhook"}, sum(of), true), ""
		}
		return arrival.RefusedKey(arrival.Owner{Provider: "feed", Incarnation: id.Of("incarnation")}, sum(of)), ""
	case "manifest":
		return "MANIFEST#kind" + of, `"kind":"kind` + of + `",`
	case "inbox":
		return "INBOX#webhook#" + of, `"id":"` + of + `",`
	case "noted":
		return "NOTED#webhook#00000000-0000-8000-8000-0000000000" + of, ""
	case "delivery":
		if n%2 == 0 { // in the form of release 0.1.0
			return "DELIVERY#" + of + "#webhook", `"eventId":"` + of + `","endpoint":"webhook",`
		}
		return "DELIVERY#" + of + "#webhook", `"head":{"id":"` + of + `","endpoint":"webhook"},`
	case "executive-action":
		return "EXECUTIVEACTION#chief#" + of, `"executive":{"type":"executive","id":"chief"},"id":"` + of + `",`
	case "notice-preferences":
		return "NOTICEPREFS#00000000-0000-7000-8000-0000000000" + of, ""
	case "goal-history":
		return "GOALHISTORY#00000000-0000-8000-8000-0000000000" + of, ""
	case "goal-explanation":
		return "EXPLANATION#" + of, `"goalId":"` + of + `",`
	}
	return strings.ToUpper(entity) + "#" + of, `"id":"` + of + `",`
}

// exported returns an export of all pages.
func exported(t *testing.T, c store.Company) (file []byte) {
	t.Helper()
	for after, first := "", true; first || after != ""; first = false {
		lines, next, err := export.Page(t.Context(), c, after)
		errtest.Must(t, err)
		file, after = append(file, lines...), next
	}
	return file
}

// content returns what an export has of each item: all but the versions and the times of its writes, which begin again.
func content(t *testing.T, file []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for text := range bytes.Lines(file) {
		var l export.Line
		errtest.Must(t, json.Unmarshal(text, &l))
		if l.Key != "" {
			all[l.Key] = fmt.Sprintf("%s %v %s", l.Entity, l.Expires, l.Body)
		}
	}
	return all
}

// TestCompany makes a company equal to the exported one. An integration that lacks its secrets is disabled; its users get a
// password from the operator.
func TestCompany(t *testing.T) {
	t.Parallel()
	id, file := source(t)
	st, now := webtest.OpenStore(t), time.Now()
	got, err := restore.Company(t.Context(), st, bytes.NewReader(file), now, nil)
	errtest.Must(t, err)
	want := content(t, file)
	if diff := cmp.Diff(restore.Restored{
		CompanyID: id, Name: "Acme", Plan: "free", Changed: []string{"the plan is free instead of pro; the operator sets another"}, Items: len(want), NeedPassword: []string{"ada@acme.test"}, NeedSecrets: []string{"webhook"},
	}, got); diff != "" {
		t.Errorf("result differs (-want +got):\n%s", diff)
	}
	c := store.For(st, id)
	again := content(t, exported(t, c))
	var webhook integration.Integration
	_, err = c.Get(t.Context(), integration.Key("webhook"), &webhook)
	errtest.Must(t, err)
	if got := webhook.Disabled.Reason; got != integration.DisabledImported {
		t.Errorf("webhook is disabled because %q, want %q", got, integration.DisabledImported)
	}
	moved, _, err := projection.Load(t.Context(), c)
	errtest.Must(t, err)
	if got := [2]any{moved.Integrations["webhook"].Enabled, string(moved.Applied)}; got != [2]any{false, ""} {
		t.Errorf("context has enabled and position %v, want false and none", got)
	}
	want[company.Key] = strings.Replace(want[company.Key], `"plan":"pro"`, `"plan":"free"`, 1) // an export sets no plan
	for _, differs := range []string{integration.Key("webhook"), projection.Key} {
		delete(want, differs)
		delete(again, differs)
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("export of the import differs (-want +got):\n%s", diff)
	}
	errtest.Must(t, user.Halted(t.Context(), store.For(st, "other")))
	if user.Halted(t.Context(), c) == nil {
		t.Error("the company is not suspended, want it as it was")
	}
	_, err = company.SetPassword(t.Context(), st, password.New(), "ada@acme.test", "", now)
	errtest.Must(t, err)
	if _, err := restore.Company(t.Context(), st, bytes.NewReader(file), now, nil); err == nil {
		t.Error("a second import succeeds, want it refused")
	}
}

// TestCompany_Settled leaves nothing of an import waiting for what no export has: the deliveries of a line are held, so that a recovery sends
// them in their order, a recovery and a sync run end, and the context agrees. An approval that waits stands for a further request.
func TestCompany_Settled(t *testing.T) {
	t.Parallel()
	st, now := webtest.OpenStore(t), time.Now().UTC()
	made, err := company.Provision(t.Context(), st, password.New(), company.New{Name: "Acme", Email: "ada@acme.test"}, now)
	errtest.Must(t, err)
	c := store.For(st, made.CompanyID)
	lines := delivery.NewLines(c)
	var ops []store.Op
	var keys []string
	var changes []store.Change
	put := func(op store.Op) {
		ops = append(ops, op)
		changes = append(changes, store.Change{
			Company: c.ID(), Entity: op.Entity, Key: op.Key, At: now, New: &store.Image{Body: op.Body, Version: 1}, Sequence: store.Sequence(fmt.Sprint(len(changes) + 1)),
		})
	}
	for n := range 3 {
		at := now.Add(time.Duration(n-10) * time.Second)
		d := delivery.Delivery{Head: delivery.Head{EventID: id.At(at, of(n)), Endpoint: "webhook", CreatedAt: at, Line: "MEMORY#1"}, Payload: json.RawMessage(`{"a":"b"}`)}
		errtest.Must(t, lines.Join(t.Context(), &d, now))
		put(d.Save(c, 0))
		keys = append(keys, delivery.Key(d.EventID, d.Endpoint))
	}
	rec := recovery.Recovery{ID: id.New(), Provider: "webhook", Since: now.Add(-time.Hour), Until: now, State: recovery.Requested, RequestedAt: now}
	put(rec.Request(c, ""))
	run := syncrun.StoredRun{Run: syncrun.Run{ID: id.New(), Provider: "feed", Mode: syncrun.Live, State: syncrun.Running, RequestedAt: now, StartedAt: &now}}
	put(c.Create(syncrun.Key(run.ID), syncrun.Entity, run))
	asked := approval.Approval{ID: id.New(), State: approval.Pending, Digest: "digest", RequestedAt: now, ExpiresAt: now.Add(approval.Waits)}
	put(c.Create(approval.Key(asked.ID), approval.Entity, asked))
	facts, _, failed := projection.Fold(projection.Empty(c.ID()), changes)
	errtest.Must(t, failed.Err())
	body, err := projection.Encode(facts)
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), append(ops, c.Create(projection.Key, projection.Entity, body))...))

	other := webtest.OpenStore(t)
	_, err = restore.Company(t.Context(), other, bytes.NewReader(exported(t, c)), now, nil)
	errtest.Must(t, err)
	c = store.For(other, c.ID())
	all := recovery.Stored{Recovery: rec}
	for _, key := range keys {
		var d delivery.Delivery
		_, err := c.Get(t.Context(), key, &d)
		errtest.Must(t, err)
		if got := [3]any{d.State, d.HeldBecause, string(d.Payload)}; got != [3]any{delivery.Held, delivery.HeldLine, `{"a":"b"}`} {
			t.Errorf("delivery is %v, want held with its payload", got)
		}
		if !all.Includes(d, now) {
			t.Error("a recovery of the window leaves the delivery out")
		}
	}
	var ended recovery.Stored
	_, err = c.Get(t.Context(), recovery.Key(rec.ID), &ended)
	errtest.Must(t, err)
	if ended.State != recovery.Finished {
		t.Errorf("recovery is %q, want it finished", ended.State)
	}
	var cancelled syncrun.StoredRun
	_, err = c.Get(t.Context(), syncrun.Key(run.ID), &cancelled)
	errtest.Must(t, err)
	if cancelled.State != syncrun.Cancelled {
		t.Errorf("run is %q, want it cancelled", cancelled.State)
	}
	is, _, err := projection.Load(t.Context(), c)
	errtest.Must(t, err)
	e := is.Deliveries.Endpoints["webhook"]
	if got := [4]any{e.Pending, e.Held.Total(), is.Syncs["feed"].State, string(is.Applied)}; got != [4]any{0, 3, syncrun.Cancelled, ""} {
		t.Errorf("context has %v pending, %v held, a sync that is %v and the position %q, want 0, 3, cancelled and none", got[0], got[1], got[2], got[3])
	}
	mark, _, err := approval.FindMark(t.Context(), c, asked.Digest)
	errtest.Must(t, err)
	if mark.ID != asked.ID {
		t.Errorf("mark leads to %q, want the approval that waits", mark.ID)
	}
}

// TestCompany_Refused writes nothing of a file that is damaged or not complete.
func TestCompany_Refused(t *testing.T) {
	t.Parallel()
	_, file := source(t)
	lines := slices.Collect(bytes.Lines(file))
	join := func(parts ...[][]byte) []byte { return bytes.Join(slices.Concat(parts...), nil) }
	end := slices.IndexFunc(lines, func(l []byte) bool { return bytes.HasPrefix(l, []byte(`{"page"`)) })
	tests := []struct {
		name, want string
		file       []byte
	}{
		{"empty", "ends after line 0", nil},
		{"cut off in a line", "is no line of an export", file[:len(file)/2]},
		{"without the last page's end", "before its last page does", join(lines[:len(lines)-1])},
		{"without the first page", "a page is missing", join(lines[end+1:])},
		{"without an item", "its end counts", join(lines[:3], lines[4:])},
		{"a changed item", "the page is damaged", bytes.Replace(file, []byte("xxxx"), []byte("yxxx"), 1)},
		{"an item twice", "does not follow", join(lines[:3], lines[2:])},
		{"two exports", "comes after the end", join(lines, lines)},
		{"a login", "is not exported", append([]byte(`{"entity":"login","key":"A","body":{}}`+"\n"), file...)},
		{"an unknown member", "unknown field", bytes.Replace(file, []byte(`{"entity"`), []byte(`{"x":1,"entity"`), 1)},
		{"a body that is no object", "no JSON object", append([]byte(`{"entity":"goal","key":"A","body":[]}`+"\n"), file...)},
		{"a line without end", "is longer than", bytes.Repeat([]byte("x"), 500<<10)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, tt.file, tt.want)
		})
	}
}

// wantRefused checks that an import of a file writes nothing and says why.
func wantRefused(t *testing.T, file []byte, want string) {
	t.Helper()
	st := &failing{Store: webtest.OpenStore(t)}
	_, err := restore.Company(t.Context(), st, bytes.NewReader(file), time.Now(), nil)
	if got := errtest.Message(err); !strings.Contains(got, want) {
		t.Errorf("err = %q, want one with %q", got, want)
	}
	if st.commits > 0 {
		t.Errorf("%d commits, want none", st.commits)
	}
}

// failing is a store whose commits fail from a number on.
type failing struct {
	store.Store
	commits, left int
	limited       bool
}

var errKilled = errors.New("killed")

func (s *failing) Commit(ctx context.Context, ops ...store.Op) error {
	if s.limited && s.left == 0 {
		return errKilled
	}
	s.commits, s.left = s.commits+1, s.left-1
	return s.Store.Commit(ctx, ops...)
}

// TestCompany_Interrupted imports until it is killed, again and again. The company does not exist until the last commit, and is
// complete then.
func TestCompany_Interrupted(t *testing.T) {
	t.Parallel()
	id, file := source(t)
	st := &failing{Store: webtest.OpenStore(t), limited: true}
	kills := 0
	for {
		st.left = 1
		_, err := restore.Company(t.Context(), st, bytes.NewReader(file), time.Now(), nil)
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if _, _, err := company.Get(t.Context(), store.For(st, id)); err == nil {
			t.Error("the company exists before the import has ended")
		}
		kills++
	}
	if kills < 3 {
		t.Errorf("%d kills, want at least 3", kills)
	}
	if most := kills + 1; st.commits > most {
		t.Errorf("%d commits, want %d: each goes on where the one before has stopped", st.commits, most)
	}
	if got, want := len(content(t, exported(t, store.For(st, id)))), len(content(t, file)); got != want {
		t.Errorf("%d items, want %d", got, want)
	}
}

// stopped is a file that is stopped being read while its first part is.
type stopped struct {
	io.ReadSeeker

	stop  func()
	reads int
}

func (s *stopped) Read(p []byte) (int, error) {
	s.stop()
	s.reads++
	return s.ReadSeeker.Read(p)
}

// TestCompany_Stopped ends an import that is stopped before its first write.
func TestCompany_Stopped(t *testing.T) {
	t.Parallel()
	_, file := source(t)
	ctx, stop := context.WithCancel(t.Context())
	from := &stopped{ReadSeeker: bytes.NewReader(file), stop: stop}
	if _, err := restore.Company(ctx, webtest.OpenStore(t), from, time.Now(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if from.reads > 1 {
		t.Errorf("%d reads of the file, want the one during which it was stopped", from.reads)
	}
}

// TestCompany_Other refuses another file for a company whose import has begun.
func TestCompany_Other(t *testing.T) {
	t.Parallel()
	_, file := source(t)
	st := &failing{Store: webtest.OpenStore(t), limited: true, left: 1}
	if _, err := restore.Company(t.Context(), st, bytes.NewReader(file), time.Now(), nil); !errors.Is(err, errKilled) {
		t.Fatalf("err = %v, want %v", err, errKilled)
	}
	st.limited = false
	other := edited(t, file, func(l export.Line) []export.Line {
		if l.Entity == "timeline" {
			return nil
		}
		return []export.Line{l}
	})
	_, err := restore.Company(t.Context(), st, bytes.NewReader(other), time.Now(), nil)
	if got := errtest.Message(err); !strings.Contains(got, "another file") {
		t.Errorf("err = %v, want one about another file", err)
	}
}

// TestCompany_Addresses imports a company whose founder has a login of another company, and leaves that login as it is.
func TestCompany_Addresses(t *testing.T) {
	t.Parallel()
	_, file := source(t)
	st := &failing{Store: webtest.OpenStore(t)}
	p, err := company.Provision(t.Context(), st.Store, password.New(), company.New{Name: "Other", Email: "ada@acme.test"}, time.Now())
	errtest.Must(t, err)
	before, err := st.Get(t.Context(), store.Login("ada@acme.test"), user.LoginKey(p.CompanyID))
	errtest.Must(t, err)
	_, err = restore.Company(t.Context(), st, bytes.NewReader(file), time.Now(), nil)
	errtest.Must(t, err)
	after, err := st.Get(t.Context(), store.Login("ada@acme.test"), user.LoginKey(p.CompanyID))
	errtest.Must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("login differs (-before +after):\n%s", diff)
	}
}

// edited returns a test's export with lines changed, whose pages end as they do in an export.
func edited(t *testing.T, file []byte, edit func(export.Line) []export.Line) []byte {
	t.Helper()
	var out bytes.Buffer
	var page []byte
	items := 0
	for text := range bytes.Lines(file) {
		var l struct {
			export.Line
			Page *export.PageEnd `json:"page"`
		}
		errtest.Must(t, json.Unmarshal(text, &l))
		if l.Page != nil {
			sum := sha256.Sum256(page)
			l.Page.Items, l.Page.SHA256 = items, hex.EncodeToString(sum[:])
			end, err := json.Marshal(export.Trailer{Page: *l.Page})
			errtest.Must(t, err)
			out.Write(append(append(page, end...), '\n'))
			page, items = nil, 0
			continue
		}
		for _, one := range edit(l.Line) {
			line, err := json.Marshal(one)
			errtest.Must(t, err)
			page, items = append(append(page, line...), '\n'), items+1
		}
	}
	return out.Bytes()
}

// TestCompany_Foreign refuses, by its line, an item of every kind under a key that is not its own, and writes nothing.
func TestCompany_Foreign(t *testing.T) {
	t.Parallel()
	_, file := source(t)
	for _, k := range export.Kinds() {
		if k.Not != "" {
			continue
		}
		t.Run(k.Entity, func(t *testing.T) {
			t.Parallel()
			other := map[bool]string{true: "memory", false: "goal"}[k.Entity == "goal"]
			wantRefused(t, edited(t, file, func(l export.Line) []export.Line {
				if l.Entity == k.Entity {
					l.Entity = other
				}
				return []export.Line{l}
			}), ": the key ")
			wantRefused(t, edited(t, file, func(l export.Line) []export.Line {
				if l.Entity == k.Entity {
					l.Key += "-x"
				}
				return []export.Line{l}
			}), ": the key ")
		})
	}
}

// TestCompany_Limits refuses more than the API allows a company, and counts the founders again.
func TestCompany_Limits(t *testing.T) {
	t.Parallel()
	_, file := source(t)
	many := func(entity, after, prefix, member string, most int) []byte {
		return edited(t, file, func(l export.Line) []export.Line {
			if l.Key != after {
				if l.Entity == entity {
					return nil
				}
				return []export.Line{l}
			}
			var all []export.Line
			if l.Entity != entity {
				all = append(all, l)
			}
			for n := range most + 1 {
				name := fmt.Sprintf("%sa%03d", prefix, n)
				body := json.RawMessage(`{"` + member + `":"` + strings.TrimPrefix(name, prefix) + `"}`)
				if entity == integration.ManifestEntity {
					body = described(strings.TrimPrefix(name, prefix))
				}
				all = append(all, export.Line{Entity: entity, Key: name, Version: 1, Body: body})
			}
			return all
		})
	}
	set := func(key, body string) []byte {
		return edited(t, file, func(l export.Line) []export.Line {
			if l.Key == key {
				l.Body = json.RawMessage(body)
			}
			return []export.Line{l}
		})
	}
	statement := `{"id":"a","mode":"enforce","text":"` + strings.Repeat("x", 8192) + `"}`
	founders := func(founder bool, count int) []byte {
		return edited(t, file, func(l export.Line) []export.Line {
			if l.Entity == company.Entity {
				l.Body = bytes.Replace(l.Body, []byte(`"founders":1`), fmt.Appendf(nil, `"founders":%d`, count), 1)
			}
			if l.Entity == user.Entity && !founder {
				l.Body = bytes.Replace(l.Body, []byte(`"founder"`), []byte(`"member"`), 1)
			}
			return []export.Line{l}
		})
	}
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"integrations":     {many("integration", "INTEGRATION#feed", "INTEGRATION#", "provider", 500), "more than 500 integrations"},
		"manifests":        {many("manifest", "MANIFEST#kind00", "MANIFEST#", "kind", 50), "more than 50 connectors of its own"},
		"a digest":         {set("MANIFEST#kind00", string(described("kind00", "api.example.com", "evil.example"))), "the digest of MANIFEST#kind00 is not that of its manifest"},
		"a manifest":       {set("MANIFEST#kind00", string(described("kind00", `"memory"`, `"else"`))), "the manifest MANIFEST#kind00 is not valid"},
		"clients":          {many("client", "CLIENT#00", "CLIENT#", "id", 50), "more than 50 clients"},
		"own goals":        {many("goal", "GOAL#00", "GOAL#", `provider":"company","state":"open","id`, 200), "more than 200 open goals of its own"},
		"measured goals":   {set("INTEGRATION#feed", `{"provider":"feed","goals":[`+strings.TrimSuffix(strings.Repeat(`"a",`, 26), ",")+`]}`), "more than 25 goals that feed measures"},
		"one manifest":     {many("integration", "INTEGRATION#feed", "INTEGRATION#", `kind":"kind00","manifest":{"digest":"a"},"provider`, 45), "more than 45 integrations of the kind kind00"},
		"executives":       {many("executive", "EXECUTIVE#00", "EXECUTIVE#", "id", 50), "more than 50 executives"},
		"policies":         {set("POLICIES", `{"policies":[`+strings.TrimSuffix(strings.Repeat(`{"id":"a","text":"x"},`, 101), ",")+`]}`), "more than 100 policies"},
		"texts":            {set("POLICIES", `{"policies":[`+strings.TrimSuffix(strings.Repeat(statement+",", 9), ",")+`]}`), "more than 65536 bytes"},
		"a text":           {set("POLICIES", `{"policies":[`+strings.Replace(statement, "xx", "xxx", 1)+`]}`), "more than 8192 bytes in the policy a"},
		"without founders": {founders(false, 1), "no active founder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, tt.file, tt.want)
		})
	}
	st := webtest.OpenStore(t)
	made, err := restore.Company(t.Context(), st, bytes.NewReader(founders(true, 7)), time.Now(), nil)
	errtest.Must(t, err)
	if want := "the number of founders is 1 instead of 7, as the export has them"; !slices.Contains(made.Changed, want) {
		t.Errorf("changed = %q, want %q among them", made.Changed, want)
	}
	is, _, err := company.Get(t.Context(), store.For(st, made.CompanyID))
	errtest.Must(t, err)
	if is.Founders != 1 {
		t.Errorf("founders = %d, want 1", is.Founders)
	}
}
