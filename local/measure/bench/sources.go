package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// The noise of the scenario sources: a list of so many pages, which one company reads by so many integrations at once.
const (
	noisySources = 50
	noisyPages   = 10
	noisyItems   = 100
	noisyRate    = 100 // events a second of the other companies
)

// sources syncs 50 sources of one company at once, and measures the webhooks of the other companies: calm, while every item is new, and
// while none has changed. It does so three times in turns, because the host changes from one minute to the next. The company has no
// endpoint, so that its syncs are measured and not its deliveries.
func sources(ctx context.Context, s settings) error { return amongSources(ctx, s, false) }

// flood does what sources does, with an endpoint of the company for the event of each new item.
func flood(ctx context.Context, s settings) error { return amongSources(ctx, s, true) }

func amongSources(ctx context.Context, s settings, endpoint bool) error {
	s.plan = "enterprise" // the plan free has no room for 50 sources and an endpoint
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	list := &http.Server{Handler: http.HandlerFunc(serveList), ReadHeaderTimeout: time.Minute}
	defer func() { _ = list.Close() }()
	go func() { _ = list.Serve(l) }()
	for turn := range 3 {
		n := int(s.duration.Seconds()) * noisyRate
		a := newArrivals(3 * n)
		b, err := prepare(ctx, s, a.note, nil)
		if err != nil {
			return err
		}
		if !endpoint {
			err = b.call(ctx, http.MethodDelete, "/companies/"+b.tenants[0].company+"/integrations/webhook", b.tenants[0].token, nil, nil)
		}
		if err == nil {
			err = b.amongSources(ctx, a, "http://"+l.Addr().String(), turn, n)
		}
		b.close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) amongSources(ctx context.Context, a *arrivals, url string, turn, n int) error {
	noisy := b.tenants[0]
	for source := range noisySources {
		if err := b.addSource(ctx, noisy, source, url); err != nil {
			return fmt.Errorf("source %d: %w", source, err)
		}
	}
	calm := 0.0
	for part, name := range []string{"calm", "50 sources of new items", "50 sources without a change"} {
		if part > 0 {
			if err := b.syncAll(ctx, noisy); err != nil {
				return err
			}
		}
		first := part * n
		if err := b.publish(a, first, first+n, 8, time.Second/noisyRate, func(n int) int { return 1 + n%(len(b.tenants)-1) }); err != nil {
			return err
		}
		left, err := b.running(ctx, noisy)
		if err != nil {
			return err
		}
		if err := a.until(ctx, len(a.arrived)-first-n); err != nil {
			return err
		}
		d := a.delays(func(event int) bool { return event >= first && event < first+n })
		p95 := percentile(d, 0.95)
		if part == 0 {
			calm = p95
		}
		fmt.Printf("turn %d, %s: p50 %.2f ms, p95 %.2f ms (%.2f × calm), accepted p95 %.2f ms, %d syncs still running, peak memory %.0f MiB\n",
			turn+1, name, percentile(d, 0.5), p95, p95/calm, percentile(a.accepted[first:first+n], 0.95), left, b.memory())
		for left > 0 {
			if left, err = b.running(ctx, noisy); err != nil {
				return err
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

func (b *bed) addSource(ctx context.Context, t tenant, source int, url string) error {
	at := fmt.Sprintf("/companies/%s/integrations/http-s%d", t.company, source)
	config := map[string]any{"url": fmt.Sprintf("%s/?source=%d", url, source), "itemsPath": "", "idPath": "/id", "titlePath": "/title", "target": "memory", "paging": "link"}
	if err := b.post(ctx, at, t.token, config, nil); err != nil {
		return err
	}
	var report struct{ Passed bool }
	if err := b.post(ctx, at+"/certification", t.token, nil, &report); err != nil {
		return err
	}
	if !report.Passed {
		return errors.New("the list was not certified")
	}
	return nil
}

func (b *bed) syncAll(ctx context.Context, t tenant) error {
	for source := range noisySources {
		if err := b.post(ctx, fmt.Sprintf("/companies/%s/memory/sync/http-s%d", t.company, source), t.token, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// running counts the syncs that have not ended.
func (b *bed) running(ctx context.Context, t tenant) (n int, err error) {
	for _, state := range []string{"requested", "running"} {
		var page struct{ Items []struct{} }
		if err := b.call(ctx, http.MethodGet, "/companies/"+t.company+"/memory/syncs?limit=100&state="+state, t.token, nil, &page); err != nil {
			return 0, err
		}
		n += len(page.Items)
	}
	return n, nil
}

// serveList serves a page of a list, with the address of the next one.
func serveList(w http.ResponseWriter, r *http.Request) {
	type item struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	page, _ := strconv.Atoi(r.FormValue("page"))
	items := make([]item, noisyItems)
	for n := range items {
		id := strconv.Itoa(page*noisyItems + n)
		items[n] = item{id, "Item " + id}
	}
	if page+1 < noisyPages {
		w.Header().Set("Link", fmt.Sprintf(`<http://%s/?source=%s&page=%d>; rel="next"`, r.Host, r.FormValue("source"), page+1))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(items)
}
