package browser_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

var figures = flag.Bool("figures", false, "also compare times with their targets, the first paint on a processor slowed to a quarter")

// seeded is the number of deliveries of the company that TestConsole_Figures opens.
const seeded = 10_000

// seed stores deliveries of the endpoint webhook, one for each minute before now. Every 40th is a dead letter. The writes stay
// out of the change feed, so that no worker runs next to the measurement.
func seed(t *testing.T, s *servicetest.Service, company string) {
	t.Helper()
	c, now := store.For(s.Process.Services.Store, company), time.Now().UTC()
	var ops []store.Op
	for n := range seeded {
		at := now.Add(-time.Duration(n) * time.Minute)
		d := delivery.Delivery{
			Head: delivery.Head{
				EventID: id.At(at), Endpoint: "webhook", Event: "memory.created", State: delivery.Delivered, CreatedAt: at,
			},
			Payload: json.RawMessage(fmt.Sprintf(`{"type":"memory.created","data":{"title":"Item %d"}}`, n)),
		}
		attempt := delivery.Attempt{Number: 1, State: delivery.Delivered, At: at, Status: 204, LatencyMS: 12}
		if n%40 == 39 {
			d.State, attempt = delivery.Dead, delivery.Attempt{Number: 10, State: delivery.Failed, At: at, Status: 503, Error: "the endpoint answered 503"}
		}
		d.Log(attempt)
		ops = append(ops, c.Create(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d).Quietly())
		if len(ops) == 100 || n == seeded-1 {
			errtest.Must(t, c.Commit(t.Context(), ops...))
			ops = nil
		}
	}
}

// TestConsole_Figures opens a company with 10,000 deliveries. It checks how much the page loads, how many rows it keeps, and
// that a hundred polls leave no memory behind. It prints times, and compares them with their targets if it is asked to.
func TestConsole_Figures(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	f := s.Found("Acme")
	seed(t, s, f.CompanyID)
	env := []string{"BASE=" + s.URL, "COMPANY=" + f.CompanyID, "EMAIL=" + f.Email, "PASSWORD=" + f.Password, "RECEIVER=http://127.0.0.1:1/"}
	if *figures {
		env = append(env, "TIMES=1")
	}
	run(t, "figures.mjs", env...)
}
