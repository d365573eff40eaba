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
	if diff := cmp.Diff([]string{"dispatcher", "integrations", "notifier", "operations", "retrier", "sso", "syncer"}, inside); diff != "" {
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
