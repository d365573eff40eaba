package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/shared/webhook/standardwebhooks"
)

// Each GET is asked for so often of each company in a pass. The companies take turns, so that a busy moment of the machine falls on all. Of
// the passes over all GETs that with the median ratio counts, because a busy moment may be as long as all rounds of a short GET.
const (
	flatPasses = 5
	flatRounds = 400
	flatWarm   = 30
)

// sized is a service with one company of a size.
type sized struct {
	*bed
	items    int
	t        tenant
	recovery string // its id
}

// flat compares the time of every GET for companies with different numbers of items. It also compares an answer of 304 with one of 200.
func flat(ctx context.Context, s settings) error {
	var sizes []int
	for text := range strings.SplitSeq(s.sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n <= goalsFilled+lastDay {
			return fmt.Errorf("%q is no number of items above %d", text, goalsFilled+lastDay)
		}
		sizes = append(sizes, n)
	}
	s.tenants = 1
	var all []*sized
	defer func() {
		for _, b := range all {
			b.close()
		}
	}()
	for _, n := range sizes {
		begun := time.Now()
		one, err := s.sized(ctx, n)
		if err != nil {
			return err
		}
		all = append(all, one)
		s.binary = one.binary // built once
		bytes, err := one.stored()
		if err != nil {
			return err
		}
		fmt.Printf("%d items in %.0f s, with %d MB on disk\n", n, time.Since(begun).Seconds(), bytes>>20)
	}
	gets, err := all[0].operations(ctx)
	if err != nil {
		return err
	}
	if s.gets != "" {
		gets = slices.DeleteFunc(gets, func(g getter) bool { return !slices.Contains(strings.Split(s.gets, ","), g.operation) })
	}
	passes := map[getter][]comparison{}
	for range flatPasses {
		for _, g := range gets {
			one, err := compare(ctx, g, all)
			if err != nil {
				return fmt.Errorf("%s: %w", g.operation, err)
			}
			passes[g] = append(passes[g], one)
		}
	}
	fmt.Printf("%-32s %s  ratio   304/200\n", "p50 / p99 in ms", header(sizes))
	var worst, worst304 float64
	for _, g := range gets {
		slices.SortFunc(passes[g], func(a, b comparison) int { return cmp.Compare(a.ratio, b.ratio) })
		median := passes[g][flatPasses/2]
		fmt.Printf("%-32s%s\n", g.operation, median.line)
		worst, worst304 = max(worst, median.ratio), max(worst304, median.unchanged)
	}
	fmt.Printf("largest ratio of p50, most items to fewest: %.2f (target 1.10); largest ratio of a 304 to a 200: %.2f (target 1.00)\n", worst, worst304)
	return nil
}

// sized returns a service with a company of n items: a company that was kept, or a new company.
func (s settings) sized(ctx context.Context, n int) (*sized, error) {
	if s.folder != "" {
		s.folder = filepath.Join(s.folder, strconv.Itoa(n))
		one, err := reopen(ctx, s, n)
		if !errors.Is(err, fs.ErrNotExist) {
			return one, err
		}
	}
	b, err := prepare(ctx, s, func(string, int, time.Time) {}, nil)
	if err != nil {
		return nil, err
	}
	one := &sized{bed: b, items: n, t: b.tenants[0]}
	if err := one.grow(ctx); err != nil {
		one.close()
		return nil, err
	}
	if s.folder == "" {
		return one, nil
	}
	raw, err := json.Marshal(kept{one.t.company, one.t.email, one.recovery})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.folder, keptFile), raw, 0o600)
	}
	return one, err
}

// kept names what reopen needs to know of a company that was filled before.
type kept struct{ Company, Email, Recovery string }

const keptFile = "kept.json"

// reopen starts the service on a folder whose company was filled before. It returns fs.ErrNotExist if the folder holds no company.
func reopen(ctx context.Context, s settings, n int) (*sized, error) {
	raw, err := os.ReadFile(filepath.Join(s.folder, keptFile))
	if err != nil {
		return nil, err
	}
	var is kept
	if err := json.Unmarshal(raw, &is); err != nil {
		return nil, err
	}
	svc, err := start(ctx, s)
	if err != nil {
		return nil, err
	}
	r, err := receive(ctx, func(string, int, time.Time) {}, nil)
	if err != nil {
		svc.halt()
		return nil, err
	}
	one := &sized{bed: &bed{service: svc, receiver: r}, items: n, t: tenant{company: is.Company, email: is.Email}, recovery: is.Recovery}
	if err := one.login(ctx, &one.t); err != nil {
		one.close()
		return nil, err
	}
	return one, nil
}

