package functions_test

import (
	"strings"
	"testing"
)

// TestSchemas_Clients checks what generated clients cannot compile: the class of an object in Python with a list of the class's own
// name, and in Java a set of values that have no name.
func TestSchemas_Clients(t *testing.T) {
	t.Parallel()
	lists := 0
	for name, schema := range document(t).Components.Schemas.Map() {
		for property, of := range schema.Properties {
			if of.Items == nil {
				continue
			}
			lists++
			if strings.EqualFold(name, property) {
				t.Errorf("%s has a list of the same name; rename the schema, such as to %sList", name, name)
			}
			if of.UniqueItems && len(of.Items.Enum) > 0 {
				t.Errorf("the values of %s.%s have no name; name them in schemas.go", name, property)
			}
		}
	}
	if lists < 20 {
		t.Errorf("%d lists were checked, want at least 20", lists)
	}
}
