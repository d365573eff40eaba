package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	quotatypes "github.com/aws/aws-sdk-go-v2/service/servicequotas/types"
	"github.com/aws/smithy-go"

	"orgops/shared/base/awsclient"
)

const (
	tryTimeout = 10 * time.Second // of one try
	askTimeout = 30 * time.Second // of one question with its pages and retries
)

// account asks an AWS account for its limits and for what it holds.
type account struct {
	region    string
	lambda    *lambda.Client
	gateway   *apigateway.Client
	quotas    *servicequotas.Client
	resources *cloudcontrol.Client
	stacks    *cloudformation.Client
}

// open makes the clients. It sends no request.
func open(a awsclient.Access) *account {
	client, retryer := a.HTTPClient.WithTimeout(tryTimeout), awsclient.NewRetryer(nil)
	return &account{
		region: a.Region,
		lambda: lambda.New(lambda.Options{Region: a.Region, Credentials: a.Credentials, BaseEndpoint: a.BaseEndpoint("LAMBDA"), HTTPClient: client, Retryer: retryer}),
		gateway: apigateway.New(apigateway.Options{
			Region: a.Region, Credentials: a.Credentials, BaseEndpoint: a.BaseEndpoint("API_GATEWAY"), HTTPClient: client, Retryer: retryer,
		}),
		quotas: servicequotas.New(servicequotas.Options{
			Region: a.Region, Credentials: a.Credentials, BaseEndpoint: a.BaseEndpoint("SERVICE_QUOTAS"), HTTPClient: client, Retryer: retryer,
		}),
		resources: cloudcontrol.New(cloudcontrol.Options{
			Region: a.Region, Credentials: a.Credentials, BaseEndpoint: a.BaseEndpoint("CLOUDCONTROL"), HTTPClient: client, Retryer: retryer,
		}),
		stacks: cloudformation.New(cloudformation.Options{
			Region: a.Region, Credentials: a.Credentials, BaseEndpoint: a.BaseEndpoint("CLOUDFORMATION"), HTTPClient: client, Retryer: retryer,
		}),
	}
}

// calls holds the account's limits of Lambda.
type calls struct {
	limit, unreserved float64 // concurrent calls
	code, codeUsed    int64   // bytes of stored programs
}

// functions returns the limits of Lambda.
func (a *account) functions(ctx context.Context) (calls, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	got, err := a.lambda.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return calls{}, err
	}
	if got.AccountLimit == nil || got.AccountUsage == nil {
		return calls{}, errors.New("the answer of Lambda has no limits")
	}
	return calls{
		limit: float64(got.AccountLimit.ConcurrentExecutions), unreserved: float64(aws.ToInt32(got.AccountLimit.UnreservedConcurrentExecutions)),
		code: got.AccountLimit.TotalCodeSize, codeUsed: got.AccountUsage.TotalCodeSize,
	}, nil
}

// rate returns the requests a second that API Gateway admits for all APIs of the account in the region.
func (a *account) rate(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	got, err := a.gateway.GetAccount(ctx, &apigateway.GetAccountInput{})
	if err != nil {
		return 0, err
	}
	if got.ThrottleSettings == nil {
		return 0, errors.New("the answer of API Gateway has no limits")
	}
	return got.ThrottleSettings.RateLimit, nil
}

// usageKeys counts the API keys of the region.
func (a *account) usageKeys(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	count := 0
	pages := apigateway.NewGetApiKeysPaginator(a.gateway, &apigateway.GetApiKeysInput{Limit: aws.Int32(500)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		count += len(page.Items)
	}
	return count, nil
}

// quota returns the account's value of a quota: the granted value, or AWS's default.
func (a *account) quota(ctx context.Context, l limit) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	home := func(o *servicequotas.Options) {
		if l.global {
			o.Region = "us-east-1" // the quotas of a global service live there
		}
	}
	granted, err := a.quotas.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: &l.service, QuotaCode: &l.code}, home)
	var unknown *quotatypes.NoSuchResourceException
	if err == nil && granted.Quota != nil && granted.Quota.Value != nil {
		return *granted.Quota.Value, nil
	}
	if err != nil && !errors.As(err, &unknown) {
		return 0, err
	}
	usual, err := a.quotas.GetAWSDefaultServiceQuota(ctx, &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: &l.service, QuotaCode: &l.code}, home)
	if errors.As(err, &unknown) || err == nil && (usual.Quota == nil || usual.Quota.Value == nil) {
		return l.documented, nil
	}
	if err != nil {
		return 0, err
	}
	return *usual.Quota.Value, nil
}

// count counts the resources of a type in the region. It stops above the limit.
func (a *account) count(ctx context.Context, l limit, atMost float64) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	in := &cloudcontrol.ListResourcesInput{TypeName: &l.kind, MaxResults: aws.Int32(100)}
	if l.model != "" {
		in.ResourceModel = &l.model
	}
	count := 0
	pages := cloudcontrol.NewListResourcesPaginator(a.resources, in)
	for pages.HasMorePages() && float64(count) <= atMost {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		count += len(page.ResourceDescriptions)
	}
	return count, nil
}

// deployed counts the resources of a deployed stack by their types. ok is false for a stack without resources: there is no such
// stack, or its first deployment has failed.
func (a *account) deployed(ctx context.Context, name string) (types map[string]int, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	types = map[string]int{}
	pages := cloudformation.NewListStackResourcesPaginator(a.stacks, &cloudformation.ListStackResourcesInput{StackName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		var answer smithy.APIError
		if errors.As(err, &answer) && answer.ErrorCode() == "ValidationError" && strings.Contains(answer.ErrorMessage(), "does not exist") {
			return types, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		for _, r := range page.StackResourceSummaries {
			if !strings.HasPrefix(string(r.ResourceStatus), "DELETE_") {
				types[aws.ToString(r.ResourceType)]++
			}
		}
	}
	return types, len(types) > 0, nil
}
