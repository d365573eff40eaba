package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReturns checks the way from SES to the notifier's queue, which a stack without an address for mails lacks.
func TestReturns(t *testing.T) {
	t.Parallel()
	if got := stacks["pool"].of("AWS::SES::ConfigurationSet"); len(got) > 0 {
		t.Errorf("the pool sends no mails and has the configuration sets %v", got)
	}
	s := stacks["silo"]
	set, destination := s.of("AWS::SES::ConfigurationSet"), s.of("AWS::SES::ConfigurationSetEventDestination")
	if got := len(set) * len(destination); got != 1 {
		t.Fatalf("configuration sets %v with destinations %v, want one each", set, destination)
	}
	const name = "Orgops-acme"
	if got := s.Resources[set[0]].Properties["Name"]; got != name {
		t.Errorf("configuration set %v, want %s", got, name)
	}
	to := s.Resources[destination[0]].Properties
	if diff := cmp.Diff([]any{"BOUNCE", "COMPLAINT"}, dig(to, "EventDestination", "MatchingEventTypes")); diff != "" {
		t.Errorf("events that SES tells (-want +got):\n%s", diff)
	}
	queue := map[string]any{"Fn::GetAtt": []any{s.named(t, "AWS::SQS::Queue", "EventsNotices"), "Arn"}}
	rule := s.named(t, "AWS::Events::Rule", "EventsReturns")
	want := map[string]any{
		"source": []any{"aws.ses"}, "detail-type": []any{"Email Bounced", "Email Complaint Received"},
		"detail": map[string]any{"mail": map[string]any{"tags": map[string]any{"ses:configuration-set": []any{name}}}},
	}
	if diff := cmp.Diff(want, s.Resources[rule].Properties["EventPattern"]); diff != "" {
		t.Errorf("pattern of the rule (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(queue, dig(s.Resources[rule].Properties, "Targets", 0, "Arn")); diff != "" {
		t.Errorf("target of the rule (-want +got):\n%s", diff)
	}
	allowed := 0
	for _, id := range s.of("AWS::SQS::QueuePolicy") {
		for _, st := range list(dig(s.Resources[id].Properties, "PolicyDocument", "Statement")) {
			if dig(st, "Principal", "Service") != "events.amazonaws.com" {
				continue
			}
			allowed++
			if diff := cmp.Diff(map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": map[string]any{"Fn::GetAtt": []any{rule, "Arn"}}}}, dig(st, "Condition")); diff != "" {
				t.Errorf("condition of EventBridge's right (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(queue, dig(st, "Resource")); diff != "" {
				t.Errorf("queue that EventBridge may send to (-want +got):\n%s", diff)
			}
		}
	}
	if allowed != 1 {
		t.Errorf("%d statements let EventBridge send to a queue, want one", allowed)
	}
	for _, function := range []string{"EventsnotifierFunction", "ApioperationsFunction"} {
		of := s.Resources[s.named(t, "AWS::Lambda::Function", function)]
		if got := dig(of.Properties, "Environment", "Variables", "ORGOPS_MAIL_SET"); got != name {
			t.Errorf("%s sends with the configuration set %v, want %s", function, got, name)
		}
	}
}

// named returns the id of the only resource of a type whose id begins so, with the CDK's eight digits at the end.
func (s *synthesized) named(t *testing.T, kind, name string) string {
	t.Helper()
	for _, id := range s.of(kind) {
		if rest, ok := strings.CutPrefix(id, name); ok && len(rest) == len("A53FC637") {
			return id
		}
	}
	t.Fatalf("no %s is named %s: %v", kind, name, s.of(kind))
	return ""
}
