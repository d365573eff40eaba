package simulate_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"orgops/local/suite/simulate/simstore"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/suspension"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// elder names a company that is suspended or erased during the hour. It is not among w.companies, whose deliveries must arrive.
const elder = "acme-elder"

// fate says what happens to the elder company.
type fate int

const (
	spared fate = iota // there is no such company
	suspended
	erased
)

// lasts is how long after the end of a company's work an attempt may still begin: as long as an invocation that has read the
// endpoint before, and the minute in which what was in flight ends.
const lasts = 5 * time.Minute

// These are how long the guard of a process may still know the company as it was, and clocks may differ.
const known = 20 * time.Second

// settleElder creates the elder company with an endpoint, and draws its fate.
func (w *world) settleElder() error {
	if w.fate = fate(w.random.IntN(6)); w.fate > erased {
		w.fate = spared
	}
	if w.fate == spared {
		return nil
	}
	if err := w.found(elder); err != nil {
		return err
	}
	if err := w.endpoint(elder, 0); err != nil {
		return err
	}
	return w.configure(elder, inbound, map[string]any{"company": elder}, "",
		integration.InboundReceive, integration.MemoryUpsert, integration.GoalUpdate, integration.TimelineNote)
}

// scheduleElder draws what the elder company receives, and when its work ends.
func (w *world) scheduleElder() {
	if w.fate == spared {
		return
	}
	for n := range 2 + w.random.IntN(4) {
		at, nonce := w.anytime(), fmt.Sprintf("elder %d", n)
		w.schedule(at, nonce, func() {
			actions := w.actions(elder, 1+w.random.IntN(2))
			w.client(nonce, elder, func(ctx context.Context, cl client) error {
				err := cl.receive(ctx, actions)
				if w.fate == erased { // its integration may be gone
					return nil
				}
				return err
			})()
		})
	}
	end := client.suspend
	if w.fate == erased {
		end = client.erase
	}
	w.schedule(w.anytime(), "the end of elder", w.client("operator", elder, func(ctx context.Context, cl client) error { return end(cl, ctx) }))
}

// suspend suspends the company, as the operator's command does, and then asks what a suspended company may and may not.
func (cl client) suspend(ctx context.Context) error {
	_, err := suspension.Suspend(ctx, cl.c, "unpaid", time.Now())
	if err != nil {
		return err
	}
	if err := cl.ends(ctx); err != nil {
		return err
	}
	if err := cl.pause(ctx, known); err != nil {
		return err
	}
	look := &wish{method: http.MethodGet, path: "/mission-control/health"}
	if err := cl.insist(ctx, look, http.StatusOK); err != nil {
		return err
	}
	ask := note(scribe, "suspended", "note suspended.")
	ask.writes = []effect{one("executive-action")}
	return cl.insist(ctx, ask, http.StatusForbidden)
}

// erase has a founder ask for the erasure and another one approve it, and then asks with a token of the erased company.
func (cl client) erase(ctx context.Context) error {
	ask := &wish{method: http.MethodPost, path: "/operations/erasure", body: map[string]any{"name": elder}, gone: true}
	if err := cl.insist(ctx, ask, http.StatusAccepted); err != nil {
		return err
	}
	asked, err := decoded[struct{ Approval approval.Approval }](ask)
	if err != nil {
		return err
	}
	approve := &wish{method: http.MethodPost, path: "/operations/approvals/" + asked.Approval.ID + "/approve", as: "bob", gone: true}
	// A lost answer leads to a refusal: the approval is decided, the company suspended, or the token ended.
	if err := cl.insist(ctx, approve, http.StatusOK, http.StatusConflict, http.StatusForbidden, http.StatusUnauthorized); err != nil {
		return err
	}
	if err := cl.ends(ctx); err != nil {
		return err
	}
	if err := cl.pause(ctx, known); err != nil {
		return err
	}
	late := note(scribe, "erased", "note erased.")
	late.gone = true
	return cl.insist(ctx, late, http.StatusForbidden, http.StatusUnauthorized)
}

// ends records that the company's work has ended.
func (cl client) ends(ctx context.Context) error {
	return cl.w.ask(ctx, &call{id: cl.e.who(ctx) + " knows of the end", kind: gate, do: func() error {
		cl.w.ended = time.Now()
		return nil
	}})
}

// checkElder checks that no attempt began after the end, and that an erased company has left nothing but a receipt.
func (w *world) checkElder() {
	if w.fate == spared {
		return
	}
	if w.ended.IsZero() {
		w.violated("elder", "%s has not come to its end", elder)
	}
	most := lasts
	if w.plan.on[outage] { // a timer ends the attempts of a company that is erased
		most += 30 * time.Minute
	}
	to := w.receivers["webhook."+elder+".test"]
	for _, event := range sortedKeys(to.requests) {
		for _, r := range to.requests[event] {
			if r.at.Sub(w.ended) > most {
				w.violated("elder", "%s got %s %v after the end of its company", to.host(), event, r.at.Sub(w.ended))
			}
		}
	}
	if w.fate == erased {
		w.checkErased()
	}
}

// checkErased checks that the erased company has left nothing.
func (w *world) checkErased() {
	receipt, _, err := erasure.Find(w.t.Context(), simstore.Store{Table: w.table, Now: time.Now}, elder)
	if err != nil || receipt.ErasedAt == nil {
		w.violated("erased", "the receipt is %+v: %v", receipt, err)
	}
	for _, p := range w.table.Partitions() {
		for _, item := range w.table.Query(time.Now(), p, store.Query{}).Items {
			owned := strings.Contains(p.String(), elder) || strings.Contains(item.Key, elder) || strings.Contains(string(item.Body), elder)
			if owned && item.Key != user.HaltKey && item.Entity != erasure.Entity {
				w.violated("erased", "%s %s is left: %s", p, item.Key, item.Body)
			}
		}
	}
	if _, left := w.keys.keys[elder]; left {
		w.violated("erased", "the key is left")
	}
}
