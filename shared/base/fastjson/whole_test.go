package fastjson_test

import (
	"testing"

	"orgops/shared/base/fastjson"
)

// TestWhole writes whole numbers in digits, and changes nothing else.
func TestWhole(t *testing.T) {
	t.Parallel()
	tests := []struct{ given, want string }{
		{`{"a":100.0,"b":[1e2,-2.50E+1,0.0]}`, `{"a":100,"b":[100,-25,0]}`},
		{`1E3`, `1000`},
		{`9007199254740993.0`, `9007199254740993.0`},
		{`{"a":1,"b":0.5,"c":-1.5,"d":1e-1,"e":1e99,"f":9007199254740994.0}`, `{"a":1,"b":0.5,"c":-1.5,"d":1e-1,"e":1e99,"f":9007199254740994.0}`},
		{`{"1.0":"2.0 \" 3.0","a":4.0}`, `{"1.0":"2.0 \" 3.0","a":4}`},
		{`{"a":1.}`, `{"a":1}`},
		{`"1.0`, `"1.0`},
		{``, ``},
	}
	for _, tt := range tests {
		if got := string(fastjson.Whole([]byte(tt.given))); got != tt.want {
			t.Errorf("%s becomes %s, want %s", tt.given, got, tt.want)
		}
	}
}
