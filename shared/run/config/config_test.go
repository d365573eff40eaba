package config_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// TestRead_Issuer names the service by the address that it listens on, unless the environment names it.
func TestRead_Issuer(t *testing.T) {
	t.Parallel()
	tests := []struct{ addr, issuer, want string }{
		{"", "", "http://127.0.0.1:4000"},
		{"127.0.0.1:4001", "", "http://127.0.0.1:4001"},
		{"localhost:4001", "", "http://localhost:4001"},
		{"192.0.2.1:80", "", "http://192.0.2.1:80"},
		{"[::1]:4001", "", "http://[::1]:4001"},
		{":4001", "", "http://127.0.0.1:4001"}, // every address of the machine
		{"0.0.0.0:4001", "", "http://127.0.0.1:4001"},
		{"[::]:4001", "", "http://127.0.0.1:4001"},
		{"127.0.0.1:0", "", "http://127.0.0.1:4000"}, // the port is not known yet
		{"127.0.0.1:http", "", "http://127.0.0.1:4000"},
		{"4001", "", "http://127.0.0.1:4000"}, // no address; the service does not start
		{"127.0.0.1:4001", "https://ops.example.com", "https://ops.example.com"},
	}
	for _, tt := range tests {
		c, err := config.Read(func(name string) string {
			return map[string]string{"ORGOPS_ADDR": tt.addr, "ORGOPS_ISSUER": tt.issuer}[name]
		})
		errtest.Must(t, err)
		if c.Issuer != tt.want {
			t.Errorf("address %q, issuer %q: issuer = %s, want %s", tt.addr, tt.issuer, c.Issuer, tt.want)
		}
	}
}

// TestRead_Networks reads networks and single addresses, and names the setting whose text it cannot read.
func TestRead_Networks(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"", "[]"},
		{"10.1.2.3/16, fd00::1/8", "[10.1.0.0/16 fd00::/8]"},
		{"192.0.2.1 2001:db8::1", "[192.0.2.1/32 2001:db8::1/128]"},
		{"::ffff:192.0.2.1,::ffff:192.0.2.0/120", "[192.0.2.1/32 192.0.2.0/24]"},
		{"proxy.internal", ""},
		{"10.0.0.0/33", ""},
		{"fe80::1%eth0", ""},
	}
	for _, tt := range tests {
		for _, name := range []string{"ORGOPS_ALLOW_NETWORKS", "ORGOPS_EGRESS", "ORGOPS_TRUSTED_PROXIES"} {
			c, err := config.Read(func(asked string) string { return map[string]string{name: tt.text}[asked] })
			if tt.want == "" {
				if !strings.Contains(fmt.Sprint(err), name+": ") {
					t.Errorf("%s=%q: error %v, want one that names the setting", name, tt.text, err)
				}
				continue
			}
			errtest.Must(t, err)
			got := map[string][]netip.Prefix{"ORGOPS_ALLOW_NETWORKS": c.AllowNetworks, "ORGOPS_EGRESS": c.Egress, "ORGOPS_TRUSTED_PROXIES": c.Proxies}[name]
			if text := fmt.Sprint(got); text != tt.want {
				t.Errorf("%s=%q: %s, want %s", name, tt.text, text, tt.want)
			}
		}
	}
}
