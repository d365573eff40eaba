package certify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/phrase"
	"orgops/shared/base/text"
	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/egress"
	"orgops/shared/provider/intake"
)

// fetchBudget limits the time for all sample pages together.
const fetchBudget = 20 * time.Second

// source proves that the provider can be fetched and that its items validate. It stores nothing. until is when the stored
// credentials expire, or zero if the provider does not say so.
func (e Examiner) source(ctx context.Context, source connector.Source, c Candidate) (checks []integration.PortCheck, until time.Time) {
	values := c.Credentials
	if missing := connector.Missing(source, c.Integration.Config, slices.Collect(maps.Keys(values))); len(missing) > 0 {
		return []integration.PortCheck{check(c, integration.SyncPull, "credentials", "Credentials work, and wrong ones fail", outcome{
			status: finding.NotApplicable, remedy: storeCredentials,
			evidence: []finding.Evidence{count("missing credentials", len(missing), "credentials")},
			reason:   "a sync needs the credential " + strings.Join(missing, " and ") + "; store it to open this port",
		})}, time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, fetchBudget)
	defer cancel()
	page, refusal, err := e.fetch(ctx, source, c, values)
	pull := func(name, title string, o outcome) integration.PortCheck {
		return check(c, integration.SyncPull, name, title, o)
	}
	checks = []integration.PortCheck{pull("sandbox-page", "A page is fetched and every item of it validates", fetched(page, refusal, err))}
	if checks[0].Status == finding.Fail {
		return checks, page.CredentialsUntil
	}
	credentials := pull("credentials", "Credentials work, and wrong ones fail", e.credentials(ctx, source, c, page))
	credentials.Required = credentials.Status != finding.NotApplicable // a source may need none
	return append(checks, pull("ports-used", "What is fetched stays within the permissions", permitted(page, c.Integration)), credentials), page.CredentialsUntil
}

// fetch fetches the first page under the policies, as a full sync does. It returns the decision that refuses a host.
func (e Examiner) fetch(
	ctx context.Context, source connector.Source, c Candidate, credentials map[string]string,
) (connector.FetchedPage, *policy.Decision, error) {
	gate := egress.Gate{
		Engine: e.Engine, Company: c.Company, Integration: c.Integration, Now: e.Now, DryRun: true, Certifying: true,
	}
	page, decided, err := gate.Fetch(ctx, func(ctx context.Context) (connector.FetchedPage, error) {
		return connector.FetchPage(ctx, source, connector.Fetch{
			Config: c.Integration.Config, Credentials: credentials, Base: c.Base, Full: true, Mapper: e.Mappings,
		})
	})
	return page, decided.Refusal, err
}

// credentials proves that a fetch with wrong credentials fails where one with the stored credentials gave a page. Each answer that
// is not the list is a refusal: providers answer wrong credentials with many statuses, and with pages to sign in.
func (e Examiner) credentials(ctx context.Context, source connector.Source, c Candidate, page connector.FetchedPage) outcome {
	values := c.Credentials
	stored := count("stored credentials", len(values), "credentials")
	if len(values) == 0 {
		return outcome{
			status: finding.NotApplicable, evidence: []finding.Evidence{stored},
			reason: "no credentials are stored, and the fetch worked without them",
		}
	}
	wrong := make(map[string]string, len(values))
	for field := range values {
		wrong[field] = "wrong-" + rand.Text()
	}
	shown, refusal, err := e.fetch(ctx, source, c, wrong)
	var throttled *connector.ThrottledError
	switch {
	case refusal != nil:
		return failed(egress.Explain(*refusal), govern, stored)
	case err == nil:
		return unrefused(source, c, page, shown, stored)
	case errors.As(err, &throttled), ctx.Err() != nil:
		return failed("the provider did not answer to wrong credentials; certify again later", certify, stored)
	}
	if _, ok := source.(connector.Authenticated); ok && !errors.Is(err, connector.ErrRefused) && !errors.Is(err, connector.ErrNotListed) {
		return failed("the provider failed instead of refusing wrong credentials; certify again later", certify, stored)
	}
	return passed("fetched with the stored credentials, refused with wrong ones", stored)
}

// unrefused says what it means that wrong credentials gave a page too. A provider that shows fewer items to them hides items
// instead of refusing: there the credentials are needed, although a wrong one does not fail.
func unrefused(source connector.Source, c Candidate, page, shown connector.FetchedPage, stored finding.Evidence) outcome {
	right, wrong := names(page), names(shown)
	evidence := []finding.Evidence{
		stored, count("items with the stored credentials", len(right), "items"), count("items with wrong credentials", len(wrong), "items"),
	}
	switch {
	case len(right) == 0 && len(wrong) == 0:
		return outcome{status: finding.NotApplicable, evidence: evidence, reason: "the list is empty with the stored credentials and with " +
			"wrong ones, so nothing tells whether the provider checks them; certify again when the list has items"}
	case !slices.Equal(right, wrong):
		return outcome{status: finding.Warn, evidence: evidence, reason: fmt.Sprintf("the first page has %d items with the stored "+
			"credentials, and %d with wrong ones: the provider hides items instead of refusing. Credentials that end look as if the items had "+
			"been deleted, so watch when they end", len(right), len(wrong))}
	case len(connector.Missing(source, c.Integration.Config, nil)) > 0:
		return failed("it was fetched with wrong credentials as well; they are not needed, so configure it without authentication", configure, evidence...)
	}
	return failed("it was fetched with wrong credentials as well; delete the stored ones, they are not needed", destroy, evidence...)
}

