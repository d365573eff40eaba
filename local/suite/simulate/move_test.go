package simulate_test

import (
	"context"
	"net/http"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
)

// mover names an endpoint that is deleted during the hour and configured again with another url. Its receivers are former and latter.
const (
	mover  = "webhook-mover"
	former = "former"
	latter = "latter"
)

// parting is more than clocks differ. So much time passes between the deletion and the new configuration.
const parting = 10 * time.Second

// settleMove creates the endpoint. Its first receiver accepts nothing, so that many deliveries wait when it is deleted.
func (w *world) settleMove() error {
	company := w.companies[0]
	from := &receiver{company: company, provider: former, mood: departed}
	to := &receiver{company: company, provider: latter}
	w.moving = map[string]*receiver{from.host(): from, to.host(): to}
	for _, r := range w.moving {
		r.secret, r.requests = secretOf(w.seed, company, r.provider), map[string][]*request{}
	}
	return w.configure(company, mover, moverConfig(from), from.secret, integration.EventDeliver)
}

func moverConfig(r *receiver) map[string]any {
	return map[string]any{"url": "https://" + r.host() + "/", "events": []string{"memory.*", "goal.*", "timeline.*"}}
}

// move deletes the endpoint, configures it again under its name with another url, certifies it and recovers what it has not got.
func (cl client) move(ctx context.Context) error {
	path, to := "/integrations/"+mover, cl.w.moving[latter+"."+cl.c.ID()+".test"]
	remove := &wish{method: http.MethodDelete, path: path}
	if err := cl.insist(ctx, remove, http.StatusNoContent, http.StatusNotFound); err != nil {
		return err
	}
	if err := cl.tell(ctx, func() { cl.w.left = time.Now() }); err != nil {
		return err
	}
	if err := cl.pause(ctx, parting); err != nil {
		return err
	}
	body := moverConfig(to)
	body["signingSecret"] = to.secret
	add := &wish{method: http.MethodPost, path: path, key: "move", body: body}
	if err := cl.insist(ctx, add, http.StatusCreated, http.StatusOK); err != nil {
		return err
	}
	if err := cl.edit(ctx, mover, certify); err != nil {
		return err
	}
	return cl.recover(ctx, mover, "move")
}

// checkMoved checks that the new url gets no event of the former endpoint: none from before its deletion.
func (w *world) checkMoved(to *receiver, event string) {
	at, _ := id.Time(event)
	if to.provider == latter && (w.left.IsZero() || at.Before(w.left.Add(parting/2))) {
		w.violated("moved", "%s got %s of %v, but the former endpoint was deleted at %v", to.host(), event, at.Sub(w.trace.start), w.left.Sub(w.trace.start))
	}
}
