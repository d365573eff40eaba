package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/aws/smithy-go"
)

// verdict says what a finding means for a deployment.
type verdict string

const (
	fits    verdict = "fits"
	tight   verdict = "tight"        // deploys, and hurts later
	refuses verdict = "does not fit" // the deployment fails, or the service could not take one more company
	unknown verdict = "unknown"      // the account did not tell
)

// finding tells how a stack and one limit of an account go together.
type finding struct {
	verdict verdict
	about   string // the limit
	says    string // the numbers, and what to do
}

// String returns a finding as a line.
func (f finding) String() string { return fmt.Sprintf("%-12s  %-38s  %s", f.verdict, f.about, f.says) }

// limit describes a limit on the number of resources of a type.
type limit struct {
	about, kind   string
	model         string  // what CloudControl needs to list the type, beyond its name
	service, code string  // of the quota; without a code, AWS publishes no quota
	documented    float64 // AWS's documented default
	global        bool    // counts for all regions
	instead       string  // the context value that does without, if there is one
}

// limits lists the limits that the number of stacks, or an optional part of a stack, may meet.
func limits() []limit {
	return []limit{
		{about: "IAM roles", kind: "AWS::IAM::Role", service: "iam", code: "L-FE177D64", documented: 1000, global: true},
		{about: "X-Ray sampling rules", kind: "AWS::XRay::SamplingRule", documented: 25},
		{about: "API Gateway usage plans", kind: "AWS::ApiGateway::UsagePlan", documented: 300},
		{about: "DynamoDB tables", kind: "AWS::DynamoDB::Table", service: "dynamodb", code: "L-F98FE922", documented: 2500},
		{
			about: "WAF web ACLs", kind: "AWS::WAFv2::WebACL", model: `{"Scope":"REGIONAL"}`, service: "wafv2", code: "L-2EC3DE7B", documented: 100,
			instead: "leave out -c firewall=true",
		},
		{about: "VPCs", kind: "AWS::EC2::VPC", service: "vpc", code: "L-F678F1CE", documented: 5, instead: "leave out -c egress=fixed"},
		{about: "Elastic IP addresses", kind: "AWS::EC2::EIP", service: "ec2", code: "L-0263D0A3", documented: 5, instead: "leave out -c egress=fixed"},
	}
}

// judge asks the account everything at once, and returns the findings in a fixed order.
func judge(ctx context.Context, a *account, s stack) []finding {
	deployed, exists, err := a.deployed(ctx, s.name)
	if err != nil {
		// Without the stack's own resources all of them count as new, which can refuse an update that fits.
		return []finding{silent("the deployed stack", err)}
	}
	const table = "AWS::DynamoDB::Table"
	if exists && deployed[table] < s.resources[table] {
		return []finding{{refuses, "restored tables", "the deployed stack uses restored tables, and this one would create empty ones: " +
			"repeat -c mainTable and -c keysTable, or set them in cdk.json"}}
	}
	questions := []func() []finding{
		func() []finding { return a.concurrency(ctx, s, exists) },
		func() []finding { return a.throttle(ctx, s) },
		func() []finding { return a.keys(ctx) },
	}
	for _, l := range limits() {
		if more := s.resources[l.kind] - deployed[l.kind]; s.resources[l.kind] > 0 {
			questions = append(questions, func() []finding { return a.room(ctx, l, max(more, 0)) })
		}
	}
	answers := make([][]finding, len(questions))
	var asked sync.WaitGroup
	for i, ask := range questions {
		asked.Go(func() { answers[i] = ask() })
	}
	asked.Wait()
	return slices.Concat(answers...)
}

// silent returns the finding of a question without an answer. The reason is AWS's error code: its message may quote a request.
func silent(about string, err error) finding {
	reason := "no answer"
	var answer smithy.APIError
	if errors.As(err, &answer) && answer.ErrorCode() != "" {
		reason = answer.ErrorCode()
	}
	return finding{unknown, about, reason + "; allow the read, or compare the limit yourself"}
}

// request returns the command that asks for a higher quota.
func request(service, code string, value float64) string {
	return fmt.Sprintf("aws service-quotas request-service-quota-increase --service-code %s --quota-code %s --desired-value %.0f", service, code, value)
}

