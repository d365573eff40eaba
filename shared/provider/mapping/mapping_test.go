package mapping_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/testkit/errtest"
)

// note returns a mapping whose only rule notes the value of an expression.
func note(expression string) mapping.Document {
	return mapping.Document{Rules: []mapping.Rule{{
		When: "true", Action: integration.TimelineNote,
		With: map[string]string{"title": `"t"`, "details": "{value: [" + expression + "]}"},
	}}}
}

// arrival decodes a payload. It has one header.
func arrival(t testing.TB, payload string) mapping.Arrival {
	t.Helper()
	decoded, err := mapping.Payload([]byte(payload))
	errtest.Must(t, err)
	return mapping.Arrival{Header: http.Header{"X-Event": {"issues"}}, Payload: decoded}
}

// parse checks a mapping that must be valid.
func parse(t testing.TB, d mapping.Document) *mapping.Mapping {
	t.Helper()
	m, err := mapping.New(d)
	errtest.Must(t, err)
	return m
}

// problems returns the problems of an error, each as its pointer and its detail.
func problems(t testing.TB, err error) []string {
	t.Helper()
	var all []string
	for _, p := range faultOf(t, err).Problems {
		all = append(all, p.Pointer+": "+p.Detail)
	}
	return all
}

func faultOf(t testing.TB, err error) *fault.Error {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("err = %v, want a *fault.Error", err)
	}
	return f
}

