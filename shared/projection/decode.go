package projection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/goal"
	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/syncrun"
	"orgops/shared/timeline"
)

// UnmarshalJSON reads what encoding/json writes of a Context. It is written out because every GET of Mission Control
// and Intelligence reads one, and by reflection that takes several times as long as all the rest of the answer.
// A field that is unknown here is passed over; TestContext_Decode finds one that was forgotten.
func (p *Context) UnmarshalJSON(data []byte) error {
	*p = Empty("")
	d := decoder{data: data}
	d.object(func(name []byte) {
		switch string(name) {
		case "companyId":
			p.CompanyID = d.text()
		case "contextVersion":
			p.ContextVersion = d.int()
		case "applied":
			p.Applied = store.Sequence(d.text())
		case "updatedAt":
			p.UpdatedAt = d.time()
		case "company":
			p.Company = d.company()
		case "integrations":
			d.object(func(name []byte) { p.Integrations[unquoted(name)] = d.integration() })
		case "memory":
			p.Memory = d.memory()
		case "goals":
			p.Goals = d.goals()
		case "syncs":
			d.object(func(name []byte) { p.Syncs[unquoted(name)] = d.sync() })
		case "deliveries":
			p.Deliveries = d.deliveries()
		case "timeline":
			d.array(func() { p.Timeline = append(p.Timeline, d.entry()) })
		}
	})
	return d.end()
}

func (d *decoder) ports() []integration.Port {
	ports := make([]integration.Port, 0, 6)
	d.array(func() { ports = append(ports, integration.Port(d.text())) })
	return ports
}

func (d *decoder) company() (c Company) {
	d.object(func(name []byte) {
		switch string(name) {
		case "name":
			c.Name = d.text()
		case "plan":
			c.Plan = d.text()
		case "createdAt":
			c.CreatedAt = d.time()
		case "founders":
			c.Founders = int(d.int())
		}
	})
	return c
}

func (d *decoder) integration() (i Integration) {
	d.object(func(name []byte) {
		switch string(name) {
		case "kind":
			i.Kind = d.text()
		case "state":
			i.State = integration.State(d.text())
		case "enabled":
			i.Enabled = d.bool()
		case "disabledReason":
			i.DisabledReason = d.text()
		case "disabledAt":
			i.DisabledAt = d.time()
		case "ports":
			i.Ports = d.ports()
		case "certifiedPorts":
			i.CertifiedPorts = d.ports()
		case "certifiedAt":
			i.CertifiedAt = d.time()
		case "certifiedUntil":
			i.CertifiedUntil = d.time()
		case "sandboxedAt":
			i.SandboxedAt = d.time()
		case "secretAt":
			i.SecretAt = d.time()
		case "credentialsAt":
			i.CredentialsAt = d.time()
		case "lastSuccessAt":
			i.LastSuccessAt = d.time()
		case "lastFailureAt":
			i.LastFailureAt = d.time()
		case "failingSince":
			i.FailingSince = d.time()
		}
	})
	return i
}

func (d *decoder) memory() (m Memory) {
	m.Providers = map[string]ProviderMemory{}
	d.object(func(name []byte) {
		switch string(name) {
		case "total":
			m.Total = d.int()
		case "lastChangedAt":
			m.LastChangedAt = d.time()
		case "providers":
			d.object(func(name []byte) { m.Providers[unquoted(name)] = d.providerMemory() })
		}
	})
	return m
}

func (d *decoder) providerMemory() (m ProviderMemory) {
	d.object(func(name []byte) {
		switch string(name) {
		case "count":
			m.Count = d.int()
		case "lastChangedAt":
			m.LastChangedAt = d.time()
		case "lastSyncedAt":
			m.LastSyncedAt = d.time()
		}
	})
	return m
}

func (d *decoder) goals() (g Goals) {
	g.Listed = []Goal{}
	d.object(func(name []byte) {
		switch string(name) {
		case "open":
			g.Open = int(d.int())
		case "closed":
			g.Closed = int(d.int())
		case "aligned":
			g.Aligned = int(d.int())
		case "drifting":
			g.Drifting = int(d.int())
		case "misaligned":
			g.Misaligned = int(d.int())
		case "listed":
			d.array(func() { g.Listed = append(g.Listed, d.goal()) })
		}
	})
	return g
}

