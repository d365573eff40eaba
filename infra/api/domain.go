package api

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsroute53"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Domain describes an address of the operator's own for the API. The zero value says that there is no such address.
type Domain struct {
	Name        string // such as api.example.com
	BasePath    string // such as /v1; "": none
	Certificate string // ARN of a certificate of ACM for the name, in the region of the stack
	Zone        string // id of a hosted zone of Route 53 that gets the name's records; "": the operator sets them
}

// domain gives the API its domain. The generated address goes on, because providers' settings and clients may have it. The gateway
// names what a record of the domain leads to; Target returns it.
func (a *API) domain(scope constructs.Construct) {
	if a.Domain.Name == "" {
		return
	}
	name := awsapigateway.NewCfnDomainName(scope, jsii.String("Domain"), &awsapigateway.CfnDomainNameProps{
		DomainName: &a.Domain.Name, RegionalCertificateArn: &a.Domain.Certificate, SecurityPolicy: jsii.String("TLS_1_2"),
		EndpointConfiguration: &awsapigateway.CfnDomainName_EndpointConfigurationProperty{Types: jsii.Strings("REGIONAL")},
	})
	mapping := &awsapigateway.CfnBasePathMappingProps{DomainName: name.Ref(), RestApiId: a.REST.RestApiId(), Stage: a.REST.DeploymentStage().StageName()}
	if a.Domain.BasePath != "" {
		mapping.BasePath = jsii.String(a.Domain.BasePath[1:])
	}
	awsapigateway.NewCfnBasePathMapping(scope, jsii.String("Mapping"), mapping)
	a.target = *name.AttrRegionalDomainName()
	if a.Domain.Zone == "" {
		return
	}
	for _, kind := range []string{"A", "AAAA"} {
		awsroute53.NewCfnRecordSet(scope, jsii.String("Record"+kind), &awsroute53.CfnRecordSetProps{
			Name: &a.Domain.Name, Type: &kind, HostedZoneId: &a.Domain.Zone,
			AliasTarget: &awsroute53.CfnRecordSet_AliasTargetProperty{DnsName: name.AttrRegionalDomainName(), HostedZoneId: name.AttrRegionalHostedZoneId()},
		})
	}
}

// Target returns what a record of the domain is to lead to, or "" without a domain.
func (a *API) Target() string { return a.target }
