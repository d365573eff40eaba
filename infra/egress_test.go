package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEgress checks that the functions that call tenants' addresses, and no others, stand in the silo's network, and that its two
// gateways have the addresses that the stack and the usage tell.
func TestEgress(t *testing.T) {
	t.Parallel()
	s := stacks["silo"]
	if n := len(stacks["pool"].of("AWS::EC2::VPC")); n != 0 {
		t.Errorf("the pool has %d networks, want none by default", n)
	}
	addresses := s.of("AWS::EC2::EIP")
	for _, id := range addresses {
		if got := s.Resources[id].DeletionPolicy; !strings.HasPrefix(got, "Retain") {
			t.Errorf("%s: deletion policy %q, want the address kept", id, got)
		}
	}
	if len(addresses) != 2 {
		t.Errorf("addresses %v, want two", addresses)
	}
	if gateways := s.of("AWS::EC2::NatGateway"); len(gateways) != 2 {
		t.Errorf("gateways %v, want two", gateways)
	}
	tables := map[string]bool{} // of routes, in the order of the logical ids
	for _, id := range s.of("AWS::EC2::VPCEndpoint") {
		p := s.Resources[id].Properties
		has(t, id, p, map[string]any{"VpcEndpointType": "Gateway"})
		if service := encoded(t, p["ServiceName"]); !strings.Contains(service, ".dynamodb") {
			t.Errorf("%s leads to %s, want DynamoDB", id, service)
		}
		for _, table := range list(p["RouteTableIds"]) {
			tables[text(dig(table, "Ref"))] = true
		}
	}
	for _, id := range s.of("AWS::EC2::RouteTable") {
		if private := strings.Contains(id, "PrivateSubnet"); private && !tables[id] {
			t.Errorf("no endpoint of DynamoDB is in %s: requests to the tables would pay for the gateway", id)
		}
	}
	told := map[string]any{"output": s.Outputs["EgressAddresses"].Value}
	var inside []string
	for _, id := range s.of("AWS::Lambda::Function") {
		p := s.Resources[id].Properties
		if network := dig(p, "VpcConfig"); network != nil {
			name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(id, "Api"), "Events"), "Function")
			inside = append(inside, name)
			for n, subnet := range list(dig(network, "SubnetIds")) {
				if want := fmt.Sprintf("EgressNetworkPrivateSubnet%d", n+1); !strings.HasPrefix(text(dig(subnet, "Ref")), want) {
					t.Errorf("%s: subnet %v, want %s", id, subnet, want)
				}
			}
		}
		if variable := dig(p, "Environment", "Variables", "ORGOPS_EGRESS"); variable != nil {
			told[id] = variable
		}
	}
	slices.Sort(inside)
	if diff := cmp.Diff([]string{"auth", "dispatcher", "integrations", "notifier", "operations", "retrier", "sso", "syncer"}, inside); diff != "" {
		t.Errorf("functions in the network (-want +got):\n%s", diff)
	}
	for where, value := range told {
		for _, id := range addresses {
			if !strings.Contains(encoded(t, value), `"`+id+`","PublicIp"`) {
				t.Errorf("%s tells %s, want the address of %s too", where, encoded(t, value), id)
			}
		}
	}
	if len(told) != 2 {
		t.Errorf("%d places tell the addresses, want the output and the function of the usage", len(told))
	}
}
