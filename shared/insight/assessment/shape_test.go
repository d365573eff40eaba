package assessment_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/insight/assessment"
)

// TestCheck_Shape compares the fields that every check of the service has. A client reads a certification's checks as it
// reads those of health.
func TestCheck_Shape(t *testing.T) {
	t.Parallel()
	type field struct{ JSON, Type, Nullable string }
	fields := func(check reflect.Type) map[string]field {
		found := map[string]field{}
		for _, name := range []string{"ID", "Title", "Status", "Reason", "Evidence", "Remedy"} {
			f, _ := check.FieldByName(name)
			if f.Type == nil {
				continue
			}
			found[name] = field{f.Tag.Get("json"), f.Type.Kind().String(), f.Tag.Get("nullable")}
			if kind := f.Type.Kind(); kind == reflect.Slice || kind == reflect.Pointer {
				found[name] = field{f.Tag.Get("json"), f.Type.String(), f.Tag.Get("nullable")}
			}
		}
		return found
	}
	want := fields(reflect.TypeFor[assessment.Check]())
	if len(want) != 6 {
		t.Fatalf("got %d common fields of an assessment's check, want 6", len(want))
	}
	if diff := cmp.Diff(want, fields(reflect.TypeFor[integration.Check]())); diff != "" {
		t.Errorf("a certification's check differs (-want +got):\n%s", diff)
	}
}
