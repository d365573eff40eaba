package guides_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/suite/servicetest"
	"orgops/shared/domain/event"
	"orgops/shared/testkit/errtest"
)

var update = flag.Bool("update", false, "rewrite the generated types")

const typesFile = "typescript/events.ts"

// schema is the part of a JSON Schema that the document's events use.
type schema struct {
	Ref         string `json:"$ref"`
	Type        any    `json:"type"`
	Description string
	Properties  map[string]schema
	Required    []string
	Enum        []any
	Items       *schema
}

// document is the OpenAPI document, which golden_test.go of acceptance compares with the service's.
type document struct {
	Components struct{ Schemas map[string]schema }
	Webhooks   map[string]struct {
		Post struct {
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
		}
	}
}

func name(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// kind returns the type of a schema, and notes the schemas that it names.
func kind(s schema, named map[string]bool) string {
	switch {
	case s.Ref != "":
		named[name(s.Ref)] = true
		return name(s.Ref)
	case len(s.Enum) > 0:
		values := []string{}
		for _, v := range s.Enum {
			values = append(values, fmt.Sprintf("%q", v))
		}
		return strings.Join(values, " | ")
	}
	switch s.Type {
	case "string":
		return "string"
	case "integer", "number":
		return "number"
	case "boolean":
		return "boolean"
	case "array":
		return "Array<" + kind(*s.Items, named) + ">"
	case "object":
		return "Record<string, unknown>"
	}
	return "unknown"
}

// declare writes a named schema as a type.
func declare(b *strings.Builder, name string, s schema, named map[string]bool) {
	if len(s.Properties) == 0 {
		fmt.Fprintf(b, "\nexport type %s = %s;\n", name, kind(s, named))
		return
	}
	fmt.Fprintf(b, "\n/** %s. */\nexport interface %s {\n", s.Description, name)
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		if field == "$schema" {
			continue
		}
		mark := "?"
		if slices.Contains(s.Required, field) {
			mark = ""
		}
		p := s.Properties[field]
		fmt.Fprintf(b, "  /** %s */\n  %s%s: %s;\n", p.Description, field, mark, kind(p, named))
	}
	b.WriteString("}\n")
}

// generate writes the types of every webhook of the document.
func generate(d document) string {
	var b strings.Builder
	b.WriteString("// Generated from the OpenAPI document: go test ./local/process/guides -run TestTypes -update\n\n" +
		"interface Envelope<Type extends string, Data> {\n  /** The event's id, which is also the webhook-id; a repeat has the same id. */\n  id: string;\n" +
		"  type: Type;\n  /** When the change was committed (RFC 3339); when a sample was sent. */\n  timestamp: string;\n  companyId: string;\n  data: Data;\n}\n\nexport type OrgopsEvent =")
	named, done := map[string]bool{}, map[string]bool{}
	for _, hook := range slices.Sorted(maps.Keys(d.Webhooks)) {
		envelope := d.Components.Schemas[name(d.Webhooks[hook].Post.RequestBody.Content["application/json"].Schema.Ref)]
		fmt.Fprintf(&b, "\n  | Envelope<%q, %s>", hook, kind(envelope.Properties["data"], named))
	}
	b.WriteString(";\n")
	for len(done) < len(named) {
		for _, next := range slices.Sorted(maps.Keys(named)) {
			if !done[next] {
				done[next] = true
				declare(&b, next, d.Components.Schemas[next], named)
			}
		}
	}
	return b.String()
}

// TestTypes compares the published types with those that the document's webhooks give, and checks that every event has one.
func TestTypes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../suite/acceptance/testdata/openapi.golden.json")
	errtest.Must(t, err)
	var d document
	errtest.Must(t, json.Unmarshal(text, &d))
	want := generate(d)
	if *update {
		errtest.Must(t, os.WriteFile(typesFile, []byte(want), 0o600))
	}
	got, err := os.ReadFile(typesFile)
	errtest.Must(t, err)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s differs from the document (-want +got); rewrite it with -update:\n%s", typesFile, diff)
	}
	for _, name := range append(event.Names(), event.Sample) {
		if !strings.Contains(string(got), fmt.Sprintf("Envelope<%q", name)) {
			t.Errorf("%s has no type of %s", typesFile, name)
		}
	}
}

// TestTypes_Compile compiles the guide's TypeScript with the types, strictly, and runs the JavaScript.
func TestTypes_Compile(t *testing.T) {
	t.Parallel()
	modules := servicetest.Installed(t, ".tools/clients-node/node_modules")
	folder := t.TempDir()
	types, err := os.ReadFile(typesFile)
	errtest.Must(t, err)
	errtest.Must(t, os.WriteFile(filepath.Join(folder, "events.ts"), types, 0o600))
	errtest.Must(t, os.WriteFile(filepath.Join(folder, "describe.ts"), []byte(blocks(t, "receive.md", "ts types")[0]), 0o600))
	errtest.Must(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type": "module"}`), 0o600))
	inside := func(cmd *exec.Cmd) { cmd.Dir = folder }
	servicetest.Command(t, time.Minute, inside, "node", filepath.Join(modules, "typescript/bin/tsc"),
		"--strict", "--noImplicitReturns", "--module", "nodenext", "--target", "es2022", "describe.ts")
	const program = `import { describe } from "./describe.js";
for (const [type, data] of [["memory.created", { title: "Printer on fire" }], ["orgops.sample", { message: "nothing happened" }], ["user.joined", {}]])
  console.log(describe({ type, data }));`
	got := servicetest.Command(t, time.Minute, inside, "node", "--input-type=module", "--eval", program)
	if want := "memory: Printer on fire\nsample: nothing happened\nuser.joined\n"; got != want {
		t.Errorf("the compiled sample printed %q, want %q", got, want)
	}
}
