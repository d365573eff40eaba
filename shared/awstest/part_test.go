package awstest

import (
	"strings"
	"testing"
)

func TestJars_Missing(t *testing.T) {
	t.Parallel()
	if _, err := jars("nothing-of-this-name"); err == nil || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("got %v, want it to say what to run", err)
	}
}
