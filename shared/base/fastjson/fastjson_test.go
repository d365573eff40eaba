package fastjson_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fastjson"
)

// bodyOf has a field of each kind that stored items have.
type bodyOf struct {
	Text   string             `json:"text"`
	Named  map[string]int     `json:"named"`
	List   []string           `json:"list"`
	Bytes  []byte             `json:"bytes"`
	Raw    json.RawMessage    `json:"raw,omitempty"`
	Any    any                `json:"any"`
	At     time.Time          `json:"at"`
	Until  *time.Time         `json:"until,omitempty"`
	Never  time.Time          `json:"never,omitzero"`
	For    time.Duration      `json:"for"`
	Float  float64            `json:"float"`
	Floats map[string]float64 `json:"floats,omitempty"`
	Large  uint64             `json:"large"`
	None   *bodyOf            `json:"none"`
	Empty  struct{}           `json:"empty,omitempty"`
	Embedded
	Dash string `json:"-"`
}

// Embedded is part of a body.
type Embedded struct {
	Flag bool `json:"flag,omitempty"`
}

// FuzzUnmarshal decodes what encoding/json decodes, and refuses what it refuses.
func FuzzUnmarshal(f *testing.F) {
	for _, body := range []string{
		`{"text":"a","TEXT":"b","named":{"a":1,"a":2},"list":null,"bytes":"AP8=","raw":{"a":[1]},"any":[1,"x",{"y":null}],"at":"2026-05-01T12:00:00Z"}`,
		`{"for":60000000000,"float":1e308,"large":18446744073709551615,"none":{"text":"x"},"flag":true,"unknown":[[[]]],"Dash":"x"}`,
		"{\"text\":\"\xff\\ud800\"}", `{"text":1}`, `{"large":-1}`, `{"at":"x"}`, `null`, `[]`, ``, `{}x`, `{"text":"a"} `,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var want, got bodyOf
		wanted, err := json.Unmarshal(body, &want), fastjson.Unmarshal(body, &got)
		if (wanted == nil) != (err == nil) {
			t.Fatalf("Unmarshal(%q): %v, encoding/json: %v", body, err, wanted)
		}
		if wanted != nil {
			return
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a == b })); diff != "" {
			t.Errorf("Unmarshal(%q) differs (-encoding/json +got):\n%s", body, diff)
		}
	})
}
