package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statement holds a statement of a role's policy.
type statement struct {
	policy    string
	actions   []string
	resources []any
	condition map[string]any
}

func (s *synthesized) statements(t *testing.T) []statement {
	t.Helper()
	var all []statement
	for _, id := range s.of("AWS::IAM::Policy") {
		for _, v := range list(dig(s.Resources[id].Properties, "PolicyDocument", "Statement")) {
			st := statement{policy: id, resources: list(dig(v, "Resource"))}
			st.condition, _ = dig(v, "Condition").(map[string]any)
			for _, action := range list(dig(v, "Action")) {
				st.actions = append(st.actions, text(action))
			}
			all = append(all, st)
		}
	}
	if len(all) < 50 {
		t.Fatalf("%d statements were found, want at least 50", len(all))
	}
	return all
}

// TestRights checks that policies name their actions and resources, except for the few actions that support no resource. Those on
// network interfaces are Lambda's own: a function's code may not call them.
func TestRights(t *testing.T) {
	t.Parallel()
	byLambda := map[string]any{"Null.lambda:SourceFunctionArn": "true"}
	everywhere := []string{"xray:PutTraceSegments", "xray:PutTelemetryRecords", "dynamodb:ListStreams"}
	for name, s := range stacks {
		for _, st := range s.statements(t) {
			for _, action := range st.actions {
				if strings.Contains(action, "*") {
					t.Errorf("%s %s: action %s, want one without *", name, st.policy, action)
				}
				if strings.HasPrefix(action, "ec2:") {
					has(t, st.policy+": condition of "+action, st.condition, byLambda)
					continue
				}
				if slices.Contains(st.resources, any("*")) && !slices.Contains(everywhere, action) {
					t.Errorf("%s %s: %s on every resource, want named ones", name, st.policy, action)
				}
			}
			for _, resource := range st.resources {
				encoded, _ := json.Marshal(resource)
				if strings.HasSuffix(string(encoded), `::/apikeys/*"]]}`) && slices.Equal(st.actions, []string{"apigateway:DELETE"}) {
					continue // the gateway chooses a key's id
				}
				if strings.Contains(string(encoded), "*") && resource != "*" {
					t.Errorf("%s %s: resource %s, want one without *", name, st.policy, encoded)
				}
			}
		}
		for _, id := range s.of("AWS::IAM::Role") {
			if managed := s.Resources[id].Properties["ManagedPolicyArns"]; managed != nil && !strings.Contains(id, "GatewayCloudWatchRole") && !strings.Contains(id, "CanaryRole") {
				t.Errorf("%s %s has managed policies %v, want none", name, id, managed)
			}
		}
	}
}

// TestRights_LeadingKeys checks that every right on a table's items names the partitions, and does not apply to a request
// without a key.
func TestRights_LeadingKeys(t *testing.T) {
	t.Parallel()
	found := 0
	for _, st := range stacks["pool"].statements(t) {
		streams := strings.Contains(strings.Join(st.actions, " "), "Stream") || slices.Contains(st.actions, "dynamodb:GetRecords")
		if !strings.HasPrefix(st.actions[0], "dynamodb:") || streams {
			continue
		}
		found++
		has(t, fmt.Sprintf("%s: condition of %q", st.policy, st.actions), st.condition, map[string]any{"Null.dynamodb:LeadingKeys": "false"})
		partitions := []string{"C#*", "L#*", "REGISTRY#*", "DUE#*", "SYSTEM", "SPREAD"}
		for _, key := range list(dig(st.condition, "ForAllValues:StringLike", "dynamodb:LeadingKeys")) {
			if !slices.Contains(partitions, text(key)) {
				t.Errorf("%s: partitions %v, want one of %q", st.policy, key, partitions)
			}
			manages := func(function string) bool { return strings.HasPrefix(st.policy, function) }
			if text(key) == "L#*" && !slices.ContainsFunc([]string{"Apiauth", "Apioperations", "Apisso", "Eventsnotifier", "Eventsprovisioner", "Eventsticker"}, manages) {
				t.Errorf("%s reaches logins, want only auth, operations, sso, the notifier, the provisioner and the ticker to", st.policy)
			}
		}
	}
	if found < 15 {
		t.Errorf("%d statements on tables, want at least 15", found)
	}
}

// TestRights_Keys checks that data keys are wrapped and unwrapped only for a named company, and that no function may scan.
func TestRights_Keys(t *testing.T) {
	t.Parallel()
	for _, st := range slices.Concat(stacks["pool"].statements(t), stacks["silo"].statements(t)) {
		for _, action := range st.actions {
			if strings.HasPrefix(action, "kms:") {
				has(t, st.policy+": condition of "+action, st.condition, map[string]any{"ForAnyValue:StringEquals.kms:EncryptionContextKeys": "company"})
				if strings.HasPrefix(st.policy, "Eventsticker") {
					has(t, st.policy+": condition of "+action, st.condition, map[string]any{"StringEquals.kms:EncryptionContext:company": "canary"})
				}
			}
			if slices.Contains([]string{"dynamodb:Scan", "dynamodb:DeleteTable", "kms:ScheduleKeyDeletion"}, action) {
				t.Errorf("%s: %s, want no function with that right", st.policy, action)
			}
		}
	}
}

