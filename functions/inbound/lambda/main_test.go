package main

import (
	"testing"
	"time"

	"orgops/shared/provider/catalog"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// TestReceivers checks that receivers lists every connector that receives webhooks, and no other.
func TestReceivers(t *testing.T) {
	t.Parallel()
	client := outbound.New(outbound.Options{})
	every, told := catalog.All(client, time.Now), receivers(client, time.Now)
	for _, kind := range every.Kinds() {
		c, _ := every.Lookup(kind)
		_, want := c.(connector.Inbound)
		if _, got := told.Lookup(kind); got != want {
			t.Errorf("%s: among the receivers %t, want %t", kind, got, want)
		}
	}
}
