package integrations

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/web"
)

// checkWidening refuses a configuration by a caller that is bound to the integration, if it lets more in or out than before. The
// token is in the hands of the integration: what it reads, and where that goes, is decided by the founders.
func checkWidening(ctx context.Context, conn connector.Connector, old integration.Integration, request json.RawMessage, ports []integration.Port) error {
	if web.CallerOf(ctx).Provider == "" {
		return nil
	}
	fields, err := connector.Widened(conn, old.Config, request)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ports, func(p integration.Port) bool { return !old.Has(p) }) {
		fields = append(fields, permissionsField)
	}
	return needsFounder(fields)
}

// needsFounder refuses a change of fields by a caller that is bound to the integration. Without fields it returns nil.
func needsFounder(fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	refused := fault.Newf(fault.Forbidden, "the token is bound to this integration and must not widen what the integration reads or sends (%s); a founder has to do it",
		strings.Join(fields, ", "))
	for _, name := range fields {
		refused.Problems = append(refused.Problems, fault.FieldError{Pointer: fault.Pointer(name), Detail: "allows more than before, or something else"})
	}
	return refused
}

// checkEnabling refuses a caller that is bound to the integration, if a user or an import has disabled it. The caller may enable it after its
// endpoint or its failures have.
func checkEnabling(ctx context.Context, i integration.Integration) error {
	if web.CallerOf(ctx).Provider == "" || i.Enabled || i.Disabled == nil {
		return nil
	}
	switch i.Disabled.Reason {
	case integration.DisabledGone, integration.DisabledFailing:
		return nil
	}
	return needsFounder([]string{"enabled"})
}
