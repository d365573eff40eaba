package certify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
)

// fetchBudget limits the time for all sample pages together.
const fetchBudget = 20 * time.Second

// source proves that the provider can be fetched and that its items validate. It stores nothing.
func (e Examiner) source(ctx context.Context, source connector.Source, c Candidate) []integration.Check {
	ctx, cancel := context.WithTimeout(ctx, fetchBudget)
	defer cancel()
	page, err := source.Fetch(ctx, connector.Fetch{Config: c.Integration.Config, Credentials: c.Secrets.Values, Full: true})
	checks := []integration.Check{fetched(page, err)}
	if checks[0].Status == integration.Pass {
		checks = append(checks, permitted(page, c.Integration), credentials(ctx, source, c))
	}
	return checks
}

// credentials proves that a fetch with wrong credentials fails. The fetch with the stored credentials has already
// succeeded.
func credentials(ctx context.Context, source connector.Source, c Candidate) integration.Check {
	const name, title = "credentials", "Credentials work, and wrong ones fail"
	if len(c.Secrets.Values) == 0 {
		return integration.Check{
			ID: name, Title: title, Port: integration.SyncPull, Status: integration.NotApplicable,
			Reason: "no credentials are stored, and the fetch worked without them",
		}
	}
	wrong := make(map[string]string, len(c.Secrets.Values))
	for field := range c.Secrets.Values {
		wrong[field] = "wrong-" + rand.Text()
	}
	_, err := source.Fetch(ctx, connector.Fetch{Config: c.Integration.Config, Credentials: wrong, Full: true})
	var throttled *connector.ThrottledError
	switch {
	case err == nil:
		return pull(name, title, integration.Fail, "a fetch with wrong credentials also worked; delete the stored credentials, which the provider does not need")
	case errors.As(err, &throttled), ctx.Err() != nil:
		return pull(name, title, integration.Fail, "the provider did not answer to wrong credentials; certify again later")
	}
	return pull(name, title, integration.Pass, "fetched with the stored credentials, refused with wrong ones")
}

func fetched(page connector.FetchedPage, err error) integration.Check {
	const name, title = "sandbox-page", "A page is fetched and every item of it validates"
	var throttled *connector.ThrottledError
	var f *fault.Error
	switch {
	case errors.As(err, &throttled):
		return pull(name, title, integration.Fail, "the provider asks to wait until "+throttled.Until.Format(time.RFC3339)+"; certify again then")
	case errors.As(err, &f):
		return pull(name, title, integration.Fail, f.Detail)
	case err != nil:
		return pull(name, title, integration.Fail, "the provider could not be fetched")
	}
	bad := 0
	for _, m := range page.Memories {
		bad += invalid(connector.Action{Memory: &m})
	}
	for _, g := range page.Goals {
		bad += invalid(connector.Action{Goal: &g})
	}
	total := len(page.Memories) + len(page.Goals)
	if bad > 0 {
		return pull(name, title, integration.Fail, fmt.Sprintf("%d of %d items do not validate: each needs an id and a title", bad, total))
	}
	return pull(name, title, integration.Pass, fmt.Sprintf("%d items", total))
}

func invalid(a connector.Action) int {
	if len(intake.Problems(a)) > 0 {
		return 1
	}
	return 0
}

// permitted checks that the integration has the permissions that the page's items need.
func permitted(page connector.FetchedPage, i integration.Integration) integration.Check {
	const name, title = "ports-used", "The fetched items are within the permissions"
	if len(page.Memories) > 0 && !i.Has(integration.MemoryUpsert) {
		return pull(name, title, integration.Fail, "the page holds memories, but the integration lacks the permission for them")
	}
	if len(page.Goals) > 0 && !i.Has(integration.GoalUpdate) {
		return pull(name, title, integration.Fail, "the page holds goals, but the integration lacks the permission for them")
	}
	return pull(name, title, integration.Pass, "every item is within the permissions")
}

func pull(name, title string, status integration.Result, reason string) integration.Check {
	return integration.Check{ID: name, Title: title, Port: integration.SyncPull, Status: status, Reason: reason, Required: true}
}
