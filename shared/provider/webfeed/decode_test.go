package webfeed

import (
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	const latin1 = `<?xml version="1.0" encoding="ISO-8859-1"?>`
	tests := []struct{ name, contentType, document, want string }{
		{"UTF-8", "", "<a>é</a>", "<a>é</a>"},
		{"space and marks", "", " \n\uFEFF\n\uFEFF <a/>", "<a/>"},
		{"control characters", "", "\x00<a\x01>\tb\x1f\uFFFF</a>\x7f", "<a>\tb</a>\x7f"},
		{"not UTF-8", "", "<a>\xff é</a>", "<a>\uFFFD é</a>"},
		{"windows-1252 without a declaration", "", "<a>It\x92s</a>", "<a>It’s</a>"},
		{"windows-1252 under another name", "text/xml; charset=UTF-8", `<?xml version="1.0" encoding="UTF-8"?>` + "\xe9", `<?xml version="1.0" encoding="UTF-8"?>é`},
		{"a set in single quotes", "text/xml; charset='iso-8859-1'", "<a>\xe9 é</a>", "<a>é Ã©</a>"},
		{"declared", "", latin1 + "\xe9", latin1 + "é"},
		{"declared after a space", "", "\n" + latin1 + "\xe9", latin1 + "é"},
		{"declared UTF-16, readable in ASCII", "", `<?xml encoding="utf-16"?>é`, `<?xml encoding="utf-16"?>é`},
		{"little-endian", "", string(utf16le("<é/>")), "<é/>"},
		{"big-endian with a mark", "", string(utf16be("<é/>")), "<é/>"},
		{"little-endian with a mark", "", "\xff\xfe" + string(utf16le("{}")), "{}"},
		{"big-endian without a mark", "", string(utf16be("<é/>")[2:]), "<é/>"},
		{"a mark goes before a declaration", "", string(utf16be(latin1 + "é")), latin1 + "é"},
		{"declared later", "", "<a/>" + latin1 + "é", "<a/>" + latin1 + "é"},
		{"Content-Type", `text/xml; charset="windows-1251"`, "<a>\xcf</a>", "<a>П</a>"},
		{"Content-Type before the declaration", "text/xml; charset=utf-8", latin1 + "é", latin1 + "é"},
		{"a mark before Content-Type", "text/xml; charset=iso-8859-1", "\uFEFF" + latin1 + "é", latin1 + "é"},
		{"an unknown set in Content-Type", "text/xml; charset=none", latin1 + "\xe9", latin1 + "é"},
		{"a broken Content-Type", "text/xml; charset", latin1 + "\xe9", latin1 + "é"},
		{"a set of 7 bits under another name", "text/xml; charset=utf-8", `<?xml encoding="iso-2022-jp"?>` + "\x1b$B8l\x1b(B", `<?xml encoding="iso-2022-jp"?>語`},
		{"UTF-8 under the name of ASCII", "text/xml; charset=us-ascii", "<a>é</a>", "<a>é</a>"},
		{"windows-1252 under the name of ASCII", "text/xml; charset=US-ASCII", "<a>\xe9</a>", "<a>é</a>"},
		{"declared ASCII", "", `<?xml encoding="ascii"?>é`, `<?xml encoding="ascii"?>é`},
		{"UTF-8 under an unknown name", "", `<?xml encoding="utf8mb4"?>é`, `<?xml encoding="utf8mb4"?>é`},
		{"little-endian after a space", "", string(utf16le(" <é/>")), "<é/>"},
		{"JSON, little-endian without a mark", "", string(utf16le(`{"é":1}`)), `{"é":1}`},
		{"JSON, big-endian without a mark", "", string(utf16be(`{"é":1}`)[2:]), `{"é":1}`},
		{"JSON in the set of its Content-Type", "application/json; charset=gb18030", "{\"\xd6\xd0\":1}", `{"中":1}`},
		{"JSON with one wrong byte", "application/json; charset=utf-8", "{\"é\xff\":1}", "{\"é\xff\":1}"},
		{"JSON is in UTF-8", "application/json; charset=iso-8859-1", " {\"a\":\"é\"}", "{\"a\":\"é\"}"},
		{"one byte", "", "x", "x"},
		{"nothing", "", "", ""},
	}
	for _, tt := range tests {
		got, err := decode([]byte(tt.document), tt.contentType)
		errtest.Must(t, err)
		if string(got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	refused := []struct{ name, contentType, document, want string }{
		{"unknown", "", `<?xml version="1.0" encoding="utf-7"?>` + "<rss>\xff</rss>", `the feed declares the character set "utf-7", which is not known; serve it in UTF-8`},
		{"too large in UTF-8", "", latin1 + strings.Repeat("\xe9", maxDocument/2), "the feed is larger than 8 MiB in UTF-8"},
	}
	for _, tt := range refused {
		if _, err := decode([]byte(tt.document), tt.contentType); !strings.Contains(errtest.Message(err), tt.want) {
			t.Errorf("%s: err = %v, want one with %q", tt.name, err, tt.want)
		}
	}
}