// TestExpression_Values checks what expressions give. Each is evaluated in a list, as jq prints it.
func TestExpression_Values(t *testing.T) {
	t.Parallel()
	const payload = `{"a":{"b":[1,2,{"c":"x"}]},"s":"Ünï, Code","n":12345678901234567890,"f":1.50,"t":true,"z":null,
		"labels":[{"name":"bug"},{"name":"Urgent"}],"o":{"y":2,"x":1},"neg":-7}`
	tests := []struct{ expression, want string }{
		{".payload.a.b[0], .payload.a.b[-1].c", `[1,"x"]`},
		{".payload.a.b[]", `[1,2,{"c":"x"}]`},
		{".payload.a.missing.deeper", `[null]`},
		{`.payload["a"]["b"][1], .payload."a".b[1]`, `[2,2]`},
		{".payload.o[]", `[1,2]`},
		{".payload.a.b[0:2], .payload.a.b[1:], .payload.a.b[-1:], .payload.a.b[2:1], .payload.z[0:1]", `[[1,2],[2,{"c":"x"}],[{"c":"x"}],[],null]`},
		{".payload.s[0:3], .payload.s[-4:], .payload.s[99:], .payload.s[:-6]", `["Ünï","Code","","Ünï"]`},
		{".payload.n, .payload.f, .payload.neg", `[12345678901234567890,1.50,-7]`},
		{`"\(.payload.n) \(.payload.f) \(.payload.t) \(.payload.z) \(.payload.s) \(.payload.o)"`, `["12345678901234567890 1.50 true null Ünï, Code {\"x\":1,\"y\":2}"]`},
		{".payload.s.x?, .payload.z[]?, .payload.s[]?", `[]`},
		{".payload.a.b[0].c?, .payload.o.x?, .payload.a.b[0]?, .payload.a.b[-1]?.c?, .payload.a.b[9]?, .payload.z.x?, .payload.s[0]?, .payload.o[0]?", `[1,1,"x",null,null]`},
		{"(.payload.s | tonumber?), (.payload.t[0:1]?), (.payload.t | length?), (.payload.n | test(\"x\")?), (.payload.o | first?)", `[]`},
		{".payload.z // .payload.missing // 3", `[3]`},
		{"(.payload.labels[] | select(.name == \"bug\") | .name) // \"other\"", `["bug"]`},
		{"[.payload.labels[].name]", `[["bug","Urgent"]]`},
		{".payload.labels | map(.name | ascii_downcase) | join(\"/\")", `["bug/urgent"]`},
		{"[1, null, true, \"x\"] | join(\"-\")", `["1--true-x"]`},
		{"[] | join(\",\")", `[""]`},
		{".payload.labels | any(.name == \"bug\"), all(.name == \"bug\"), any(.[]; .name == \"no\"), all(.[]; true)", `[true,false,false,true]`},
		{"[true, false] | any, all, (any | not)", `[true,false,false]`},
		{".payload.labels | first, first(.[].name), length", `[{"name":"bug"},"bug",2]`},
		{".payload.s, .payload.a, .payload.neg, .payload.z, .payload.n | length", `[9,1,7,0,12345678901234567890]`},
		{".payload.s | startswith(\"Ünï\"), endswith(\"Code\"), startswith(\"x\"), endswith(\"x\")", `[true,true,false,false]`},
		{".payload.s | test(\"^Ü.*e$\"), test(\"(?i)code\"), test(\"[0-9]\")", `[true,true,false]`},
		{".payload.s | split(\", \"), (\"\" | split(\",\")), (\"ab\" | split(\"\"))", `[["Ünï","Code"],[],["a","b"]]`},
		{"\"12.5\", \"-3\", 4 | tonumber", `[12.5,-3,4]`},
		{".payload.o, \"x\", 1 | tostring", `["{\"x\":1,\"y\":2}","x","1"]`},
		{"1 == 1.0, 1 != 2, 1 < 2, 2 <= 2, 3 > 2, \"b\" >= \"a\", null == false, {a: 1} == {a: 1}, [1] < [2]", `[true,true,true,true,true,true,false,true,true]`},
		{"(1, 2) == (1, 2)", `[true,false,false,true]`},
		{"true and false, (true or false), (null | not)", `[false,true,true]`},
		{"if .payload.t then \"yes\" elif .payload.z then 2 else 3 end, (if null then 1 end | . == .)", `["yes",true]`},
		{"{a: .payload.a.b[0], \"b c\": 2, \"\\(.payload.t)\": 3, (.payload.labels[0].name): 4} | tostring", `["{\"a\":1,\"b c\":2,\"bug\":4,\"true\":3}"]`},
		{".payload.o | {x, \"y\"}", `[{"x":1,"y":2}]`},
		{"{a: (1, 2)}", `[{"a":1},{"a":2}]`},
		{"-1, +2, [3][0]", `[-1,2,3]`},
		{".headers[\"x-event\"], .item.t", `["issues",true]`},
		{`.payload.o[.payload.a.b[2].c], .payload.o["\(.payload.a.b[2].c)"], .payload.o["no" | ascii_downcase], .payload.missing[.payload.s]`, `[1,1,null,null]`},
		{`.payload.a.b[.payload.o.y].c, .payload.a[.payload.labels[0].name[0:1]][-1].c, .[("item", "payload")].t`, `["x","x",true,true]`},
		{`.payload.o[.payload.z // ""] // "none"`, `["none"]`},
	}
	for _, tt := range tests {
		matches, err := parse(t, note(tt.expression)).Apply(t.Context(), arrival(t, payload))
		if err != nil {
			t.Errorf("%s: %v", tt.expression, err)
			continue
		}
		want := `{"value":` + tt.want + `}`
		if got := string(matches[0].Actions[0].Note.Details); got != want {
			t.Errorf("%s = %s, want %s", tt.expression, got, want)
		}
	}
}