// TestRights_Wrapping checks that every function that opens credentials knows the wrapping key and all former ones, may
// decrypt with all of them, and may not encrypt with a former one. Another number creates another key; the first key keeps
// its logical id.
func TestRights_Wrapping(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{"pool": {"DataWrapping"}, "silo": {"DataWrapping", "DataWrapping3", formerKey}} {
		s := stacks[name]
		if name == "pool" && !slices.Contains(s.of("AWS::KMS::Key"), "DataWrapping9CFCE0A1") {
			t.Error("the wrapping key of the pool would be replaced")
		}
		opening := 0
		for _, id := range s.of("AWS::Lambda::Function") {
			variables := dig(s.Resources[id].Properties, "Environment", "Variables")
			told := s.keys(dig(variables, "ORGOPS_WRAPPING_KEY"), dig(variables, "ORGOPS_FORMER_WRAPPING_KEYS"))
			function, _, _ := strings.Cut(id, "Function")
			may := map[string][]string{}
			for _, st := range s.statements(t) {
				if strings.HasPrefix(st.policy, function+"Role") {
					for _, action := range st.actions {
						if strings.HasPrefix(action, "kms:") {
							may[action] = s.keys(st.resources...)
						}
					}
				}
			}
			if len(told) == 0 && len(may) == 0 {
				continue
			}
			for what, got := range map[string][]string{"knows": told, "may decrypt with": may["kms:Decrypt"]} {
				if !slices.Equal(got, want) {
					t.Errorf("%s %s %s %q, want %q", name, id, what, got, want)
				}
			}
			current := s.keys(dig(variables, "ORGOPS_WRAPPING_KEY"))
			if encrypt := may["kms:Encrypt"]; encrypt != nil && !slices.Equal(encrypt, current) {
				t.Errorf("%s %s encrypts with %q, want %q", name, id, encrypt, current)
			}
			opening++
		}
		if opening < 5 {
			t.Errorf("%s: %d functions open credentials, want at least 5", name, opening)
		}
	}
	if current := stacks["silo"].keys(stacks["silo"].Outputs["AdminVariables"].Value); !slices.Contains(current, "DataWrapping3") {
		t.Errorf("the operator's variables name %q, want DataWrapping3 among them", current)
	}
}

// keys returns the wrapping keys that the values name.
func (s *synthesized) keys(values ...any) []string {
	encoded, _ := json.Marshal(values)
	var found []string
	for _, match := range regexp.MustCompile(`DataWrapping[0-9A-F]+|arn:aws:kms:[^",]+`).FindAllString(string(encoded), -1) {
		if logical, ok := strings.CutPrefix(match, "DataWrapping"); ok {
			match = "DataWrapping" + logical[:len(logical)-8] // without the CDK's hash
		}
		found = append(found, match)
	}
	slices.Sort(found)
	return found
}

// TestRights_Signing checks that only the functions that sign tokens can read the signing keys, and that functions that only
// verify cannot write the published keys.
func TestRights_Signing(t *testing.T) {
	t.Parallel()
	may := map[string][]string{} // functions' policies by secret and right
	for _, st := range stacks["pool"].statements(t) {
		function, _, _ := strings.Cut(st.policy, "Role")
		for _, resource := range st.resources {
			for _, action := range st.actions {
				if secret := text(dig(resource, "Ref")); strings.HasPrefix(action, "secretsmanager:") {
					name := strings.TrimRight(secret, "0123456789ABCDEF") + " " + action
					may[name] = append(may[name], function)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"DataSigning secretsmanager:GetSecretValue":           "Apiauth Eventsrotator",
		"DataSigning secretsmanager:PutSecretValue":           "Eventsrotator",
		"DataSigning secretsmanager:UpdateSecretVersionStage": "Eventsrotator",
		"DataTokens secretsmanager:PutSecretValue":            "Eventsrotator",
	} {
		slices.Sort(may[name])
		if got := strings.Join(may[name], " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if n := len(may["DataTokens secretsmanager:GetSecretValue"]); n < 7 {
		t.Errorf("%d functions verify tokens, want at least 7", n)
	}
}

// TestRights_Reading checks that a group whose operations are all GET cannot write.
func TestRights_Reading(t *testing.T) {
	t.Parallel()
	for _, st := range stacks["pool"].statements(t) {
		if strings.HasPrefix(st.policy, "Apimissioncontrol") && slices.Contains(st.actions, "dynamodb:PutItem") {
			t.Errorf("missioncontrol has the rights %q, want none to write", st.actions)
		}
	}
}

// TestPermissions checks that every permission to call a function names the resource that may call it.
func TestPermissions(t *testing.T) {
	t.Parallel()
	for _, id := range stacks["pool"].of("AWS::Lambda::Permission") {
		p := stacks["pool"].Resources[id].Properties
		if p["SourceArn"] == nil {
			t.Errorf("%s: any resource of %v may call the function, want one", id, p["Principal"])
		}
	}
}
