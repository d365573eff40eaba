package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/executive"
	"orgops/shared/web"
)

// callTool returns the handler of a tool: it makes a request of the arguments, asks for the operation, and shows the answer.
func (e *exchange) callTool(o Operation) mcp.ToolHandler {
	return func(_ context.Context, r *mcp.CallToolRequest) (_ *mcp.CallToolResult, err error) {
		defer e.recovered(&err)
		arguments := map[string]json.RawMessage{}
		if len(r.Params.Arguments) > 0 {
			if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil {
				return wrong("the arguments are not a JSON object"), nil
			}
		}
		if arguments == nil { // they were null
			arguments = map[string]json.RawMessage{}
		}
		e.complete(o, arguments)
		return e.answer(o, arguments)
	}
}

// recovered turns a panic into an error, because the library calls handlers outside of the request's goroutine, where a panic would
// end the process.
func (e *exchange) recovered(err *error) {
	if v := recover(); v != nil {
		e.Logger.ErrorContext(e.ctx, "tool panicked", "request", web.RequestID(e.ctx), "panic", v, "stack", string(debug.Stack()))
		*err = errors.New("the tool failed")
	}
}

// complete adds the arguments that a caller may leave out. An executive acts as itself. Without a key of its own, a repeated call joins
// an action that waits for an approval, and is told once how that ended.
func (e *exchange) complete(o Operation, arguments map[string]json.RawMessage) {
	set := func(name, value string) {
		if _, takes := o.Arguments[name]; !takes || arguments[name] != nil {
			return
		}
		text, _ := json.Marshal(value) // text
		arguments[name] = text
	}
	if e.caller.Executive != "" {
		set("executiveId", e.caller.Executive)
	}
	if _, takes := o.Arguments["idempotencyKey"]; takes {
		asked, _ := json.Marshal(arguments) // of decoded JSON; its keys are sorted
		set("idempotencyKey", executive.JoiningKey(fmt.Appendf(nil, "%s %s", o.Name, asked)))
	}
	if tag, given := arguments["ifMatch"]; given { // a model has read a version, not an entity tag
		if text := plain(tag); !strings.Contains(text, `"`) {
			arguments["ifMatch"], _ = json.Marshal(strconv.Quote(text)) // text
		}
	}
	if _, takes := o.Arguments["limit"]; takes && arguments["limit"] == nil {
		arguments["limit"] = json.RawMessage(strconv.Itoa(usualItems))
	}
}

// usualItems is the size of a page if the caller names none. A model pays for each item that it reads.
const usualItems = 10

// answer asks for the operation until the answer is small enough: a shorter page, or in the end shorter texts.
func (e *exchange) answer(o Operation, arguments map[string]json.RawMessage) (*mcp.CallToolResult, error) {
	for {
		body, refused, err := e.ask(o, arguments)
		if err != nil {
			return nil, err
		}
		if refused != "" {
			return wrong(refused), nil
		}
		result := &mcp.CallToolResult{}
		for level := range levels {
			data := e.shown(body, level)
			text, err := json.Marshal(data)
			if err != nil {
				return nil, err
			}
			result.StructuredContent, result.Content = data, []mcp.Content{&mcp.TextContent{Text: string(text)}}
			if size := 2*len(text) + strings.Count(string(text), `"`); size <= MaxAnswer {
				return result, nil
			}
			if shorter := shorterPage(body, arguments); shorter > 0 {
				arguments["limit"] = json.RawMessage(strconv.Itoa(shorter))
				break
			}
			if level == len(levels)-1 {
				return wrong("the answer is too large for a tool; read it through the API"), nil
			}
		}
	}
}

// shorterPage returns half of the items of a page, or 0 if the answer is no page that can be shorter.
func shorterPage(body map[string]any, arguments map[string]json.RawMessage) int {
	items, ok := body["items"].([]any)
	if _, paged := arguments["limit"]; !ok || !paged {
		return 0
	}
	return len(items) / 2
}

// ask makes the request. refused tells the model what was wrong with it.
func (e *exchange) ask(o Operation, arguments map[string]json.RawMessage) (body map[string]any, refused string, err error) {
	c, err := o.request(arguments)
	if err != nil {
		return nil, explain(err), nil
	}
	got, err := web.Call(e.ctx, o.Method, c.target, c.header, c.body)
	if err != nil {
		return nil, "", err
	}
	if got.Status >= http.StatusBadRequest {
		return nil, explainProblem(got), nil
	}
	if len(got.Body) == 0 {
		return map[string]any{}, "", nil
	}
	return body, "", json.Unmarshal(got.Body, &body)
}

// wrong returns a result from which a model can correct its call.
func wrong(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// explain returns what is wrong with the arguments.
func explain(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return "the arguments cannot be used"
	}
	return refusal{Detail: f.Detail, Errors: f.Problems}.text()
}

// refusal holds the parts of a problem that help a model.
type refusal struct {
	Type       string             `json:"type,omitempty"`
	Status     int                `json:"status,omitempty"`
	Detail     string             `json:"detail"`
	Errors     []fault.FieldError `json:"errors,omitempty"`
	Decision   string             `json:"decision,omitempty"`
	RetryAfter string             `json:"retryAfterSeconds,omitempty"`
}

func (r refusal) text() string {
	text, _ := json.Marshal(r) // texts and numbers
	return visible(string(text))
}

// explainProblem returns the problem that an operation answered.
func explainProblem(got web.Answer) string {
	r := refusal{Status: got.Status, Detail: "the operation failed"}
	_ = json.Unmarshal(got.Body, &r) // every refusal is a problem
	r.RetryAfter = got.Header.Get("Retry-After")
	r.Errors = r.Errors[:min(len(r.Errors), 20)]
	return r.text()
}