// TestExpression_Moments checks the functions of times. jq 1.7 gives the same, but for milliseconds and microseconds.
func TestExpression_Moments(t *testing.T) {
	t.Parallel()
	const payload = `{"s":1772366400,"half":1772366400.5,"ms":1772366400500,"us":1772366400500000,"text":"1772366400","eu":"01.03.2026 12:05","us12":"3/1/26 01:05 PM","zone":"01/Mar/2026:14:00:00 +0200"}`
	tests := []struct{ expression, want string }{
		{".payload.s, .payload.half, .payload.ms, .payload.us, -1, 0 | todate", `["2026-03-01T12:00:00Z","2026-03-01T12:00:00Z","2026-03-01T12:00:00Z","2026-03-01T12:00:00Z","1969-12-31T23:59:59Z","1970-01-01T00:00:00Z"]`},
		{".payload.text | tonumber | todateiso8601", `["2026-03-01T12:00:00Z"]`},
		{`"2026-03-01T12:00:00Z", "2026-03-01T14:00:00+02:00", "2026-03-01T12:00:00.5Z" | fromdate`, `[1772366400,1772366400,1772366400.5]`},
		{`"2026-03-01T12:00:00Z" | fromdateiso8601 | strftime("%d.%m.%Y, week day %a %j %%")`, `["01.03.2026, week day Sun 060 %"]`},
		{`.payload.eu | strptime("%d.%m.%Y %H:%M")`, `[[2026,2,1,12,5,0,0,59]]`},
		{`.payload.eu | strptime("%d.%m.%Y %H:%M") | mktime, todate`, `[1772366700,"2026-03-01T12:05:00Z"]`},
		{`.payload.us12 | strptime("%m/%d/%y %I:%M %p") | todate`, `["2026-03-01T13:05:00Z"]`},
		{`.payload.zone | strptime("%d/%b/%Y:%H:%M:%S %z") | todate`, `["2026-03-01T12:00:00Z"]`},
		{`(.payload.eu | strptime("%Y")?), (.payload.o | todate?), (.payload.eu | fromdate?), (.payload.eu | mktime?)`, `[]`},
		{`[.payload.eu | strptime("%Y")?][0] // "none"`, `["none"]`},
		{`[2026, 13, 1, 0, 0, 0], [2026, 0, 1, 0, 0, 1.5] | mktime`, `[1801440000,1767225601.5]`},
	}
	for _, tt := range tests {
		matches, err := parse(t, note(tt.expression)).Apply(t.Context(), arrival(t, payload))
		if err != nil {
			t.Errorf("%s: %v", tt.expression, err)
			continue
		}
		if got, want := string(matches[0].Actions[0].Note.Details), `{"value":`+tt.want+`}`; got != want {
			t.Errorf("%s = %s, want %s", tt.expression, got, want)
		}
	}
}

// TestExpression_Moments_Refused says what a function of times needs, without the value.
func TestExpression_Moments_Refused(t *testing.T) {
	t.Parallel()
	tests := []struct{ expression, want string }{
		{`"secret" | strptime("%Y")`, "the value does not have the format %Y"},
		{`"` + strings.Repeat("1", 65) + `" | strptime("%Y")`, "strptime reads at most 64 bytes"},
		{`1 | strptime("%Y")`, "strptime needs a string, but the value is a number"},
		{`"x" | fromdate`, "fromdate needs a time such as 2026-03-01T12:00:00Z; read another form with strptime"},
		{`"x" | todate`, "strftime needs a number of seconds since 1970, or what strptime gives, but the value is a string"},
		{`1e300 | todate`, "the time is not in the years 1 to 9999"},
		{`[1e9, 1, 1, 1, 1, 1] | mktime`, "a time as a list has numbers of at most 10,000"},
		{`[1] | mktime`, "a time as a list has year, month from 0, day, hour, minute and second"},
		{`.payload[.payload.n]`, "the index of an object needs a string, but the value is a number"},
		{`.payload.n["\(.payload.n)"]`, "an index needs an object or a list, but the value is a number"},
		{`.payload.l["\(.payload.n)"]`, "the index of a list needs a number, but the value is a string"},
	}
	for _, tt := range tests {
		_, err := parse(t, note(tt.expression)).Apply(t.Context(), arrival(t, `{"n":1,"l":[]}`))
		if got, want := strings.Join(problems(t, err), ""), ": rule 1 of the mapping, details: "+tt.want; got != want {
			t.Errorf("%s: %s, want %s", tt.expression, got, want)
		}
	}
}

