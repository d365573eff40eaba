package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/infra/api"
	"orgops/shared/base/metric"
	"orgops/shared/testkit/errtest"
)

// alarms returns the template's alarms, as "metric of dimensions" → properties, or by label for an alarm on an expression.
func (s *synthesized) alarms(t *testing.T) map[string]map[string]any {
	t.Helper()
	alarms := map[string]map[string]any{}
	for _, id := range s.of("AWS::CloudWatch::Alarm") {
		p := s.Resources[id].Properties
		name := text(p["MetricName"])
		for _, dimension := range list(p["Dimensions"]) {
			value, _ := json.Marshal(dig(dimension, "Value"))
			name += " " + s.short(string(value))
		}
		for _, m := range list(p["Metrics"]) {
			if expression := dig(m, "Expression"); expression != nil {
				name = text(dig(m, "Label"))
			}
		}
		if alarms[name] != nil {
			t.Errorf("two alarms on %q, want one", name)
		}
		alarms[name] = p
	}
	return alarms
}

// short returns the part of a dimension's value that names the resource: dispatcher, Retries, RetriesDead, Main, the API's
// name.
func (s *synthesized) short(value string) string {
	for _, id := range append(s.of("AWS::Lambda::Function"), append(s.of("AWS::SQS::Queue"), s.of("AWS::DynamoDB::Table")...)...) {
		if strings.Contains(value, `"`+id+`"`) {
			name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(id, "Api"), "Events"), "Data")
			name, _, _ = strings.Cut(name, "Function")
			if len(name) > 8 && s.Resources[id].Type != "AWS::Lambda::Function" {
				name = name[:len(name)-8] // the CDK's hash
			}
			return name
		}
	}
	return strings.Trim(value, `"`)
}

