package web_test

import (
	"encoding/json"
	"strings"
	"testing"

	"orgops/shared/base/fault"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

const orderSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "An order",
	"type": "object", "additionalProperties": false, "required": ["items"], "maxProperties": 6,
	"properties": {
		"items": {"type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": true, "items": {"type": "string", "enum": ["tea", "milk"]}},
		"sizes": {"type": "array", "items": {"type": "object", "properties": {"w": {"type": "number", "minimum": 0.5}}}},
		"count": {"type": "integer", "minimum": 1, "maximum": 9, "x-note": true},
		"key": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^k", "writeOnly": true},
		"link": {"type": "string", "format": "uri"},
		"labels": {"type": "object", "minProperties": 1, "maxProperties": 2, "propertyNames": {"pattern": "^[a-z.%[]+$"},
			"additionalProperties": {"type": "string", "maxLength": 3}}
	}
}`

func TestCheckBody(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []string // pointer: part of the detail
	}{
		{"all", `{"items":["tea","milk"],"sizes":[{"w":1,"h":null},{}],"count":9.0,"key":"käk","link":"/a","labels":{"a.b":"x"}}`, nil},
		{"not an object", `["s3cr3t"]`, []string{": expected object"}},
		{"null", `null`, []string{": expected object"}},
		{"missing", `{}`, []string{"/items: is required"}},
		{"null for optional members", `{"items":["tea"],"count":null,"labels":null,"link":null}`,
			[]string{"/count: expected integer", "/labels: expected object", "/link: expected string"}},
		{"null for a required member", `{"items":null}`, []string{"/items: expected array"}},
		{"null among items", `{"items":[null,"tea"]}`, []string{"/items/0: expected string"}},
		{"another case", `{"items":["tea"],"Count":0,"ITEMS":1}`, []string{"/Count: is not a known field; known are count, items, key, labels, link, sizes", "/ITEMS: known are"}},
		{"names that look like locations", `{"items":["tea"],"items[0]":1,"labels.a":1,"":1,"a/b~c":1}`,
			[]string{"/: known are", "/a~1b~0c: known are", "/items[0]: known are", "/labels.a: known are"}},
		{"dots in names", `{"items":["tea"],"labels":{"a.b.c":"long","[.%":"long","d":"ok"}}`, []string{"/labels: at most 2", "/labels/[.%: length <= 3", "/labels/a.b.c: length <= 3"}},
		{"names", `{"items":["tea"],"labels":{"A B":"x","":"x"}}`, []string{"/labels/: this name", "/labels/A B: this name"}},
		{"a name and its value", `{"items":["tea"],"labels":{"A":5}}`, []string{"/labels/A: this name", "/labels/A: expected string"}},
		{"too few members", `{"items":["tea"],"labels":{}}`, []string{"/labels: at least 1"}},
		{"duplicates", `{"items":["tea","tea","tea"]}`, []string{"/items: unique"}},
		{"no items", `{"items":[]}`, []string{"/items: length >= 1"}},
		{"too many, with unknown values", `{"items":["tea","milk","s3cr3t",""]}`, []string{"/items: length <= 3", `/items/2: one of "tea, milk"`, "/items/3: one of"}},
		{"lists and objects among strings", `{"items":[{},{"a":[]},[]]}`, []string{"/items/0: expected string", "/items/1: expected string", "/items/2: expected string"}},
		{"nested", `{"items":["tea"],"sizes":[{"w":1},{"w":0.4},5]}`, []string{"/sizes/1/w: >= 0.5", "/sizes/2: expected object"}},
		{"numbers", `{"items":["tea"],"count":9.5}`, []string{"/count: expected integer", "/count: <= 9"}},
		{"a text for a number", `{"items":["tea"],"count":"5"}`, []string{"/count: expected integer"}},
		{"a secret", `{"items":["tea"],"key":"s3cr3t"}`, []string{"/key: length <= 3", "/key: a form that is not allowed here"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems, err := web.CheckBody(json.RawMessage(orderSchema), json.RawMessage(tt.body))
			errtest.Must(t, err)
			if len(problems) != len(tt.want) {
				t.Fatalf("problems = %+v, want %q", problems, tt.want)
			}
			for i, p := range problems {
				pointer, detail, _ := strings.Cut(tt.want[i], ": ")
				if p.Pointer != pointer {
					t.Errorf("problem %d: pointer = %q, want %q", i, p.Pointer, pointer)
				}
				if !strings.Contains(p.Detail, detail) {
					t.Errorf("problem %d: detail = %q, want one with %q", i, p.Detail, detail)
				}
				if strings.Contains(p.Detail, "s3cr3t") {
					t.Errorf("problem %d: detail = %q, want one without the value", i, p.Detail)
				}
			}
		})
	}
}

func TestCheckBody_Malformed(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", "{} {}", "{\"items\":[\"\xff\"]}", `{"count":1e999}`} {
		if problems, err := web.CheckBody(json.RawMessage(orderSchema), json.RawMessage(body)); fault.KindOf(err) != fault.Malformed {
			t.Errorf("%q: problems = %v, err = %v, want malformed", body, problems, err)
		}
	}
}

// A schema that CheckBody cannot check in full is an error.
func TestCheckBody_Schema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		``, `[]`, `{}`, `{"type":["string","null"]}`, `{"type":"array"}`, `{"type":"string","const":"a"}`, `{"type":"object","$ref":"#"}`,
		`{"type":"object","properties":{"a":{}}}`, `{"type":"object","additionalProperties":{"type":"string","if":{}}}`,
		`{"type":"object","propertyNames":{"contains":"a"}}`, `{"type":"array","items":{"type":"array"}}`,
	} {
		problems, err := web.CheckBody(json.RawMessage(schema), json.RawMessage(`{}`))
		if err == nil {
			t.Errorf("%s: no error, problems = %v", schema, problems)
		}
		if got := fault.KindOf(err); got != fault.Internal {
			t.Errorf("%s: kind = %s, want %s", schema, got, fault.Internal)
		}
	}
}
