package certify

import (
	"context"
	"fmt"
	"net/http"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
)

// inbound proves that a delivery signed with the integration's secret maps to actions with verdicts. It also proves that
// an unsigned, a changed and a wrongly signed delivery are refused.
func (e Examiner) inbound(ctx context.Context, conn connector.Inbound, c Candidate) []integration.Check {
	now := e.Now().UTC()
	live := c.Secrets.Live(now)
	if len(live) == 0 {
		return []integration.Check{receive("signing-secret", "There is a signing secret", integration.NotApplicable,
			"no signing secret is configured, so nothing can be received; configure signingSecret to open this port")}
	}
	unsigned, body := conn.SampleDelivery(c.Integration.Config)
	deliveryID := id.New()
	signed := merge(unsigned, conn.Sign(live[0], deliveryID, body, now))
	tampered := append([]byte{}, body...)
	tampered = append(tampered, ' ')
	return []integration.Check{
		e.maps(ctx, conn, c, live, signed, body),
		refusedInbound(conn, live, unsigned, body, e, "refuses-unsigned", "An unsigned delivery is refused"),
		refusedInbound(conn, live, signed, tampered, e, "refuses-tampered", "A delivery whose body was changed is refused"),
		refusedInbound(conn, live, merge(unsigned, conn.Sign(otherSecret, deliveryID, body, now)), body, e,
			"refuses-stranger", "A delivery signed with another secret is refused"),
	}
}

// otherSecret holds a secret that is valid in every signing scheme. No integration uses it.
const otherSecret = "whsec_c3RyYW5nZXJzdHJhbmdlcnN0cmFuZ2Vyc3RyYW5nZXI="

func (e Examiner) maps(ctx context.Context, conn connector.Inbound, c Candidate, live []string, header http.Header, body []byte) integration.Check {
	const name, title = "maps-signed", "A signed delivery maps, and every action gets a verdict"
	if _, err := conn.Verify(live, header, body, e.Now()); err != nil {
		return receive(name, title, integration.Fail, "a delivery signed with the signing secret was not accepted; rotate the secret")
	}
	actions, err := conn.Map(c.Integration.Config, header, body)
	if err != nil || len(actions) == 0 || intake.Validate(actions) != nil {
		return receive(name, title, integration.Fail, "the sample does not map to any action")
	}
	planner := intake.Planner{Company: c.Company, Integration: c.Integration, Engine: e.Engine, Now: e.Now().UTC(), DryRun: true}
	verdicts := ""
	for _, a := range actions {
		planned, err := planner.Plan(ctx, a)
		if err != nil {
			return receive(name, title, integration.Fail, "no verdict could be reached; try again")
		}
		verdicts += fmt.Sprintf(" %s %s;", a.Port, planned.Decision.Verdict)
	}
	return receive(name, title, integration.Pass, fmt.Sprintf("%d actions:%s", len(actions), verdicts))
}

func refusedInbound(conn connector.Inbound, live []string, header http.Header, body []byte, e Examiner, name, title string) integration.Check {
	_, err := conn.Verify(live, header, body, e.Now())
	if fault.KindOf(err) == fault.Unauthenticated {
		return receive(name, title, integration.Pass, "refused")
	}
	return receive(name, title, integration.Fail, "the delivery was accepted; rotate the signing secret")
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

func receive(name, title string, status integration.Result, reason string) integration.Check {
	return integration.Check{ID: name, Title: title, Port: integration.InboundReceive, Status: status, Reason: reason, Required: true}
}