func (d *decoder) goal() (g Goal) {
	d.object(func(name []byte) {
		switch string(name) {
		case "id":
			g.ID = d.text()
		case "title":
			g.Title = d.text()
		case "status":
			g.Status = goal.Status(d.text())
		case "since":
			g.Since = d.time()
		case "progress":
			g.Progress = d.float()
		case "dueAt":
			g.DueAt = d.time()
		case "reason":
			g.Reason = d.text()
		}
	})
	return g
}

func (d *decoder) sync() (s Sync) {
	d.object(func(name []byte) {
		switch string(name) {
		case "run":
			s.Run = d.text()
		case "mode":
			s.Mode = syncrun.Mode(d.text())
		case "state":
			s.State = syncrun.State(d.text())
		case "runningSince":
			s.RunningSince = d.time()
		case "finishedAt":
			s.FinishedAt = d.time()
		case "lastSucceededAt":
			s.LastSucceededAt = d.time()
		case "failuresInRow":
			s.FailuresInRow = int(d.int())
		case "failingSince":
			s.FailingSince = d.time()
		case "error":
			s.Error = d.text()
		}
	})
	return s
}

func (d *decoder) deliveries() (t Deliveries) {
	t.Recent, t.Hourly, t.Pending = newWindow(recentStep), newWindow(time.Hour), Tally{}
	t.Endpoints = map[string]Endpoint{}
	d.object(func(name []byte) {
		switch string(name) {
		case "recent":
			t.Recent = d.window()
		case "hourly":
			t.Hourly = d.window()
		case "pending":
			t.Pending = d.tally()
		case "endpoints":
			d.object(func(name []byte) { t.Endpoints[unquoted(name)] = d.endpoint() })
		}
	})
	return t
}

func (d *decoder) endpoint() (e Endpoint) {
	d.object(func(name []byte) {
		switch string(name) {
		case "hourly":
			e.Hourly = d.window()
		case "pending":
			e.Pending = int(d.int())
		case "held":
			e.Held = d.tally()
		case "dead":
			e.Dead = d.tally()
		}
	})
	return e
}

func (d *decoder) window() (w Window) {
	w = Window{Delivered: []int64{}, Failed: []int64{}}
	d.object(func(name []byte) {
		switch string(name) {
		case "start":
			w.Start = d.time()
		case "seconds":
			w.Seconds = d.int()
		case "delivered":
			w.Delivered = d.counts()
		case "failed":
			w.Failed = d.counts()
		}
	})
	if len(w.Delivered) != len(w.Failed) || w.Seconds <= 0 {
		d.fail(fmt.Errorf("window with %d and %d steps of %d s", len(w.Delivered), len(w.Failed), w.Seconds))
	}
	return w
}

// counts is an array of whole numbers. Windows are long, so it is read without a call for each.
func (d *decoder) counts() []int64 {
	v := d.raw()
	counts := make([]int64, 0, bytes.Count(v, []byte{','})+1)
	n, digits := int64(0), 0
	for _, c := range v {
		switch {
		case c >= '0' && c <= '9' && digits < 18:
			n, digits = 10*n+int64(c-'0'), digits+1
		case (c == ',' || c == ']') && digits > 0:
			counts = append(counts, n)
			n, digits = 0, 0
		case c != '[' && c != ']' && c != ' ' && c != '\n' && c != '\t' && c != '\r':
			d.fail(fmt.Errorf("%q in a count", c))
			return counts
		}
	}
	return counts
}

func (d *decoder) tally() Tally {
	t := Tally{}
	d.array(func() {
		var b Bucket
		d.object(func(name []byte) {
			switch string(name) {
			case "from":
				b.From = d.time()
			case "count":
				b.Count = int(d.int())
			}
		})
		t = append(t, b)
	})
	return t
}

func (d *decoder) entry() (e timeline.Entry) {
	d.object(func(name []byte) {
		switch string(name) {
		case "id":
			e.ID = d.text()
		case "at":
			e.At = d.time()
		case "kind":
			e.Kind = timeline.Kind(d.text())
		case "title":
			e.Title = d.text()
		case "actor":
			e.Actor = d.reference()
		case "subject":
			e.Subject = d.reference()
		case "eventId":
			e.EventID = d.text()
		case "details":
			e.Details = append(json.RawMessage{}, d.raw()...)
		}
	})
	return e
}

func (d *decoder) reference() (r timeline.Reference) {
	d.object(func(name []byte) {
		switch string(name) {
		case "type":
			r.Type = d.text()
		case "id":
			r.ID = d.text()
		}
	})
	return r
}
