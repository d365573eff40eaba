// Package egress lets functions send from fixed addresses. They then stand in a network of their own, whose gateways for address
// translation (NAT) have these addresses.
package egress

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/nag"
)

// zones is how many availability zones the network has, each with a gateway and an address. With one, a failure of its zone would
// end all deliveries.
const zones = 2

// block is the network's range. Nothing else is in it, and no tenant's url reaches it: it is private.
const block = "10.0.0.0/24"

// Egress holds the network.
type Egress struct {
	VPC       awsec2.IVpc
	Group     awsec2.ISecurityGroup
	addresses []string
}

// New builds the network. Its functions reach DynamoDB through an endpoint without a fee, and everything else through the gateways.
// The addresses outlive the stack, because customers' firewalls name them.
func New(scope constructs.Construct) *Egress {
	unit := constructs.NewConstruct(scope, jsii.String("Egress"))
	e := &Egress{}
	var allocations []*string
	for n := range zones {
		name := fmt.Sprintf("Address%d", n+1)
		address := awsec2.NewCfnEIP(unit, &name, &awsec2.CfnEIPProps{Domain: jsii.String("vpc")})
		address.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE, nil)
		allocations = append(allocations, address.AttrAllocationId())
		e.addresses = append(e.addresses, *address.AttrPublicIp())
	}
	vpc := awsec2.NewVpc(unit, jsii.String("Network"), &awsec2.VpcProps{
		IpAddresses: awsec2.IpAddresses_Cidr(jsii.String(block)), MaxAzs: jsii.Number(zones), RestrictDefaultSecurityGroup: jsii.Bool(false),
		NatGatewayProvider: awsec2.NatProvider_Gateway(&awsec2.NatGatewayProps{EipAllocationIds: &allocations}),
		GatewayEndpoints: &map[string]*awsec2.GatewayVpcEndpointOptions{
			"DynamoDB": {Service: awsec2.GatewayVpcEndpointAwsService_DYNAMODB()},
		},
	})
	nag.Suppress(vpc, "AwsSolutions-VPC7", "Only the functions are in it, nothing can reach them, and the log of deliveries tells what they send")
	e.VPC = vpc
	e.Group = awsec2.NewSecurityGroup(unit, jsii.String("Group"), &awsec2.SecurityGroupProps{
		Vpc: vpc, Description: jsii.String("Functions that send: to any address and port, as the urls of tenants have them. Nothing gets in"),
	})
	return e
}

// Addresses lists the addresses, comma separated.
func (e *Egress) Addresses() string { return strings.Join(e.addresses, ",") }

// Interfaces returns what Lambda does with a function's role to put the function into the network, on any resource, because the
// interface is not there yet. The condition keeps the function's own code from it: Lambda sets the key in calls of that code.
func Interfaces() (actions []string, conditions map[string]any) {
	return []string{
		"ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DeleteNetworkInterface",
		"ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses",
	}, map[string]any{"Null": map[string]any{"lambda:SourceFunctionArn": "true"}}
}
