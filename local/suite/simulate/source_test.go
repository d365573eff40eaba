package simulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// source is the provider of the feeds: a few pages, whose items change every ten minutes.
type source struct{ e *environment }

const lastPage = 2

// Kind implements connector.Connector.
func (source) Kind() string { return feed }

// Schema implements connector.Connector.
func (source) Schema() json.RawMessage { return json.RawMessage(`{}`) }

// Ports implements connector.Connector.
func (source) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{integration.SyncPull, integration.MemoryUpsert}
}

// Fetch implements connector.Source.
func (s source) Fetch(ctx context.Context, f connector.Fetch) (page connector.FetchedPage, err error) {
	number := 0
	if len(f.Checkpoint) > 0 {
		if err := json.Unmarshal(f.Checkpoint, &number); err != nil {
			return page, err
		}
	}
	var conf struct {
		Company string `json:"company"`
	}
	if err := json.Unmarshal(f.Config, &conf); err != nil {
		return page, err
	}
	w := s.e.w
	c := &call{id: fmt.Sprintf("%s fetches page %d", s.e.who(ctx), number), kind: fetch, env: s.e}
	asked := false
	c.do = func() error {
		if !asked && w.faulty() && w.plan.on[failing] {
			asked = true
			switch w.random.IntN(8) {
			case 0:
				return &connector.ThrottledError{Until: time.Now().Add(w.between(time.Second, 5*time.Minute))}
			case 1:
				return errors.New("the provider answered 500")
			case 2:
				c.at = time.Now().Add(w.between(time.Second, 40*time.Second))
				return errWait
			}
		}
		page = pageOf(conf.Company, number)
		return nil
	}
	return page, w.ask(ctx, c)
}

func pageOf(company string, number int) (page connector.FetchedPage) {
	for i := range 2 {
		page.Memories = append(page.Memories, memory.Draft{
			ExternalID: fmt.Sprintf("item-%d-%d", number, i), Kind: "entry",
			Title: fmt.Sprintf("%s item of %s", company, time.Now().Truncate(10*time.Minute).Format(time.TimeOnly)),
		})
	}
	if number < lastPage {
		page.Checkpoint = json.RawMessage(fmt.Sprint(number + 1))
	} else {
		page.State = json.RawMessage(`{}`)
	}
	return page
}
