package config_test

import (
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
