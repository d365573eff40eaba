package connector_test

import (
	"testing"

	"orgops/shared/provider/connector"
)

// TestHide hides credentials in each form in which a server can repeat them.
func TestHide(t *testing.T) {
	t.Parallel()
	credentials := map[string]string{"username": "ada", "password": "p&ss"}
	const said = "ada sent p&ss, or p%26ss, or YWRhOnAmc3M="
	if got, want := connector.Hide(said, credentials), "… sent …, or …, or …"; got != want {
		t.Errorf("Hide gives %q, want %q", got, want)
	}
}
