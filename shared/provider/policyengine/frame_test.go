package policyengine

import (
	"reflect"
	"slices"
	"testing"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/testkit/errtest"
)

// TestFrames_Fits changes each fact about the principal and the request, one at a time: no request is decided with the frame of another.
func TestFrames_Fits(t *testing.T) {
	t.Parallel()
	asked := policy.Request{
		Principal: timeline.Reference{Type: integration.Entity, ID: "github"}, Action: string(integration.MemoryUpsert),
		Context: policy.Context{Kind: "github", Permissions: []string{"memory.upsert"}, Port: "memory.upsert"},
	}
	var f frames
	last, err := f.of(asked)
	errtest.Must(t, err)
	again, err := f.of(asked)
	errtest.Must(t, err)
	if again != last {
		t.Error("the same request has another frame, want the last one")
	}
	others := map[string]policy.Request{}
	for n := range reflect.TypeFor[policy.Context]().NumField() {
		other := asked
		other.Context.Permissions = slices.Clone(asked.Context.Permissions)
		switch field := reflect.ValueOf(&other.Context).Elem().Field(n); field.Kind() {
		case reflect.String:
			field.SetString("other")
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.Slice:
			field.Index(0).SetString("other")
		default:
			t.Fatalf("no other value of %s is known here", field.Kind())
		}
		others[reflect.TypeFor[policy.Context]().Field(n).Name] = other
	}
	principal, action := asked, asked
	principal.Principal.ID, action.Action = "linear", string(integration.GoalUpdate)
	others["Principal"], others["Action"] = principal, action
	for name, other := range others {
		if last.fits(other) {
			t.Errorf("a request with another %s fits the frame, want it to have its own", name)
		}
	}
}
