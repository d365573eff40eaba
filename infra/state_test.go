package main

import (
	"maps"
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
		p := s.Resources[id].Properties
		has(t, "table "+name, p, map[string]any{
			"PointInTimeRecoverySpecification.RecoveryPeriodInDays": days,
			"BillingMode":                           "PAY_PER_REQUEST",
			"DeletionProtectionEnabled":             true,
			"TimeToLiveSpecification.AttributeName": "expires",
			"StreamSpecification.StreamViewType":    map[string]any{"Main": "NEW_AND_OLD_IMAGES"}[name],
		})
		if dig(p, "SSESpecification", "KMSMasterKeyId") == nil {
			t.Errorf("table %s has no key of its own, want one", name)
		}
	}
	if got := len(s.of("AWS::SecretsManager::RotationSchedule")); got != 1 {
		t.Errorf("%d rotation schedules, want 1", got)
	}
}

// TestRetained checks what outlives the stack, and what a failed first deployment takes back: not the tables, which are protected
// against deletion, nor the key that encrypts them, nor a later wrapping key, with which a running function may have wrapped. The role of
// the gateway's logs stays because it is the account's setting: other APIs may log with it.
func TestRetained(t *testing.T) {
	t.Parallel()
	const always, exceptOnCreate = "Retain", "RetainExceptOnCreate"
	pool := map[string]string{
		"DataMain": always, "DataKeys": always, "DataAtRest": always, "DataWrapping": exceptOnCreate, "DataSigning": exceptOnCreate, "DataTokens": exceptOnCreate,
		"ApiGatewayCloudWatchRole": always, "ApiGatewayAccount": always,
	}
	silo := maps.Clone(pool)
	maps.Copy(silo, map[string]string{"DataWrapping3": always, "EgressAddress1": exceptOnCreate, "EgressAddress2": exceptOnCreate})
	for stack, wanted := range map[string]map[string]string{"pool": pool, "silo": silo} {
		got := map[string]string{}
		for id, r := range stacks[stack].Resources {
			if !strings.HasPrefix(r.DeletionPolicy, "Retain") {
				continue
			}
			name := strings.TrimRight(id, "0123456789ABCDEF")
			if hash := len(id) - 8; hash > len(name) { // the name ends with digits, and the CDK's hash follows
				name = id[:hash]
			}
			got[name] = r.DeletionPolicy
			if r.UpdateReplacePolicy != always {
				t.Errorf("%s: a replaced %s is %s, want it retained", stack, name, r.UpdateReplacePolicy)
			}
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s: deletion policies (-want +got):\n%s", stack, diff)
		}
	}
}

func TestQueues(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	got := map[string]int{"queues": len(s.of("AWS::SQS::Queue")), "policies": len(s.of("AWS::SQS::QueuePolicy"))}
	for _, id := range s.of("AWS::SQS::Queue") {
		p := s.Resources[id].Properties
		has(t, id, p, map[string]any{"SqsManagedSseEnabled": true})
		if dig(p, "RedrivePolicy", "deadLetterTargetArn") != nil {
			got["queues with dead letters"]++
		}
	}
	if diff := cmp.Diff(map[string]int{"queues": 7, "policies": 7, "queues with dead letters": 3}, got); diff != "" {
		t.Errorf("numbers of resources (-want +got):\n%s", diff)
	}
	for _, id := range s.of("AWS::SQS::QueuePolicy") { // refuses unencrypted requests
		deny := dig(s.Resources[id].Properties, "PolicyDocument", "Statement", 0)
		has(t, id, deny, map[string]any{"Effect": "Deny", "Condition.Bool.aws:SecureTransport": "false"})
	}
}

// TestMappings checks that a batch is retried for as long as the stream has its records, that a bad record is isolated, and that
// discarded batches are reported.
func TestMappings(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	readers := map[string]int{}
	for _, id := range s.of("AWS::Lambda::EventSourceMapping") {
		p := s.Resources[id].Properties
		has(t, id, p, map[string]any{"FunctionResponseTypes.0": "ReportBatchItemFailures"})
		if p["StartingPosition"] == nil {
			readers["a queue"]++
			has(t, id, p, map[string]any{"ScalingConfig.MaximumConcurrency": 100.0})
			continue
		}
		readers["the stream"]++
		has(t, id, p, map[string]any{"MaximumRetryAttempts": -1.0, "MaximumRecordAgeInSeconds": 43200.0})
		if dig(p, "DestinationConfig", "OnFailure", "Destination") == nil {
			t.Errorf("%s has no destination for failed batches, want one", id)
		}
		filters, _ := dig(p, "FilterCriteria", "Filters").([]any)
		for _, filter := range filters {
			want := `"quiet":{"BOOL":[{"exists":false}]}`
			if pattern := text(dig(filter, "Pattern")); !strings.Contains(pattern, want) {
				t.Errorf("%s: filter %s, want one with %s", id, pattern, want)
			}
		}
		if len(filters) != 3 {
			t.Errorf("%s: %d filters, want 3", id, len(filters))
		}
	}
	if diff := cmp.Diff(map[string]int{"the stream": 2, "a queue": 3}, readers); diff != "" {
		t.Errorf("numbers of readers (-want +got):\n%s", diff)
	}
	var bounds []any
	for _, id := range stacks["silo"].of("AWS::Lambda::EventSourceMapping") {
		if bound := dig(stacks["silo"].Resources[id].Properties, "ScalingConfig", "MaximumConcurrency"); bound != nil {
			bounds = append(bounds, bound)
		}
	}
	if diff := cmp.Diff([]any{50.0, 50.0, 2.0}, bounds); diff != "" {
		t.Errorf("limits by queueCalls=50 of the notifier, the retrier and the syncer, which has 1 reserved call (-want +got):\n%s", diff)
	}
}
