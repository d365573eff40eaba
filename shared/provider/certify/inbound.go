package certify

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/scheme"
	"orgops/shared/storage/store"
)

// inbound proves that an arrival signed with the integration's secret maps to actions with verdicts. It also proves that
// an unsigned, a changed and a wrongly signed arrival are refused.
func (e Examiner) inbound(ctx context.Context, conn connector.Inbound, c Candidate) []integration.PortCheck {
	now := e.Now().UTC()
	live := c.Secrets.Live(now)
	receive := func(name, title string, o outcome) integration.PortCheck {
		return check(c, integration.InboundReceive, name, title, o)
	}
	if len(live) == 0 {
		return []integration.PortCheck{receive("signing-secret", "There is a signing secret", outcome{
			status: finding.NotApplicable, remedy: configure, evidence: []finding.Evidence{count("signing secrets", 0, "secrets")},
			reason: "no signing secret is configured, so nothing can be received; configure signingSecret to open this port",
		})}
	}
	config := c.Integration.Config
	header, body := conn.SampleArrival(config)
	unsigned := scheme.Request{Method: http.MethodPost, Header: header, Body: body}
	arrivalID := id.New()
	signed, tampered, stranger := unsigned, unsigned, unsigned
	signature := conn.Sign(config, live[0], arrivalID, unsigned, now)
	signed.Header = merge(header, signature)
	tampered.Header, tampered.Body = signed.Header, slices.Concat(body, []byte(" "))
	stranger.Header = merge(header, conn.Sign(config, otherSecret, arrivalID, unsigned, now))
	return []integration.PortCheck{
		receive("maps-signed", "A signed arrival maps, and every action gets a verdict", e.maps(ctx, conn, c, live, signed, len(signature) > 0)),
		receive("refuses-unsigned", "An unsigned arrival is refused", e.refusesInbound(conn, c, live, unsigned)),
		e.refusesTampered(conn, c, live, tampered),
		receive("refuses-stranger", "An arrival signed with another secret is refused", e.refusesInbound(conn, c, live, stranger)),
		seen(ctx, c),
	}
}

// refusesTampered proves that the signature covers the body. Of a provider that signs no body it warns.
func (e Examiner) refusesTampered(conn connector.Inbound, c Candidate, live []string, r scheme.Request) integration.PortCheck {
	o, covered := e.refusesInbound(conn, c, live, r), true
	if u, ok := conn.(connector.Uncovered); ok && !u.Covers(c.Integration.Config, r.Header) {
		o, covered = outcome{status: finding.Warn, remedy: configure, reason: "what the provider sends to prove itself covers no body, so who reads an arrival can send another body with it; use a signing secret if the provider has one"}, false
	}
	found := check(c, integration.InboundReceive, "refuses-tampered", "An arrival whose body was changed is refused", o)
	found.Required = covered
	return found
}

// otherSecret holds a secret that is valid in every signing scheme. No integration uses it.
const otherSecret = "whsec_c3RyYW5nZXJzdHJhbmdlcnN0cmFuZ2Vyc3RyYW5nZXI="

// maps proves it of a sample. If only the provider can sign, it proves the mapping alone.
func (e Examiner) maps(ctx context.Context, conn connector.Inbound, c Candidate, live []string, r scheme.Request, signs bool) outcome {
	if _, err := conn.Verify(c.Integration.Config, live, r, e.Now()); err != nil && signs {
		return failed("an arrival signed with the signing secret was not accepted; rotate the secret", rotate)
	}
	actions, err := e.sample(ctx, conn, c, r.Header, r.Body)
	if fault.KindOf(err) == fault.Unavailable {
		return failed("the sample could not be mapped in time; try again", certify)
	}
	if err != nil || len(actions) == 0 || intake.Validate(actions) != nil {
		return failed("the sample does not map to any action", configure)
	}
	planner := intake.Planner{Company: c.Company, Integration: c.Integration, Engine: e.Engine, Now: e.Now().UTC(), DryRun: true}
	var verdicts []string
	for _, a := range actions {
		planned, err := planner.Plan(ctx, a)
		if err != nil {
			return failed("no verdict could be reached; try again", certify)
		}
		verdicts = append(verdicts, fmt.Sprintf("%s (%s)", a.Port, planned.Decision.Verdict))
	}
	return passed("the sample maps to "+strings.Join(verdicts, ", "), count("actions of the sample", len(actions), "actions"))
}

// seen tells whether the provider itself has sent an arrival. It warns at most, so that automation can certify at once.
func seen(ctx context.Context, c Candidate) integration.PortCheck {
	page, err := c.Company.Query(ctx, store.Query{Prefix: arrival.ReceiptPrefix(arrival.OwnerOf(c.Integration)), Limit: 1})
	o := passed("an arrival from outside was accepted within the last 7 days")
	switch {
	case err != nil:
		o = outcome{status: finding.Warn, reason: "it is unknown whether an arrival from outside has been accepted; try again", remedy: certify}
	case len(page.Items) == 0:
		o = outcome{status: finding.Warn, reason: "no arrival from outside was accepted within the last 7 days; let the provider send one, then look at the inbox"}
	}
	found := check(c, integration.InboundReceive, "seen-from-outside", "An arrival from outside has been seen", o)
	found.Required = false
	return found
}

// sample maps the provider's sample by the default mapping. A company's mapping may rightly ignore the sample; it is checked
// when it is stored, and a preview shows what it gives.
func (e Examiner) sample(ctx context.Context, conn connector.Inbound, c Candidate, header http.Header, body []byte) ([]connector.Action, error) {
	m, err := e.Mappings.Default(conn)
	if err != nil {
		return nil, err
	}
	arrival, err := mapping.Read(conn, c.Integration.Config, c.Integration.Place, header, body)
	if err != nil {
		return nil, err
	}
	matches, err := m.Apply(ctx, arrival)
	return mapping.Actions(matches), err
}

func (e Examiner) refusesInbound(conn connector.Inbound, c Candidate, live []string, r scheme.Request) outcome {
	_, err := conn.Verify(c.Integration.Config, live, r, e.Now())
	if fault.KindOf(err) == fault.Unauthenticated {
		return passed("refused")
	}
	return failed("it was accepted; rotate the signing secret", rotate)
}

func merge(a, b http.Header) http.Header {
	merged := a.Clone()
	if merged == nil {
		merged = http.Header{}
	}
	for name, values := range b {
		merged[name] = values
	}
	return merged
}