// TestAlarms checks that there is an alarm on every fault, that its text says what to do, and that it goes to the topic, if
// any. Only the clock's alarm fires on missing data.
func TestAlarms(t *testing.T) {
	t.Parallel()
	groups, err := api.Groups()
	errtest.Must(t, err)
	for name, s := range stacks {
		stack := map[string]string{"pool": "Orgops", "silo": "Orgops-acme"}[name]
		stage, _ := json.Marshal(map[string]string{"Ref": s.of("AWS::ApiGateway::Stage")[0]})
		want := []string{
			"5XXError " + stack + " " + string(stage), "Latency " + stack + " " + string(stage), "AuthorizerFailures " + stack, "InboundLimited " + stack, "CanaryLate " + stack, "the account's concurrent calls, %",
			"IteratorAge projector", "IteratorAge dispatcher", "ChangesParked " + stack, "attempts failed, %",
			"ApproximateAgeOfOldestMessage Retries", "ApproximateAgeOfOldestMessage Syncs",
			"ApproximateNumberOfMessagesVisible RetriesDead", "ApproximateNumberOfMessagesVisible SyncsDead", "ApproximateNumberOfMessagesVisible NoticesDead",
			"ApproximateNumberOfMessagesVisible Failed",
			"Invocations ticker", "TimersFailed " + stack, "messages dropped as loops", "ReadThrottleEvents of both tables", "WriteThrottleEvents of both tables", "DynamoDB's own errors",
		}
		if name == "silo" { // it has a domain
			want = append(want, "DaysToExpiry "+certificate)
		}
		for _, function := range functionsOf(name) {
			if function != "notifier" && !slices.ContainsFunc(groups, func(g api.Group) bool { return g.Name == function }) { // the alarm on answers counts those; its queue limits the notifier
				want = append(want, "Throttles "+function)
			}
			if !slices.Contains([]string{"authorizer", "provisioner"}, function) {
				want = append(want, "Errors "+function)
			}
		}
		var got []string
		for alarm, p := range s.alarms(t) {
			got = append(got, alarm)
			if description := text(p["AlarmDescription"]); len(description) < 60 {
				t.Errorf("%s %s: description %q, want at least 60 bytes", name, alarm, description)
			}
			silence := "notBreaching"
			if alarm == "Invocations ticker" {
				silence = "breaching"
			}
			topic := map[string]any{"silo": alarmTopic}[name]
			has(t, name+" "+alarm, p, map[string]any{"AlarmActions.0": topic, "OKActions.0": topic, "TreatMissingData": silence})
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDashboard checks that there is one dashboard with every alarm and every metric of the code, read from where the
// functions write them.
func TestDashboard(t *testing.T) {
	t.Parallel()
	for name, s := range stacks {
		boards := s.of("AWS::CloudWatch::Dashboard")
		if len(boards) != 1 {
			t.Fatalf("%s: dashboards %q, want one", name, boards)
		}
		encoded, _ := json.Marshal(s.Resources[boards[0]].Properties)
		body := string(encoded)
		stack := map[string]string{"pool": "Orgops", "silo": "Orgops-acme"}[name]
		for _, m := range metric.All() {
			if shown := fmt.Sprintf(`\"%s\",\"%s\",\"%s\",\"%s\"`, metric.Namespace, m, metric.Dimension, stack); !strings.Contains(body, shown) {
				t.Errorf("%s: %s is not on the dashboard", name, m)
			}
		}
		for _, id := range s.of("AWS::CloudWatch::Alarm") {
			if !strings.Contains(body, `"`+id+`"`) {
				t.Errorf("%s: %s is not on the dashboard", name, id)
			}
		}
		for _, id := range s.of("AWS::Lambda::Function") {
			if got := dig(s.Resources[id].Properties, "Environment", "Variables", "ORGOPS_STACK"); got != stack {
				t.Errorf("%s: %s writes metrics of %v, want %s", name, id, got, stack)
			}
		}
	}
}

// TestClock checks that neither the rule nor Lambda repeats a call of the ticker, and that both leave out a call that is late by a minute: the next
// one does its work.
func TestClock(t *testing.T) {
	t.Parallel()
	for name, s := range stacks {
		found := map[string]int{}
		for _, id := range s.of("AWS::Lambda::EventInvokeConfig") {
			p := s.Resources[id].Properties
			found[s.short(encoded(t, p["FunctionName"]))]++
			has(t, name+" "+id, p, map[string]any{"MaximumRetryAttempts": 0.0, "MaximumEventAgeInSeconds": 60.0, "DestinationConfig": nil})
		}
		for _, id := range s.of("AWS::Events::Rule") {
			p := s.Resources[id].Properties
			if p["EventPattern"] != nil { // see TestReturns
				continue
			}
			found["rule of "+s.short(encoded(t, dig(p, "Targets", 0, "Arn")))]++
			has(t, name+" "+id, p, map[string]any{
				"ScheduleExpression": "rate(1 minute)", "State": "ENABLED", "Targets.0.RetryPolicy.MaximumRetryAttempts": 0.0, "Targets.0.RetryPolicy.MaximumEventAgeInSeconds": 60.0,
			})
		}
		if diff := cmp.Diff(map[string]int{"ticker": 1, "rule of ticker": 1}, found); diff != "" {
			t.Errorf("%s: what calls the ticker, and how (-want +got):\n%s", name, diff)
		}
	}
}

// TestBudgets checks that the topic of the silo hears when the account has used up its budget, and when AWS expects that it will.
// The pool has no budget.
func TestBudgets(t *testing.T) {
	t.Parallel()
	if got := stacks["pool"].of("AWS::Budgets::Budget"); len(got) != 0 {
		t.Errorf("the pool has the budgets %q, want none by default", got)
	}
	s := stacks["silo"]
	budgets := s.of("AWS::Budgets::Budget")
	if len(budgets) != 1 {
		t.Fatalf("the silo has the budgets %q, want one", budgets)
	}
	p := s.Resources[budgets[0]].Properties
	has(t, "budget", p, map[string]any{"Budget.BudgetType": "COST", "Budget.TimeUnit": "MONTHLY", "Budget.BudgetLimit.Amount": 150.0, "Budget.BudgetLimit.Unit": "USD"})
	kinds := map[any]bool{}
	for _, told := range list(p["NotificationsWithSubscribers"]) {
		kinds[dig(told, "Notification", "NotificationType")] = true
		has(t, "notification", told, map[string]any{
			"Notification.Threshold": 100.0, "Notification.ThresholdType": "PERCENTAGE", "Notification.ComparisonOperator": "GREATER_THAN",
			"Subscribers.0.Address": alarmTopic, "Subscribers.0.SubscriptionType": "SNS",
		})
	}
	if diff := cmp.Diff(map[any]bool{"ACTUAL": true, "FORECASTED": true}, kinds); diff != "" {
		t.Errorf("what the topic hears of (-want +got):\n%s", diff)
	}
}
