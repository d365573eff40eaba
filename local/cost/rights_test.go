package main

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/functions"
	"orgops/shared/awstest"
)

// rights are those of several functions, each as "dynamodb:PutItem Main C#*": an action on a resource of the template, of a
// table on the items in one kind of partition. Reading is one, be it by a key or by a range.
type rights map[string]map[string]bool

func (r rights) add(function string, of ...string) {
	if r[function] == nil {
		r[function] = map[string]bool{}
	}
	for _, one := range of {
		r[function][strings.Replace(one, ":Query ", ":GetItem ", 1)] = true
	}
}

// unmeasured is what functions do in no step, and what Lambda does as them.
var unmeasured = []struct {
	why, function string
	of            []string
}{
	{"a connector may open credentials, and its page bring goals", "syncer", []string{"dynamodb:GetItem Keys C#*", "kms:Decrypt Wrapping", "dynamodb:PutItem Main DUE#*"}},
	{"a run goes on in another slice", "syncer", []string{"sqs:SendMessage Syncs"}},
	{"a message that nobody understands", "syncer", []string{"sqs:SendMessage SyncsDead"}},
	{"a message that nobody understands", "retrier", []string{"sqs:SendMessage RetriesDead"}},
	{"a company's first credentials", "integrations", []string{"dynamodb:PutItem Keys C#*", "kms:Encrypt Wrapping"}},
	{"an address that has a login already", "provisioner", []string{"dynamodb:GetItem Main L#*", "dynamodb:GetItem Main C#*"}},
	{"changes that are given up", "projector", []string{"sqs:SendMessage Failed"}},
	{"changes that are given up", "dispatcher", []string{"sqs:SendMessage Failed"}},
	{"the poller", "retrier", []string{"sqs:ReceiveMessage Retries", "sqs:GetQueueAttributes Retries"}},
	{"the poller", "syncer", []string{"sqs:ReceiveMessage Syncs", "sqs:GetQueueAttributes Syncs", "sqs:DeleteMessage Syncs"}},
}

// checkRights: what a function asks for is what its role may, neither more nor less. No emulator asks whether a role may.
func (w *world) checkRights(t *testing.T, used rights) {
	for _, u := range unmeasured {
		used.add(u.function, u.of...)
	}
	granted := grantedRights(t)
	if len(granted) < 10 || len(granted["retrier"]) < 5 {
		t.Errorf("the check sees too little: %v", granted)
	}
	for function := range granted {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(granted[function])), slices.Sorted(maps.Keys(used[function]))); diff != "" {
			t.Errorf("%s (-its role may +it does):\n%s", function, diff)
		}
	}
}

// statement is one of a role's policy in the template.
type statement struct {
	Action, Resource any
	Condition        map[string]map[string]any
}

// grantedRights are the rights to items, messages and the wrapping key that the template's policies grant.
func grantedRights(t *testing.T) rights {
	t.Helper()
	text, err := golden()
	must(t, err)
	var deployed struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				PolicyDocument struct{ Statement []statement }
			}
		}
	}
	must(t, json.Unmarshal(text, &deployed))
	all := rights{}
	for id, r := range deployed.Resources {
		if r.Type == "AWS::IAM::Policy" {
			role, _, _ := strings.Cut(id, "RoleDefaultPolicy")
			for _, s := range r.Properties.PolicyDocument.Statement {
				all.add(functionName(role), s.rights()...)
			}
		}
	}
	return all
}

func (s statement) rights() (all []string) {
	partitions, bound := s.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
	for _, action := range list(s.Action) {
		for _, resource := range list(s.Resource) {
			name := resourceName(resource)
			service, _, _ := strings.Cut(action.(string), ":")
			switch {
			case name == "":
			case bound:
				for _, partition := range list(partitions) {
					all = append(all, action.(string)+" "+name+" "+partition.(string))
				}
			case service == "sqs" || service == "kms":
				all = append(all, action.(string)+" "+name)
			}
		}
	}
	return all
}

func list(v any) []any {
	if elements, ok := v.([]any); ok {
		return elements
	}
	return []any{v}
}

// resourceName is Main, Retries, Wrapping; "" is a resource that is named in another way.
func resourceName(resource any) string {
	reference, _ := resource.(map[string]any)
	attribute, _ := reference["Fn::GetAtt"].([]any)
	if len(attribute) != 2 || attribute[1] != "Arn" {
		return ""
	}
	id, _ := attribute[0].(string)
	const hash = len("A53FC637") // the CDK's
	return strings.TrimPrefix(strings.TrimPrefix(id[:len(id)-hash], "Data"), "Events")
}

// functions says which function takes a step: a route group that has the operation, or the worker that the step names.
func (w *world) functions() func(step string) string {
	groups, s := map[string]string{}, w.fresh()
	for _, g := range functions.Groups() {
		server := s.Web("")
		g.Register(server.API(), s)
		for _, op := range server.Operations() {
			groups[op.OperationID] = g.Name
		}
	}
	return func(step string) string {
		operation, _, _ := strings.Cut(step, ",")
		if group, ok := groups[operation]; ok {
			return group
		}
		worker, _, _ := strings.Cut(step, ":")
		return worker
	}
}

// item is what a part of a request to DynamoDB is about.
type item struct {
	TableName string
	Key, Item struct{ PK struct{ S string } }
}

func (i *item) right(operation string) []string {
	if i == nil {
		return nil
	}
	table, _, _ := strings.Cut(i.TableName, "-")
	kind, _, many := strings.Cut(i.Key.PK.S+i.Item.PK.S, "#")
	if many {
		kind += "#*"
	}
	return []string{"dynamodb:" + operation + " " + title(table) + " " + kind}
}

// needed are the rights to items, messages and the wrapping key that a request needs.
func needed(t *testing.T, r awstest.Request) (all []string) {
	t.Helper()
	var body struct {
		item
		Values        map[string]struct{ S string } `json:"ExpressionAttributeValues"`
		TransactItems []struct{ Put, Delete, ConditionCheck *item }
		QueueURL      string `json:"QueueUrl"`
	}
	if strings.Contains(r.Operation, "Secret") || strings.HasPrefix(r.Operation, "POST /") { // infra has tests of these
		return nil
	}
	must(t, json.Unmarshal([]byte(r.Body), &body))
	switch operation := strings.TrimSuffix(r.Operation, "Batch"); operation {
	case "TransactWriteItems":
		for _, part := range body.TransactItems {
			all = slices.Concat(all, part.Put.right("PutItem"), part.Delete.right("DeleteItem"), part.ConditionCheck.right("ConditionCheckItem"))
		}
		return all
	case "Query":
		body.Key.PK = body.Values[":pk"]
		return body.right(operation)
	case "SendMessage", "DeleteMessage":
		queue, _, _ := strings.Cut(path.Base(body.QueueURL), "-")
		return []string{"sqs:" + operation + " " + title(queue)}
	case "Encrypt", "Decrypt":
		return []string{"kms:" + operation + " Wrapping"}
	default:
		return body.right(operation)
	}
}

func title(name string) string {
	if name == "" {
		return "nothing"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
