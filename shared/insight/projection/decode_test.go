package projection_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/insight/projection"
)

// TestContext_Decode sets every field, so that a field that decoding omits comes back as zero.
func TestContext_Decode(t *testing.T) {
	t.Parallel()
	var want projection.Context
	fill(reflect.ValueOf(&want).Elem(), 1)
	var got projection.Context
	if err := json.Unmarshal([]byte(encode(t, want)), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encode(t, want), encode(t, got)); diff != "" {
		t.Errorf("decoded context differs (-want +got):\n%s", diff)
	}
}

// fill sets every field to a value other than its zero value.
func fill(v reflect.Value, n int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(noon().Add(time.Duration(n) * time.Millisecond)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a": [1, "]}\\"]}`)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(`ü "quoted" \ text`)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n+1)
		fill(v.Index(1), n+2)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, name := range []string{"a", `b"\`} {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(e, n+len(name))
			v.SetMapIndex(reflect.ValueOf(name), e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n+i)
		}
	}
}

func TestContext_Decode_Broken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[]`, `{"contextVersion":"1"}`, `{"integrations":{"a":1}}`, `{"timeline":{}}`, `{"updatedAt":"yesterday"}`,
		`{"integrations":{"a":{"enabled":1}}}`, `{"deliveries":{"recent":{"seconds":0,"delivered":[],"failed":[]}}}`,
		`{"deliveries":{"hourly":{"seconds":1,"delivered":[1],"failed":[]}}}`, `{"goals":{"listed":[{"progress":"x"}]}}`,
		`{"deliveries":{"endpoints":{"a":{}}}}`, `{} {}`, `{"memory":{`,
		`{"integrations":null}`, `{"memory":{"providers":null}}`, `{"syncs":null}`, `{"deliveries":{"endpoints":null}}`,
	} {
		var p projection.Context
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("decoding %s gave no error", text)
		}
	}
}

// TestContext_Decode_Missing folds into a context that was stored without most fields.
func TestContext_Decode_Missing(t *testing.T) {
	t.Parallel()
	h := changing(t, 2)
	want, _ := h.fold(t)
	var p projection.Context
	if err := json.Unmarshal([]byte(`{"companyId":"acme","memory":{},"goals":{},"deliveries":{"recent":{"seconds":300}},"later":[{}]}`), &p); err != nil {
		t.Fatal(err)
	}
	got, _, failed := projection.Fold(p, h.changes)
	if err := failed.Err(); err != nil {
		t.Fatal(err)
	}
	want.CompanyID = "acme"
	if diff := cmp.Diff(encode(t, want), encode(t, got)); diff != "" {
		t.Errorf("folded context differs (-want +got):\n%s", diff)
	}
}

// FuzzContext_Decode checks that decoding never panics, and that it accepts the encoding of every context that it accepted.
func FuzzContext_Decode(f *testing.F) {
	for _, seed := range []string{``, `{`, `{"a`, `{"a":`, `{"a":"\`, `{"timeline":[`, `{"integrations":{"a":{}}}`, `{"a":1,}`, `{"memory":{"total":1}} x`} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(encode(f, typical(f))))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p projection.Context
		if p.UnmarshalJSON(data) != nil || !json.Valid(data) {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			if strings.Contains(err.Error(), "year") { // package time parses years that it refuses to write
				return
			}
			t.Fatal(err)
		}
		if err := p.UnmarshalJSON(again); err != nil {
			t.Fatalf("%v: %s", err, again)
		}
	})
}
