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
	"orgops/shared/run/server"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

// rights maps functions to their rights, each as "dynamodb:PutItem Main C#*": an action on a resource of the template and,
// for a table, a kind of partition. Get and query count as one right.
type rights map[string]map[string]bool

func (r rights) add(function string, of ...string) {
	if r[function] == nil {
		r[function] = map[string]bool{}
	}
	for _, one := range of {
		r[function][strings.Replace(one, ":Query ", ":GetItem ", 1)] = true
	}
}

// unmeasured lists rights that no step uses, or that Lambda uses in a function's role.
var unmeasured = []struct {
	why, function string
	of            []string
}{
	{"a connector may open credentials, and its page may hold goals", "syncer", []string{"dynamodb:GetItem Keys C#*", "kms:Decrypt Wrapping", "dynamodb:PutItem Main DUE#*"}},
	{"a message that waits for long, or was deferred often", "retrier", []string{"dynamodb:PutItem Main DUE#*"}},
	{"the timer of such a message", "ticker", []string{"sqs:SendMessage Retries", "sqs:SendMessage Syncs"}},
	{"the timer of such a message", "ticker", []string{"sqs:SendMessage Notices"}},
	{"the code of an invitation", "notifier", []string{"dynamodb:GetItem Keys C#*", "kms:Decrypt Wrapping"}},
	{"a mail at the end of the quiet hours, and a mail that failed", "notifier", []string{"sqs:SendMessage Notices", "sqs:ChangeMessageVisibility Notices", "dynamodb:PutItem Main DUE#*"}},
	{"a malformed message", "notifier", []string{"sqs:SendMessage NoticesDead"}},
	{"an item of a company that grows", "notifier", []string{"dynamodb:ConditionCheckItem Main C#*"}},
	{"what people must know", "dispatcher", []string{"sqs:SendMessage Notices"}},
	{"the poller", "notifier", []string{"sqs:ReceiveMessage Notices", "sqs:GetQueueAttributes Notices", "sqs:DeleteMessage Notices"}},
	{"a run continues in another slice", "syncer", []string{"sqs:SendMessage Syncs"}},
	{"a failed message", "syncer", []string{"sqs:ChangeMessageVisibility Syncs"}},
	{"a failed message", "retrier", []string{"sqs:ChangeMessageVisibility Retries"}},
	{"a malformed message", "syncer", []string{"sqs:SendMessage SyncsDead"}},
	{"a malformed message", "retrier", []string{"sqs:SendMessage RetriesDead"}},
	{"a company's first invitation with an Idempotency-Key", "operations", []string{"dynamodb:PutItem Keys C#*", "kms:Encrypt Wrapping"}},
	{"an executive's action that needs an approval, which expires", "mcp", []string{"dynamodb:PutItem Main DUE#*"}},
	{"an approved goal with a due date", "operations", []string{"dynamodb:PutItem Main DUE#*"}},
	{"a source with a schedule", "integrations", []string{"dynamodb:PutItem Main DUE#*"}},
	{"a company's first credentials", "integrations", []string{"dynamodb:PutItem Keys C#*", "kms:Encrypt Wrapping"}},
	{"an address that already has a login", "provisioner", []string{"dynamodb:GetItem Main L#*", "dynamodb:GetItem Main C#*"}},
	{"the secret of the canary's endpoint", "ticker", []string{"kms:Decrypt Wrapping", "kms:Encrypt Wrapping"}},
	{"an erasure", "ticker", []string{
		"dynamodb:DeleteItem Main L#*", "dynamodb:DeleteItem Main REGISTRY#*", "dynamodb:GetItem Main L#*", "dynamodb:GetItem Main REGISTRY#*",
		"dynamodb:GetItem Keys C#*", "dynamodb:PutItem Keys C#*", "dynamodb:GetItem Main SYSTEM", "dynamodb:PutItem Main SYSTEM",
	}},
	{"the first second factor, and a company's first answer that is kept sealed", "auth", []string{"dynamodb:PutItem Keys C#*", "kms:Encrypt Wrapping"}},
	{"a company's first code of a reset", "notifier", []string{"dynamodb:PutItem Keys C#*", "kms:Encrypt Wrapping"}},
	{"a company's first client secret", "sso", []string{"dynamodb:PutItem Keys C#*", "kms:Encrypt Wrapping"}},
	{"a user whom single sign-on takes over", "sso", []string{"dynamodb:DeleteItem Main L#*"}},
	{"a list of companies, and a suspension with its timer", "provisioner", []string{"dynamodb:GetItem Main REGISTRY#*", "dynamodb:PutItem Main DUE#*"}},
	{"a busy company grows", "projector", []string{"dynamodb:PutItem Main SPREAD"}},
	{"discarded changes", "projector", []string{"sqs:SendMessage Failed"}},
	{"discarded changes", "dispatcher", []string{"sqs:SendMessage Failed"}},
	{"the poller", "retrier", []string{"sqs:ReceiveMessage Retries", "sqs:GetQueueAttributes Retries"}},
	{"the poller", "syncer", []string{"sqs:ReceiveMessage Syncs", "sqs:GetQueueAttributes Syncs", "sqs:DeleteMessage Syncs"}},
}