const (
	usualCalls  = 1000 // concurrent calls of an established account
	minFree     = 100  // calls that Lambda leaves unreserved; of a smaller account nothing can be reserved
	codeReserve = 1 << 30
)

// concurrency compares the stack with the account's limits of Lambda. A new account has as few as 10 concurrent calls.
func (a *account) concurrency(ctx context.Context, s stack, exists bool) []finding {
	const about = "Lambda: concurrent calls"
	c, err := a.functions(ctx)
	if err != nil {
		return []finding{silent(about, err)}
	}
	free := c.unreserved
	if exists { // what is reserved now is the stack's own
		free = c.limit
	}
	more := request("lambda", "L-B99A9384", usualCalls)
	share := max(2, math.Floor(c.limit/10))
	call := finding{fits, about, fmt.Sprintf("the account has %.0f", c.limit)}
	switch {
	case s.reserved > 0 && free-s.reserved < minFree:
		call = finding{refuses, about, fmt.Sprintf("the functions reserve %.0f of %.0f, and Lambda keeps %d unreserved: -c reserved with smaller numbers or none, or %s",
			s.reserved, free, minFree, more)}
	case len(s.queues) > 0 && slices.Max(s.queues) > share:
		call = finding{tight, about, fmt.Sprintf("each queue's worker may take %.0f of %.0f, and logins would be refused meanwhile: -c queueCalls=%.0f, or %s",
			slices.Max(s.queues), c.limit, share, more)}
	}
	code := finding{fits, "Lambda: stored programs", fmt.Sprintf("%d of %d MB are used", c.codeUsed>>20, c.code>>20)}
	if c.code-c.codeUsed < codeReserve {
		code.verdict, code.says = tight, code.says+": delete old versions of functions, or "+request("lambda", "L-2ACBD22F", 2*float64(c.code>>30))
	}
	return []finding{call, code}
}

// throttle compares the stage's highest rate with that of the account, which all APIs of the region share.
func (a *account) throttle(ctx context.Context, s stack) []finding {
	const about = "API Gateway: requests a second"
	has, err := a.rate(ctx)
	switch {
	case err != nil:
		return []finding{silent(about, err)}
	case s.rate > has:
		return []finding{{tight, about, fmt.Sprintf("the stage admits %.0f, and the account %.0f for all of its APIs: %s", s.rate, has, request("apigateway", "L-8A5B8E43", s.rate))}}
	}
	return []finding{{fits, about, fmt.Sprintf("the account has %.0f, the stage admits %.0f", has, s.rate)}}
}

// maxKeys is the number of API keys of a region, which AWS does not raise. A company of a paid plan has one.
const maxKeys = 10_000

// keys tells how many more companies of a paid plan the region takes.
func (a *account) keys(ctx context.Context) []finding {
	const about = "API Gateway: API keys"
	used, err := a.usageKeys(ctx)
	if err != nil {
		return []finding{silent(about, err)}
	}
	says := fmt.Sprintf("%d of %d are used, one for each company of a paid plan", used, maxKeys)
	const cell = "; AWS raises this for no one: deploy the next companies to another region or account (infra/README.md, \"How many companies\")"
	switch {
	case used >= maxKeys:
		return []finding{{refuses, about, says + cell}}
	case used >= maxKeys*8/10:
		return []finding{{tight, about, says + cell}}
	}
	return []finding{{fits, about, says}}
}

// room compares the number of resources of a type, with those that the stack adds, with its limit.
func (a *account) room(ctx context.Context, l limit, more int) []finding {
	has := l.documented
	var err error
	if l.code != "" {
		if has, err = a.quota(ctx, l); err != nil {
			return []finding{silent(l.about, err)}
		}
	}
	used, err := a.count(ctx, l, has)
	if err != nil {
		return []finding{silent(l.about, err)}
	}
	says := fmt.Sprintf("%d of %.0f are used, and the stack adds %d", used, has, more)
	if float64(used+more) <= has {
		return []finding{{fits, l.about, says}}
	}
	remedies := []string{"use another account"}
	if l.code != "" {
		remedies = []string{request(l.service, l.code, float64(used+more))}
	}
	if l.instead != "" {
		remedies = append([]string{l.instead}, remedies...)
	}
	return []finding{{refuses, l.about, says + ": " + strings.Join(remedies, ", or ")}}
}
