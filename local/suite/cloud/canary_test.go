package cloud

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"orgops/functions/ticker"
	service "orgops/local/process"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// echoes waits for the canary's delivery, which the dispatcher makes over HTTP to the API's own address, and which inbound turns into a
// memory of the canary's company.
func echoes(ctx context.Context, t *testing.T, s *Stack, _ visitor) {
	t.Helper()
	clock := s.function(ctx, t, "ticker")
	var none json.RawMessage
	errtest.Must(t, s.invoke(ctx, clock, struct{}{}, &none)) // the rule calls it each minute
	table, err := service.OpenTable(ctx, s.variable, slog.New(slog.DiscardHandler))
	errtest.Must(t, err)
	eventually(t, func() (memory.Memory, bool) {
		for item, err := range store.For(table, ticker.CanaryCompany).Items(ctx, store.Query{Prefix: memory.Prefix}) {
			errtest.Must(t, err)
			var m memory.Memory
			errtest.Must(t, json.Unmarshal(item.Body, &m))
			if m.Provider == genericwebhook.Kind {
				return m, true
			}
		}
		return memory.Memory{}, false
	})
	if late := errtest.Message(s.evidence()); strings.Contains(late, "is late") {
		t.Errorf("the logs tell that the canary is late: %s", late)
	}
}
