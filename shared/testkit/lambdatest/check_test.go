package lambdatest_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/notice"
	"orgops/shared/storage/mail/sesevent"
)

// decode decodes exactly one JSON value and refuses unknown fields.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more than one value")
	}
	return nil
}

func filled(fields map[string]string) error {
	for name, value := range fields {
		if value == "" {
			return fmt.Errorf("%s is empty", name)
		}
	}
	return nil
}

func checkRequest(text []byte) error {
	var r events.APIGatewayProxyRequest
	if err := decode(text, &r); err != nil {
		return err
	}
	c := r.RequestContext
	if err := filled(map[string]string{
		"resource": r.Resource, "path": r.Path, "httpMethod": r.HTTPMethod, "requestId": c.RequestID, "stage": c.Stage,
		"apiId": c.APIID, "sourceIp": c.Identity.SourceIP, "resourceId": c.ResourceID, "operationName": c.OperationName,
	}); err != nil {
		return err
	}
	path := r.Resource
	for name, value := range r.PathParameters {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	guarded := strings.HasPrefix(r.Path, "/companies/") && !strings.HasSuffix(r.Path, "/mcp") // the endpoint's function is its guard
	switch {
	case path != r.Path || c.Path != "/"+c.Stage+r.Path || c.ResourcePath != r.Resource || c.HTTPMethod != r.HTTPMethod:
		return fmt.Errorf("the path is %s, %s and %s", path, r.Path, c.Path)
	case guarded && c.Authorizer["company"] != r.PathParameters["companyId"]:
		return fmt.Errorf("the authorizer admitted %v", c.Authorizer["company"])
	case !guarded && c.Authorizer != nil:
		return fmt.Errorf("a public route has an authorizer's context")
	}
	if err := same("headers", r.Headers, r.MultiValueHeaders); err != nil {
		return err
	}
	return same("query", r.QueryStringParameters, r.MultiValueQueryStringParameters)
}

// same checks that each single value is the last of the multiple ones.
func same(what string, single map[string]string, multiple map[string][]string) error {
	last := map[string]string{}
	for name, values := range multiple {
		last[name] = values[len(values)-1]
	}
	if len(single) == 0 && len(last) == 0 {
		return nil
	}
	if diff := cmp.Diff(single, last); diff != "" {
		return fmt.Errorf("%s (-single +multiple):\n%s", what, diff)
	}
	return nil
}

func checkInbound(text []byte) error {
	if err := checkRequest(text); err != nil {
		return err
	}
	var r events.APIGatewayProxyRequest
	if err := decode(text, &r); err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(sampleSecret))
	mac.Write([]byte(r.Body))
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.Headers["X-Hub-Signature-256"] != want {
		return fmt.Errorf("the signature is %s, want %s", r.Headers["X-Hub-Signature-256"], want)
	}
	return nil
}

func checkToken(text []byte) error {
	var r events.APIGatewayCustomAuthorizerRequest
	if err := decode(text, &r); err != nil {
		return err
	}
	arn := strings.Split(r.MethodArn, ":")
	if r.Type != "TOKEN" || !strings.HasPrefix(r.AuthorizationToken, "Bearer ") || len(arn) != 6 || arn[2] != "execute-api" ||
		len(strings.SplitN(arn[5], "/", 4)) != 4 {
		return fmt.Errorf("type %s, method %s", r.Type, r.MethodArn)
	}
	return nil
}

func checkQueue(job func() any) check {
	return func(text []byte) error {
		var e events.SQSEvent
		if err := decode(text, &e); err != nil {
			return err
		}
		for _, m := range e.Records {
			sum := md5.Sum([]byte(m.Body)) // SQS's checksum
			if m.EventSource != "aws:sqs" || m.Md5OfBody != hex.EncodeToString(sum[:]) || !strings.HasPrefix(m.EventSourceARN, "arn:aws:sqs:") {
				return fmt.Errorf("message %s of %s: the body's sum is %x", m.MessageId, m.EventSourceARN, sum)
			}
			if err := filled(map[string]string{
				"messageId": m.MessageId, "receiptHandle": m.ReceiptHandle,
				"ApproximateReceiveCount": m.Attributes["ApproximateReceiveCount"], "SentTimestamp": m.Attributes["SentTimestamp"],
				"ApproximateFirstReceiveTimestamp": m.Attributes["ApproximateFirstReceiveTimestamp"],
			}); err != nil {
				return err
			}
			if err := decode([]byte(m.Body), job()); err != nil {
				return err
			}
		}
		return some(len(e.Records))
	}
}

// checkNotices checks messages of the notifier: jobs, and what EventBridge sends of SES.
func checkNotices(text []byte) error {
	var e events.SQSEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	for _, m := range e.Records {
		if r, err := sesevent.Read([]byte(m.Body)); err == nil && r.Outcome != sesevent.Other {
			return checkQueue(func() any { return &events.EventBridgeEvent{} })(text)
		}
	}
	return checkQueue(func() any { return &notice.Job{} })(text)
}

func some(records int) error {
	if records == 0 {
		return fmt.Errorf("no records")
	}
	return nil
}

func checkSchedule(text []byte) error {
	var e events.CloudWatchEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	if e.Source != "aws.events" || e.DetailType != "Scheduled Event" || e.Time.IsZero() || len(e.Resources) != 1 {
		return fmt.Errorf("%s from %s", e.DetailType, e.Source)
	}
	return nil
}

func checkRotation(text []byte) error {
	var e events.SecretsManagerSecretRotationEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	steps := []string{"createSecret", "setSecret", "testSecret", "finishSecret"}
	if !slices.Contains(steps, e.Step) || !strings.HasPrefix(e.SecretID, "arn:aws:secretsmanager:") || len(e.ClientRequestToken) < 32 {
		return fmt.Errorf("step %s of %s", e.Step, e.SecretID)
	}
	return nil
}

// checkCompany checks an operator's payload, or a custom resource's event from CloudFormation.
func checkCompany(text []byte) error {
	type properties struct{ ServiceToken, Name, Email, Password string }
	var resource struct {
		RequestType, ServiceToken, ResponseURL, StackId, RequestId, LogicalResourceId, PhysicalResourceId, ResourceType string //nolint:revive // CloudFormation's names
		ResourceProperties, OldResourceProperties                                                                       *properties
	}
	company := properties{}
	if !bytes.Contains(text, []byte(`"RequestType"`)) {
		if err := decode(text, &company); err != nil {
			return err
		}
		return filled(map[string]string{"name": company.Name, "email": company.Email})
	}
	if err := decode(text, &resource); err != nil {
		return err
	}
	if resource.ResourceProperties == nil || (resource.OldResourceProperties != nil) != (resource.RequestType == "Update") ||
		(resource.PhysicalResourceId == "") != (resource.RequestType == "Create") || !strings.HasPrefix(resource.ResourceType, "Custom::") {
		return fmt.Errorf("not a valid %s of %s", resource.RequestType, resource.ResourceType)
	}
	company = *resource.ResourceProperties
	return filled(map[string]string{
		"ServiceToken": resource.ServiceToken, "ResponseURL": resource.ResponseURL, "StackId": resource.StackId, "RequestId": resource.RequestId,
		"LogicalResourceId": resource.LogicalResourceId, "its ServiceToken": company.ServiceToken, "Name": company.Name, "Email": company.Email,
	})
}
