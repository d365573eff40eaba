package main

import (
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
	if gateways := s.of("AWS::EC2::NatGateway"); len(addresses) != 2 || len(gateways) != 2 {
		t.Errorf("addresses %v, gateways %v, want two of each", addresses, gateways)
	}
	told := map[string]any{"output": s.Outputs["EgressAddresses"].Value}
	var inside []string
	for _, id := range s.of("AWS::Lambda::Function") {
		p := s.Resources[id].Properties
		if network := dig(p, "VpcConfig"); network != nil {
			name := strings.TrimPrefix(strings.TrimPrefix(id, "Api"), "Events")
			inside = append(inside, name[:strings.Index(name, "Function")])
			if subnets := list(dig(network, "SubnetIds")); len(subnets) != 2 || strings.Contains(encoded(t, subnets), "Public") {
				t.Errorf("%s: subnets %v, want the private ones of both zones", id, subnets)
			}
		}
		if variable := dig(p, "Environment", "Variables", "ORGOPS_EGRESS"); variable != nil {
			told[id] = variable
		}
	}
	slices.Sort(inside)
	if diff := cmp.Diff([]string{"dispatcher", "integrations", "retrier", "sso", "syncer"}, inside); diff != "" {
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