// checkRights checks that each role grants exactly the rights that its function uses. An emulator that checks rights notices
// only the missing ones.
func (w *world) checkRights(t *testing.T, used rights) {
	for _, u := range unmeasured {
		used.add(u.function, u.of...)
	}
	for function, rights := range used {
		if rights["dynamodb:GetItem Main C#*"] { // once a minute
			used.add(function, "dynamodb:GetItem Main SPREAD")
		}
		if rights["dynamodb:PutItem Main C#*"] { // while a company begins another level
			used.add(function, "dynamodb:ConditionCheckItem Main C#*")
		}
	}
	granted := grantedRights(t)
	if len(granted) < 10 {
		t.Errorf("the check saw the rights of %d functions, want at least 10: %v", len(granted), granted)
	}
	if n := len(granted["retrier"]); n < 5 {
		t.Errorf("the check saw %d rights of the retrier, want at least 5: %v", n, granted)
	}
	for function := range granted {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(granted[function])), slices.Sorted(maps.Keys(used[function]))); diff != "" {
			t.Errorf("%s (-granted +used):\n%s", function, diff)
		}
	}
}

// statement holds a statement of a role's policy in the template.
type statement struct {
	Action, Resource any
	Condition        map[string]map[string]any
}

// grantedRights returns the rights to items, messages and the wrapping key that the template's policies grant.
func grantedRights(t *testing.T) rights {
	t.Helper()
	text, err := golden()
	errtest.Must(t, err)
	var deployed struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				PolicyDocument struct{ Statement []statement }
			}
		}
	}
	errtest.Must(t, json.Unmarshal(text, &deployed))
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

// resourceName returns a name such as Main, Retries or Wrapping, or "" for a resource that is not named by reference.
func resourceName(resource any) string {
	reference, _ := resource.(map[string]any)
	attribute, _ := reference["Fn::GetAtt"].([]any)
	if len(attribute) != 2 || attribute[1] != "Arn" {
		return ""
	}
	id, _ := attribute[0].(string)
	const hash = len("A53FC637") // length of the CDK's hash
	return strings.TrimPrefix(strings.TrimPrefix(id[:len(id)-hash], "Data"), "Events")
}

// functions returns a function that maps a step to its function: the route group with the operation, or the worker in its
// name.
func (w *world) functions() func(step string) string {
	groups, services := map[string]string{}, w.fresh()
	for _, g := range functions.Groups() {
		s := server.New(services, server.Options{})
		g.Mount(s.API(), services)
		for _, op := range s.Operations() {
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

// item identifies the item that a part of a request to DynamoDB names.
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

// needed returns the rights to items, messages and the wrapping key that a request needs.
func needed(t *testing.T, r awstest.Request) (all []string) {
	t.Helper()
	var body struct {
		item
		Values        map[string]struct{ S string } `json:"ExpressionAttributeValues"`
		TransactItems []struct{ Put, Delete, ConditionCheck *item }
		RequestItems  map[string]struct {
			Keys []struct{ PK struct{ S string } }
		}
		QueueURL string `json:"QueueUrl"`
	}
	if strings.Contains(r.Operation, "Secret") || strings.HasPrefix(r.Operation, "POST /") { // tests in infra cover these
		return nil
	}
	errtest.Must(t, json.Unmarshal([]byte(r.Body), &body))
	switch operation := strings.TrimSuffix(r.Operation, "Batch"); operation {
	case "TransactWriteItems":
		for _, part := range body.TransactItems {
			all = slices.Concat(all, part.Put.right("PutItem"), part.Delete.right("DeleteItem"), part.ConditionCheck.right("ConditionCheckItem"))
		}
		return all
	case "BatchGetItem":
		for table, one := range body.RequestItems {
			for _, key := range one.Keys {
				all = append(all, (&item{TableName: table, Key: key}).right(operation)...)
			}
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
