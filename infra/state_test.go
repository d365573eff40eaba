package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTables(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	recovery := map[string]any{"Main": 35.0, "Keys": 1.0}
	for name, days := range recovery {
		var id string
		for _, candidate := range s.of("AWS::DynamoDB::Table") {
			if strings.HasPrefix(candidate, "Data"+name) {
				id = candidate
			}
		}
		r := s.Resources[id]
		p := r.Properties
		for what, ok := range map[string]bool{
			"recovery":           dig(p, "PointInTimeRecoverySpecification", "RecoveryPeriodInDays") == days,
			"pay per request":    p["BillingMode"] == "PAY_PER_REQUEST",
			"deletion protected": p["DeletionProtectionEnabled"] == true,
			"retained":           r.DeletionPolicy == "Retain",
			"own key":            dig(p, "SSESpecification", "KMSMasterKeyId") != nil,
			"expiry":             dig(p, "TimeToLiveSpecification", "AttributeName") == "expires",
			"stream":             (dig(p, "StreamSpecification", "StreamViewType") == "NEW_AND_OLD_IMAGES") == (name == "Main"),
		} {
			if !ok {
				t.Errorf("table %s: %s", name, what)
			}
		}
	}
	for _, kind := range []string{"AWS::KMS::Key", "AWS::SecretsManager::Secret"} {
		for _, id := range s.of(kind) {
			if s.Resources[id].DeletionPolicy != "Retain" {
				t.Errorf("%s is deleted with the stack", id)
			}
		}
	}
	if got := len(s.of("AWS::SecretsManager::RotationSchedule")); got != 1 {
		t.Errorf("%d rotation schedules", got)
	}
}

func TestQueues(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	buried := 0
	for _, id := range s.of("AWS::SQS::Queue") {
		p := s.Resources[id].Properties
		if p["SqsManagedSseEnabled"] != true {
			t.Errorf("%s is not encrypted", id)
		}
		if dig(p, "RedrivePolicy", "deadLetterTargetArn") != nil {
			buried++
		}
	}
	if queues, policies := len(s.of("AWS::SQS::Queue")), len(s.of("AWS::SQS::QueuePolicy")); queues != 5 || policies != queues || buried != 2 {
		t.Errorf("%d queues, %d with a policy, %d with dead letters", queues, policies, buried)
	}
	for _, id := range s.of("AWS::SQS::QueuePolicy") {
		deny := dig(s.Resources[id].Properties, "PolicyDocument", "Statement", 0)
		if dig(deny, "Effect") != "Deny" || dig(deny, "Condition", "Bool", "aws:SecureTransport") != "false" {
			t.Errorf("%s accepts unencrypted requests", id)
		}
	}
}

// TestMappings checks that no batch is retried forever, that a bad record is isolated, and that discarded batches are
// reported.
func TestMappings(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	streams, queues := 0, 0
	for _, id := range s.of("AWS::Lambda::EventSourceMapping") {
		p := s.Resources[id].Properties
		if dig(p, "FunctionResponseTypes", 0) != "ReportBatchItemFailures" {
			t.Errorf("%s does not accept partial batch responses", id)
		}
		if p["StartingPosition"] == nil {
			if queues++; dig(p, "ScalingConfig", "MaximumConcurrency") != 100.0 {
				t.Errorf("%s may make %v concurrent calls", id, p["ScalingConfig"])
			}
			continue
		}
		streams++
		attempts, _ := p["MaximumRetryAttempts"].(float64)
		age, _ := p["MaximumRecordAgeInSeconds"].(float64)
		if attempts < 1 || attempts > 100 || age < 3600 || age > 86400 || p["BisectBatchOnFunctionError"] != true ||
			dig(p, "DestinationConfig", "OnFailure", "Destination") == nil {
			t.Errorf("%s: %v", id, p)
		}
		filters, _ := dig(p, "FilterCriteria", "Filters").([]any)
		for _, filter := range filters {
			if pattern := text(dig(filter, "Pattern")); !strings.Contains(pattern, `"quiet":{"BOOL":[{"exists":false}]}`) {
				t.Errorf("%s: filter %s", id, pattern)
			}
		}
		if len(filters) != 3 {
			t.Errorf("%s: %d filters", id, len(filters))
		}
	}
	if streams != 2 || queues != 2 {
		t.Errorf("%d readers of the stream and %d of queues, want two of each", streams, queues)
	}
	var bounds []any
	for _, id := range stacks["silo"].of("AWS::Lambda::EventSourceMapping") {
		if bound := dig(stacks["silo"].Resources[id].Properties, "ScalingConfig", "MaximumConcurrency"); bound != nil {
			bounds = append(bounds, bound)
		}
	}
	if diff := cmp.Diff([]any{100.0, 2.0}, bounds); diff != "" {
		t.Errorf("limits of the retrier and of the syncer, which has 1 reserved call (-want +got):\n%s", diff)
	}
}