// names lists the ids of a page's items, sorted.
func names(page connector.FetchedPage) (all []string) {
	for _, m := range page.Memories {
		all = append(all, "memory "+m.ExternalID)
	}
	for _, g := range page.Goals {
		all = append(all, "goal "+g.ExternalID)
	}
	for _, n := range page.Notes {
		all = append(all, "note "+n.Subject)
	}
	slices.Sort(all)
	return all
}

func fetched(page connector.FetchedPage, refusal *policy.Decision, err error) outcome {
	var throttled *connector.ThrottledError
	var f *fault.Error
	switch {
	case refusal != nil:
		return failed(egress.Explain(*refusal), govern)
	case errors.As(err, &throttled):
		return failed("the provider asks to wait until "+throttled.Until.Format(time.RFC3339)+"; certify again then", certify,
			finding.Evidence{Name: "the provider's wait", At: throttled.Until.UTC()})
	case errors.As(err, &f):
		return failed(f.Detail, elsewhere)
	case err != nil:
		return failed("the provider could not be fetched", elsewhere)
	}
	total, skipped := examine(page)
	evidence := []finding.Evidence{count("items of the page", total, "items"), count("items that do not validate", len(skipped), "items")}
	switch {
	case len(skipped) > 0 && len(skipped) == total:
		return failed(fmt.Sprintf("%d of %s not validate: %s", total, phrase.Plural(total, "item does", "items do"), explain(skipped[0])), elsewhere, evidence...)
	case len(skipped) > 0:
		return outcome{status: finding.Warn, evidence: evidence, reason: warned(page.Warnings, fmt.Sprintf(
			"%d of %d items do not validate, and each sync leaves them out: %s", len(skipped), total, explain(skipped[0])))}
	case len(page.Warnings) > 0:
		return outcome{status: finding.Warn, evidence: evidence, reason: warned(page.Warnings, phrase.Plural(total, "item", "items"))}
	}
	return passed(phrase.Plural(total, "item", "items"), evidence...)
}

// examine counts the items of a page, and lists those that a sync leaves out.
func examine(page connector.FetchedPage) (total int, skipped []connector.Skipped) {
	skipped = slices.Clone(page.Skipped)
	look := func(a connector.Action) {
		if len(intake.Problems(a)) > 0 {
			skipped = append(skipped, intake.Skip(a))
		}
	}
	for _, m := range page.Memories {
		look(connector.Action{Memory: &m})
	}
	for _, g := range page.Goals {
		look(connector.Action{Goal: &g})
	}
	for _, n := range page.Notes {
		look(connector.Action{Note: &n})
	}
	return len(page.Memories) + len(page.Goals) + len(page.Notes) + len(page.Skipped), skipped
}

// maxName limits what a reason quotes of the provider's text, in bytes.
const maxName = 100

// explain says why an item is left out, and which.
func explain(s connector.Skipped) string {
	if s.Item == "" {
		return s.Reason
	}
	return fmt.Sprintf("%s (%q)", s.Reason, text.Truncate(s.Item, maxName))
}

// warned puts the source's warnings behind what was found.
func warned(warnings []string, found string) string {
	return strings.Join(append([]string{found}, warnings...), "; ")
}

// permitted checks that the integration has the permissions that the page's items need, unless the company has narrowed them.
func permitted(page connector.FetchedPage, i integration.Integration) outcome {
	evidence := []finding.Evidence{
		count("memories of the page", len(page.Memories), "items"), count("goals of the page", len(page.Goals), "items"),
		count("notes of the page", len(page.Notes), "items"),
	}
	if i.Narrowed {
		return passed("the company has narrowed the permissions; the policies deny every item outside of them", evidence...)
	}
	if len(page.Memories) > 0 && !i.Has(integration.MemoryUpsert) {
		return failed("the page holds memories, but the integration lacks the permission for them", configure, evidence...)
	}
	if len(page.Goals) > 0 && !i.Has(integration.GoalUpdate) {
		return failed("the page holds goals, but the integration lacks the permission for them", configure, evidence...)
	}
	if len(page.Notes) > 0 && !i.Has(integration.TimelineNote) {
		return failed("the page holds notes, but the integration lacks the permission for them", configure, evidence...)
	}
	return passed("every item is within the permissions", evidence...)
}