// TestNew_Refused checks that an error says what is not part of the language, and what to write instead.
func TestNew_Refused(t *testing.T) {
	t.Parallel()
	tests := []struct{ expression, want string }{
		{"def f: 1; f", "def is not part of the language"},
		{"reduce .payload[] as $x (0; 1)", "reduce or foreach is not part of the language; use map"},
		{"foreach .payload[] as $x (0; 1)", "reduce or foreach"},
		{"..", ".. is not part of the language; name the path"},
		{"recurse", "the function recurse is not part of the language; the functions are select, map"},
		{"incident", `strftime and mktime; a text stands in quotes, as in "incident"`},
		{"range(10)", "the function range"},
		{"while(true; .)", "the function while"},
		{"until(true; .)", "the function until"},
		{"repeat(.)", "the function repeat"},
		{"limit(1; .payload[])", "the function limit"},
		{"env", "the function env"},
		{"$ENV", "a variable ($ENV)"},
		{"input", "the function input"},
		{"now", "the function now"},
		{"error", "the function error"},
		{"$__loc__", "a variable"},
		{"$meter", "a variable ($meter)"},
		{"_metered_concat(1; 2)", "the function _metered_concat"},
		{"_slice(1; 2; 3)", "the function _slice"},
		{".payload as $x | $x", "a variable (as $x)"},
		{".payload as [$x] ?// $x | $x", "a variable (as $x)"},
		{"{$x}", "a variable ($x)"},
		{`{"a\(1)"}`, "a name without a value"},
		{"try error", "try is not part of the language; append ? to a path"},
		{"(.payload.a)?", "a question mark follows a step of a path"},
		{`(1 | join(.a)?)`, "a question mark follows"},
		{"label $out | break $out", "label or break"},
		{"@base64", "@base64 is not part of the language; use tostring"},
		{`@json "x\(.)"`, "@json is not part"},
		{"1 + 2", "+ is not part of the language; join texts by interpolation"},
		{"1 - 2", "there is no arithmetic"},
		{`"x" * 1000000`, "* is not part"},
		{"-(.payload)", "a sign before an expression"},
		{".payload.a = 1", "= is not part of the language; an expression reads values"},
		{".payload |= 1", "|= is not part"},
		{".payload.a += 1", "+= is not part"},
		{`import "a" as a; .`, "a module directive"},
		{`.payload[$x]`, "a variable ($x)"},
		{`.payload[now]`, "the function now"},
		{`.payload[.a]?`, "a question mark follows a step of a path"},
		{`.payload | strptime(.x)`, "strptime takes one argument, the format as a literal string"},
		{`.payload | strftime("%Y"; "x")`, "strftime takes one argument"},
		{`.payload | strptime("%Y %Z")`, "the format of a time may have the directives %Y, %m"},
		{`.payload | strptime("100%")`, "may have the directives"},
		{`.payload | strftime("")`, "has 1 to 64 bytes"},
		{`.payload | todate(1)`, "todate/1 takes another number of arguments"},
		{`.payload[.a:]`, "the bounds of a slice must be literal numbers"},
		{`.payload | test(.x)`, "the pattern of test must be a literal string"},
		{`.payload | test("x"; "i")`, `test takes one argument, the pattern; flags stand in the pattern`},
		{`.payload | test("(")`, "not of the RE2 syntax: missing closing )"},
		{`.payload | test("(?=a)")`, "not of the RE2 syntax"},
		{`.payload | test("a{1000}")`, "instructions and may have 200"},
		{"join", "join/0 takes another number of arguments"},
		{`split("a"; "g")`, "split/2 takes another number of arguments"},
		{"", "is empty"},
		{" # a comment", "is empty"},
		{".payload.", "is not complete"},
		{".payload.title)", `does not parse at character 15, at ")"`},
		{"tïtle ]", `does not parse at character 2`},
		{`"\(1`, "not complete"},
		{`"` + strings.Repeat("x", 2047) + `"`, "has 2049 bytes and may have 2048"},
		{"1" + strings.Repeat(" or 1", 100), "has more than 100 levels; use several rules"},
		{strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), "has more than 100 levels"},
		{"\xff", "is not valid Unicode"},
	}
	for _, tt := range tests {
		_, err := mapping.New(mapping.Document{Rules: []mapping.Rule{{
			When: tt.expression, Action: integration.TimelineNote, With: map[string]string{"title": `"t"`},
		}}})
		if err == nil {
			t.Errorf("%s: accepted, want %q", tt.expression, tt.want)
			continue
		}
		got := strings.Join(problems(t, err), "\n")
		if !strings.HasPrefix(got, "/rules/0/when: ") {
			t.Errorf("%s: %s, want the place /rules/0/when", tt.expression, got)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %q", tt.expression, got, tt.want)
		}
	}
}

