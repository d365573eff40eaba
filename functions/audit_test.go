package functions_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"orgops/functions"
	"orgops/shared/provider/catalog"
	"orgops/shared/run/boot"
	"orgops/shared/run/server"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// TestAudit_Declared checks that every operation says in its registration how it is audited, or why it is not.
func TestAudit_Declared(t *testing.T) {
	t.Parallel()
	client := outbound.New(outbound.Options{})
	services := boot.New(boot.Parts{Connectors: catalog.All(client, time.Now), Client: client, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	s := server.New(services, server.Options{})
	functions.Mount(s.API(), services)
	audited := 0
	for _, op := range s.Operations() {
		why, declared := web.AuditOf(op)
		if !declared {
			t.Errorf("%s %s (%s) does not say how it is audited: wrap it in web.AuditedWrites, web.Audited or web.Unaudited", op.Method, op.Path, op.OperationID)
		}
		if op.Method != http.MethodGet && strings.Contains(why, "read") {
			t.Errorf("%s %s (%s) is not audited because %q, want another reason or web.Audited", op.Method, op.Path, op.OperationID, why)
		}
		if declared && why == "" {
			audited++
		}
	}
	if audited < 15 {
		t.Errorf("%d operations are audited, want at least 15", audited)
	}
}