func header(sizes []int) string {
	var text strings.Builder
	for _, n := range sizes {
		fmt.Fprintf(&text, "%16d", n)
	}
	return text.String()
}

// grow fills a company while the service does not run, and rebuilds its context.
func (b *sized) grow(ctx context.Context) error {
	if err := b.furnish(ctx); err != nil {
		return err
	}
	b.halt()
	if err := b.fill(ctx, b.t.company, b.items); err != nil {
		return err
	}
	if _, err := b.admin(ctx, "", "context", "rebuild", "--company", b.t.company); err != nil {
		return err
	}
	if err := b.launch(ctx); err != nil {
		return err
	}
	return b.explain(ctx)
}

// stored returns the bytes of the data folder.
func (b *sized) stored() (bytes int64, err error) {
	err = filepath.WalkDir(filepath.Join(b.folder, "data"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// furnish makes what fill does not: an executive with an action, and an arrival in the inbox of a sandboxed integration.
func (b *sized) furnish(ctx context.Context) error {
	path := "/companies/" + b.t.company
	var users struct{ Items []struct{ ID string } }
	if err := b.call(ctx, http.MethodGet, path+"/operations/users", b.t.token, nil, &users); err != nil {
		return err
	}
	draft := map[string]any{"name": "Chief", "role": "Keeps order", "owner": users.Items[0].ID, "actions": []string{"timeline.note"}, "quotaPerDay": 10}
	var made struct{ ID string }
	if err := b.post(ctx, path+"/executives", b.t.token, draft, &made); err != nil {
		return err
	}
	executive := path + "/executives/" + made.ID
	if err := b.post(ctx, executive+"/certification", b.t.token, nil, nil); err != nil {
		return err
	}
	note := map[string]any{"action": "timeline.note", "input": map[string]any{"title": "A note"}}
	if err := b.call(ctx, http.MethodPost, executive+"/actions", b.t.token, note, nil, "Idempotency-Key", "first"); err != nil {
		return err
	}
	since := map[string]string{"since": time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)}
	if err := b.post(ctx, path+"/integrations/webhook/recover", b.t.token, since, &made); err != nil {
		return err
	}
	b.recovery = made.ID
	return b.receive(ctx)
}

// inboxed names the integration that stays in the sandbox.
const inboxed = "webhook-inbox"

// receive sends an arrival to an integration in the sandbox, which keeps it in its inbox.
func (b *sized) receive(ctx context.Context) error {
	config := map[string]any{"url": b.url(), "events": []string{"memory.created"}, "signingSecret": secret}
	if err := b.post(ctx, "/companies/"+b.t.company+"/integrations/"+inboxed, b.t.token, config, nil); err != nil {
		return err
	}
	signer, err := standardwebhooks.NewSigner([]string{secret})
	if err != nil {
		return err
	}
	body, now := json.RawMessage(`{"type":"memory.upsert","data":{"externalId":"1","kind":"ticket","title":"Ticket"}}`), time.Now().Unix()
	return b.call(ctx, http.MethodPost, "/inbound/"+b.t.company+"/"+inboxed, "", body, nil,
		"Webhook-Id", "msg_1", "Webhook-Timestamp", strconv.FormatInt(now, 10), "Webhook-Signature", signer.Sign("msg_1", now, body))
}

// explain explains the goal that the list shows first.
func (b *sized) explain(ctx context.Context) error {
	path, ok, err := b.resolve(ctx, "/goals/{goalId}/explanation")
	if err != nil || !ok {
		return fmt.Errorf("a goal to explain: %t %w", ok, err)
	}
	return b.call(ctx, http.MethodPut, "/companies/"+b.t.company+path, b.t.token, map[string]string{"text": "The supplier delivers in May."}, nil)
}

// getter is one GET of the API, as an operation and a path below the company's.
type getter struct {
	operation, path string
}

// operations lists the GETs of a company that the service documents. It leaves out the export, which streams every item, and
// the configuration of single sign-on, which the plan of these companies does not include.
func (b *sized) operations(ctx context.Context) ([]getter, error) {
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	if err := b.call(ctx, http.MethodGet, "/openapi.json", "", nil, &document); err != nil {
		return nil, err
	}
	var all []getter
	for path, methods := range document.Paths {
		below, ofCompany := strings.CutPrefix(path, "/companies/{companyId}")
		if op, reads := methods["get"]; reads && ofCompany && op.OperationID != "export-company" && op.OperationID != "get-sso" {
			all = append(all, getter{op.OperationID, below})
		}
	}
	slices.SortFunc(all, func(a, b getter) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// resolve replaces the parameters of a path by ids that the lists show; ok is false if a list is empty.
func (b *sized) resolve(ctx context.Context, path string) (resolved string, ok bool, err error) {
	provider := "webhook"
	if strings.Contains(path, "{inboxId}") {
		provider = inboxed
	}
	path = strings.NewReplacer("{provider}", provider, "{recoveryId}", b.recovery, "{kind}", "webhook", "{name}", "memory.created").Replace(path)
	for {
		before, rest, more := strings.Cut(path, "{")
		if !more {
			return path, true, nil
		}
		_, after, _ := strings.Cut(rest, "}")
		var page struct {
			Items []struct {
				ID, DeliveryID string
			}
		}
		if err := b.call(ctx, http.MethodGet, "/companies/"+b.t.company+strings.TrimSuffix(before, "/"), b.t.token, nil, &page); err != nil {
			return "", false, err
		}
		if len(page.Items) == 0 {
			return "", false, nil
		}
		first := page.Items[0]
		path = before + cmp.Or(first.ID, first.DeliveryID) + after
	}
}

// reading asks a company for one GET again and again.
type reading struct {
	*conn
	plain, conditional []byte // conditional: nil if the answer has no entity tag
	ok, unchanged      []time.Duration
}

// errNone says that a company has nothing to show at a path.
var errNone = errors.New("the company has no such item")

func (b *sized) reading(ctx context.Context, path string) (*reading, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+b.t.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if err := resp.Body.Close(); err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound {
		return nil, errNone
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %d", path, resp.StatusCode)
	}
	c, err := dial(b.addr)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n", path, b.t.token)
	r := &reading{conn: c, plain: []byte(head + "\r\n")}
	if etag := resp.Header.Get("ETag"); etag != "" {
		r.conditional = []byte(head + "If-None-Match: " + etag + "\r\n\r\n")
	}
	return r, nil
}

// ask measures one answer of 200, and one of 304. An entity tag may be that of a minute that is over: then the answer is a 200,
// which does not count.
func (r *reading) ask(count bool) error {
	begun := time.Now()
	status, err := r.do(r.plain)
	took := time.Since(begun)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("answered %d %w", status, err)
	}
	if count {
		r.ok = append(r.ok, took)
	}
	if r.conditional == nil {
		return nil
	}
	begun = time.Now()
	status, err = r.do(r.conditional)
	if took = time.Since(begun); count && status == http.StatusNotModified {
		r.unchanged = append(r.unchanged, took)
	}
	return err
}

// comparison holds the ratio of the median with most items to that with fewest, and that of a 304 to a 200, with a line that shows them.
type comparison struct {
	ratio, unchanged float64
	line             string
}

// compare measures one GET of every company.
func compare(ctx context.Context, g getter, all []*sized) (is comparison, err error) {
	readings := make([]*reading, len(all))
	defer func() {
		for _, r := range readings {
			if r != nil {
				_ = r.Close()
			}
		}
	}()
	for i, b := range all {
		path, ok, err := b.resolve(ctx, g.path)
		if ok {
			readings[i], err = b.reading(ctx, "/companies/"+b.t.company+path)
		}
		if !ok && err == nil || errors.Is(err, errNone) {
			return comparison{line: " " + errNone.Error()}, nil
		}
		if err != nil {
			return is, err
		}
	}
	for round := range flatWarm + flatRounds {
		for i := range readings {
			if err := readings[(i+round)%len(readings)].ask(round >= flatWarm); err != nil {
				return is, err
			}
		}
	}
	var line strings.Builder
	for _, r := range readings {
		fmt.Fprintf(&line, "  %6.3f /%6.3f", percentile(r.ok, 0.5), percentile(r.ok, 0.99))
	}
	last := readings[len(readings)-1]
	is.ratio = percentile(last.ok, 0.5) / percentile(readings[0].ok, 0.5)
	fmt.Fprintf(&line, "  %5.2f", is.ratio)
	if len(last.unchanged) > 0 {
		is.unchanged = percentile(last.unchanged, 0.5) / percentile(last.ok, 0.5)
		fmt.Fprintf(&line, "  %7.2f", is.unchanged)
	}
	is.line = line.String()
	return is, nil
}