func TestParse_Problems(t *testing.T) {
	t.Parallel()
	rules := func(n int) string {
		one := `{"when":"true","action":"timeline.note","with":{"title":"\"t\""}}`
		return `{"rules":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	tests := []struct {
		name, document string
		kind           fault.Kind
		want           []string
	}{
		{"not JSON", `{`, fault.Malformed, nil},
		{"another member", `{"rules":[],"more":1}`, fault.Malformed, nil},
		{"too long", `"` + strings.Repeat("x", mapping.MaxSize) + `"`, fault.TooLarge, nil},
		{"no rules", `{}`, fault.Invalid, []string{"/rules: needs 1 to 50 rules"}},
		{"too many rules", rules(51), fault.Invalid, []string{"/rules: needs 1 to 50 rules"}},
		{"every problem", `{"rules":[
			{"when":"$x","each":".headers","action":"memory.upsert","with":{"externalId":"1 +","titel":".a"}},
			{"when":"true","each":".payload[]","action":"memory.delete","with":{}},
			{"when":"true","each":".payload[0]","action":"goal.update","with":{"externalId":"1","title":"2","state":"3","progress":"now"}},
			{"when":"true","each":".payload | .a","action":"timeline.note","with":{"title":"1"}}]}`, fault.Invalid, []string{
			"/rules/0/when: a variable ($x) is not part of the language; read each value by its path, such as .payload.id",
			"/rules/0/each: " + pathProblem,
			"/rules/0/with/title: is missing; memory.upsert needs it",
			"/rules/0/with/externalId: is not complete: it ends where a value, an operator or a closing bracket must follow",
			"/rules/0/with/titel: is not a field of memory.upsert; the fields are externalId, kind, title, body, url, goal, work, updatedAt",
			"/rules/1/each: " + pathProblem,
			"/rules/1/action: must be memory.upsert, goal.update or timeline.note",
			"/rules/2/each: " + pathProblem,
			"/rules/2/with/progress: the function now is not part of the language; the functions are select, map, any, all, not, first, length, join, split, startswith, endswith, test, ascii_downcase, tostring, tonumber, fromdate, todate, strptime, strftime and mktime; a text stands in quotes, as in \"now\"",
			"/rules/3/each: " + pathProblem,
		}},
	}
	for _, tt := range tests {
		_, err := mapping.Parse(json.RawMessage(tt.document))
		if got := fault.KindOf(err); got != tt.kind {
			t.Errorf("%s: kind = %s, want %s", tt.name, got, tt.kind)
			continue
		}
		if diff := cmp.Diff(tt.want, problems(t, err)); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", tt.name, diff)
		}
	}
	if _, err := mapping.Parse(json.RawMessage(rules(50))); err != nil {
		t.Errorf("50 rules: %v, want them accepted", err)
	}
}

const pathProblem = "must be a path below the payload, such as .payload.issue or .payload.data.items; filter in when, and read the items in with"

// TestMapping_Apply takes the first rule that matches, and goes on only if the rule says so.
func TestMapping_Apply(t *testing.T) {
	t.Parallel()
	due, updated := time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)
	m := parse(t, mapping.Document{Rules: []mapping.Rule{
		{When: `.payload.type == "ticket"`, Each: ".payload.ticket", Action: integration.MemoryUpsert, Continue: true, With: map[string]string{
			"externalId": `"tickets/\(.item.id)"`, "kind": `"ticket"`, "title": ".item.subject", "body": ".item.missing", "updatedAt": ".item.at",
		}},
		{When: ".payload.ticket.goals", Each: ".payload.ticket.goals", Action: integration.GoalUpdate, With: map[string]string{
			"externalId": ".item.id", "title": ".item.id", "progress": ".item.progress", "dueAt": ".item.due", "state": `"open"`,
		}},
		{When: "true", Action: integration.TimelineNote, With: map[string]string{
			"title": ".payload.type", "subject": `.headers["x-event"]`, "details": "{a: .item.a, b: null}", "once": ".payload.type",
		}},
	}})
	ticket := connector.Action{Port: integration.MemoryUpsert, At: "/ticket", Memory: &memory.Draft{
		ExternalID: "tickets/7", Kind: "ticket", Title: "Fire", UpdatedAt: &updated,
	}}
	tests := []struct {
		name, payload string
		want          []mapping.Match
	}{
		{"the first alone", `{"type":"ticket","ticket":{"id":7,"subject":"Fire","at":"2026-03-01T12:00:00+01:00"}}`, []mapping.Match{
			{Rule: 0, Actions: []connector.Action{ticket}},
			{Rule: 2, Actions: []connector.Action{{Port: integration.TimelineNote, Note: &connector.NoteDraft{Title: "ticket", Subject: "issues", Details: json.RawMessage("{}"), Once: "ticket"}}}},
		}},
		{"on to the second", `{"type":"ticket","ticket":{"id":7,"subject":"Fire","at":"2026-03-01T12:00:00+01:00","goals":[
			{"id":"a","progress":0.5,"due":"2026-06-30T00:00:00Z"},{"id":"b","progress":{"done":3,"open":1}},{"id":"c","progress":{"done":0,"open":0}}]}}`, []mapping.Match{
			{Rule: 0, Actions: []connector.Action{ticket}},
			{Rule: 1, Actions: []connector.Action{
				{Port: integration.GoalUpdate, At: "/ticket/goals/0", Goal: &goal.Draft{ExternalID: "a", Title: "a", Progress: 0.5, DueAt: &due, State: goal.Open}},
				{Port: integration.GoalUpdate, At: "/ticket/goals/1", Goal: &goal.Draft{ExternalID: "b", Title: "b", Progress: 0.75, State: goal.Open}},
				{Port: integration.GoalUpdate, At: "/ticket/goals/2", Goal: &goal.Draft{ExternalID: "c", Title: "c", State: goal.Open}},
			}},
		}},
		{"the last", `{"type":"other","a":[1]}`, []mapping.Match{
			{Rule: 2, Actions: []connector.Action{{Port: integration.TimelineNote, Note: &connector.NoteDraft{Title: "other", Subject: "issues", Details: json.RawMessage(`{"a":[1]}`), Once: "other"}}}},
		}},
	}
	for _, tt := range tests {
		got, err := m.Apply(t.Context(), arrival(t, tt.payload))
		errtest.Must(t, err)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: matches differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestMapping_Apply_Texts cuts texts that are longer than a goal or a note may have, at a character.
func TestMapping_Apply_Texts(t *testing.T) {
	t.Parallel()
	m := parse(t, mapping.Document{Rules: []mapping.Rule{
		{When: "true", Action: integration.GoalUpdate, Continue: true, With: map[string]string{"externalId": `"1"`, "title": ".payload", "target": ".payload", "state": `"open"`}},
		{When: "true", Action: integration.TimelineNote, With: map[string]string{"title": ".payload"}},
	}})
	matches, err := m.Apply(t.Context(), arrival(t, `"x`+strings.Repeat("ü", 4000)+`"`))
	errtest.Must(t, err)
	actions := mapping.Actions(matches)
	got := []int{len(actions[0].Goal.Title), len(actions[0].Goal.Target), len(actions[1].Note.Title)}
	if diff := cmp.Diff([]int{1023, 4095, 1023}, got); diff != "" {
		t.Errorf("lengths differ (-want +got):\n%s", diff)
	}
}

// TestMapping_Apply_Times takes the times that sources take, for each field that is a time.
func TestMapping_Apply_Times(t *testing.T) {
	t.Parallel()
	m := parse(t, mapping.Document{Rules: []mapping.Rule{{When: "true", Action: integration.GoalUpdate, With: map[string]string{
		"externalId": `"1"`, "title": `"t"`, "state": `"open"`, "dueAt": ".payload.at", "startedAt": ".payload.at", "updatedAt": ".payload.at",
	}}}})
	want := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, at := range []string{
		`"2026-03-01T12:00:00Z"`, `"2026-03-01T14:00:00+02:00"`, `"2026-03-01T12:00:00+0000"`, `"2026-03-01 12:00:00"`, `"Sun, 01 Mar 2026 12:00:00 GMT"`,
		`"Sun, 1 Mar 2026 13:00:00 +0100"`, `"Sun Mar  1 12:00:00 2026"`, `1772366400`, `1772366400.0`, `1772366400000`, `"1772366400"`,
	} {
		matches, err := m.Apply(t.Context(), arrival(t, `{"at":`+at+`}`))
		errtest.Must(t, err)
		g := mapping.Actions(matches)[0].Goal
		for name, got := range map[string]*time.Time{"dueAt": g.DueAt, "startedAt": g.StartedAt, "updatedAt": g.UpdatedAt} {
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", name, at, diff)
			}
		}
	}
	for _, none := range []string{`null`, `"0001-01-01T00:00:00Z"`, `"0001-01-01"`} {
		matches, err := m.Apply(t.Context(), arrival(t, `{"at":`+none+`}`))
		errtest.Must(t, err)
		if got := mapping.Actions(matches)[0].Goal.DueAt; got != nil {
			t.Errorf("dueAt of %s is %v, want none", none, got)
		}
	}
}

// TestMapping_Apply_Refused says which rule and field failed, or which part of the arrival is wrong.
func TestMapping_Apply_Refused(t *testing.T) {
	t.Parallel()
	m := parse(t, mapping.Document{Only: ".config.on != false", Otherwise: &mapping.Refusal{Pointer: "/type", Detail: "must be ticket"}, Rules: []mapping.Rule{
		{When: `.payload.type == "ticket" and (.payload.name | startswith("x"))`, Each: ".payload.data", Action: integration.MemoryUpsert, With: map[string]string{
			"externalId": ".item.id", "title": ".item.title", "updatedAt": ".item.at",
		}},
		{When: `.payload.type == "goal"`, Action: integration.GoalUpdate, With: map[string]string{
			"externalId": `"1"`, "title": `"t"`, "state": `"open"`, "progress": ".payload.progress", "dueAt": ".payload.due",
		}},
	}})
	list := strings.TrimSuffix(strings.Repeat("{},", connector.MaxActions+1), ",")
	tests := []struct{ name, payload, want string }{
		{"no rule", `{"type":"other"}`, "/type: must be ticket"},
		{"a condition that fails", `{"type":"ticket","name":7}`, ": rule 1 of the mapping, when: startswith needs a string, but the value is a number"},
		{"a payload of another type", `[]`, ": rule 1 of the mapping, when: expected an object but got: array"},
		{"nothing to map", `{"type":"ticket","name":"x"}`, "/data: is missing; rule 1 of the mapping needs it"},
		{"an empty list", `{"type":"ticket","name":"x","data":[]}`, "/data: must give 1 to 30 actions"},
		{"too many items", `{"type":"ticket","name":"x","data":[` + list + `]}`, "/data: must give 1 to 30 actions"},
		{"an item of another type", `{"type":"ticket","name":"x","data":[{},"secret"]}`, "/data/1: rule 1 of the mapping, externalId: expected an object but got: string"},
		{"a number for a text", `{"type":"ticket","name":"x","data":{"id":"1","title":7}}`, "/data/title: must be a string"},
		{"no time", `{"type":"ticket","name":"x","data":{"id":"1","title":"t","at":"tomorrow"}}`, "/data/updatedAt: must be a time, such as 2026-03-01T12:00:00Z, a date, or a number of seconds since 1970"},
		{"no number", `{"type":"goal","progress":"half"}`, "/progress: must be a number"},
		{"no share", `{"type":"goal","progress":{"done":1}}`, "/progress: must be a number"},
	}
	for _, tt := range tests {
		matches, err := m.Apply(t.Context(), arrival(t, tt.payload))
		var got []string
		if err != nil {
			got = problems(t, err)
		}
		for _, a := range mapping.Actions(matches) {
			if a.Unreadable != nil {
				got = append(got, a.Unreadable.Pointer+": "+a.Unreadable.Detail)
			}
		}
		if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestMapping_Ignores tells by the headers alone what no payload can change.
func TestMapping_Ignores(t *testing.T) {
	t.Parallel()
	tests := []struct {
		when string
		want bool
	}{
		{`.headers["x-event"] == "issue"`, true},
		{`.headers["x-event"] == "push"`, false},
		{`.headers["x-event"] == "issue" and .payload.id > 0`, true},
		{`(.headers["x-event"] == "issue" or .headers["x-event"] == "note") and (.payload.id > 0 or true)`, true},
		{`.headers["x-event"] == "issue" or .headers["x-event"] == "push"`, false},
		{`.headers["x-event"] == "issue" or .payload.id > 0`, false},
		{`.payload.id > 0 and .headers["x-event"] == "issue"`, false}, // the left side may fail
		{`.headers["x-event"] == "issue" | not`, false},
		{`.headers["x-event"] != "push"`, false},
		{`.payload.type == "issue"`, false},
		{`.headers["x-absent"] == "1"`, true},
	}
	for _, tt := range tests {
		rule := mapping.Rule{When: tt.when, Action: "timeline.note", With: map[string]string{"title": `"x"`}}
		for _, refusal := range []*mapping.Refusal{nil, {Pointer: "/type", Detail: "must be issue"}} {
			m, err := mapping.New(mapping.Document{Rules: []mapping.Rule{rule}, Otherwise: refusal})
			errtest.Must(t, err)
			if got, want := m.Ignores(http.Header{"X-Event": {"push"}}), tt.want && refusal == nil; got != want {
				t.Errorf("%s, refusing %t: ignores = %t, want %t", tt.when, refusal != nil, got, want)
			}
		}
	}
}

func TestMapping_Apply_Canceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	items := "[" + strings.TrimSuffix(strings.Repeat("1,", 1000), ",") + "]"
	_, err := parse(t, note(".payload[] | tostring")).Apply(ctx, arrival(t, items))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
}

func TestPayload_Refused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		kind       fault.Kind
	}{
		{"nothing", "", fault.Malformed},
		{"two documents", "{} {}", fault.Malformed},
		{"half a document", `{"a":`, fault.Malformed},
		{"half a text", `"a\`, fault.Malformed},
		{"too many values for its size", "[" + strings.Repeat("1000,", 400_000) + "0]", fault.Invalid},
		{"too many values", "[" + strings.Repeat("0,", 50_000) + "0]", fault.Invalid},
		{"too many levels", strings.Repeat("[", 101) + strings.Repeat("]", 101), fault.Invalid},
		{"a number too long", strings.Repeat("1", 65), fault.Invalid},
		{"a long text", `"` + strings.Repeat(`\"[,`, 60_000) + `"`, fault.Internal},
		{"many levels", strings.Repeat("[", 100) + strings.Repeat("]", 100), fault.Internal},
		{"a long number", strings.Repeat("1", 64), fault.Internal},
	}
	for _, tt := range tests {
		_, err := mapping.Payload([]byte(tt.body))
		if tt.kind == fault.Internal {
			if err != nil {
				t.Errorf("%s: %v, want it accepted", tt.name, err)
			}
			continue
		}
		if got := fault.KindOf(err); got != tt.kind {
			t.Errorf("%s: kind = %s, want %s", tt.name, got, tt.kind)
		}
	}
}

// TestHeaders leaves out what may hold a credential or a signature.
func TestHeaders(t *testing.T) {
	t.Parallel()
	got := mapping.Headers(http.Header{
		"X-Github-Event": {"issues"}, "Accept": {"a", "b"},
		"Authorization": {"Bearer x"}, "Proxy-Authorization": {"x"}, "Cookie": {"x"}, "Webhook-Signature": {"x"}, "X-Hub-Signature-256": {"x"},
		"X-Hub-Signature": {"x"},
	})
	if diff := cmp.Diff(map[string]any{"x-github-event": "issues", "accept": "a, b"}, got); diff != "" {
		t.Errorf("headers differ (-want +got):\n%s", diff)
	}
}

func TestHeaders_Names(t *testing.T) {
	t.Parallel()
	tests := []struct {
		shown bool
		names []string
	}{
		{false, []string{
			"X-Gitlab-Token", "X-Api-Key", "X-Shared-Secret", "X-Password", "X-Shopify-Hmac-Sha256", "X-Auth-Key", "X-Webhook-Auth", "X-Auth", "X-Access-Key",
			"Apikey", "X-ApiKey", "Key", "X-Jwt-Assertion", "X-Session-Id", "X-Client-Credentials", "X_Auth_Key", "X-Oauth-Verifier", "X-Authentication",
		}},
		{true, []string{
			"Content-Type", "User-Agent", "X-GitHub-Event", "X-GitHub-Delivery", "X-Author", "X-Authored-By", "X-Keyboard", "X-Monkey", "Idempotency-Key",
			"Linear-Event", "Webhook-Id", "Webhook-Timestamp", "X-Shopify-Topic",
		}},
	}
	for _, tt := range tests {
		for _, name := range tt.names {
			if shown := len(mapping.Headers(http.Header{name: {"x"}})) == 1; shown != tt.shown {
				t.Errorf("%s: shown = %t, want %t", name, shown, tt.shown)
			}
		}
	}
}
