package receivers_test

import (
	"testing"
	"time"

	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/connectors"
	"orgops/shared/boot/cloud/receivers"
	"orgops/shared/connector"
	"orgops/shared/outbound"
)

// TestAll: a connector that is told of changes is among the receivers, and no other.
func TestAll(t *testing.T) {
	t.Parallel()
	client := outbound.New(outbound.Options{})
	every, told := connectors.All(&cloud.Cloud{Now: time.Now}, client), receivers.All(client)
	for _, kind := range every.Kinds() {
		c, _ := every.Lookup(kind)
		_, want := c.(connector.Inbound)
		if _, got := told.Lookup(kind); got != want {
			t.Errorf("%s: among the receivers %t, want %t", kind, got, want)
		}
	}
}
