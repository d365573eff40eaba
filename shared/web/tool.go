package web

import "github.com/danielgtaylor/huma/v2"

// toolMark is the metadata key of what AsTool was given.
const toolMark = "orgops-tool"

// Tool says what an operation does if a program calls it as a tool of the MCP endpoint. An operation that is a GET changes nothing.
type Tool struct {
	Destructive bool // may undo or remove what a person did
	Repeatable  bool // a repeat with the same arguments has no further effect
}

// AsTool offers an operation as a tool of the MCP endpoint, under its operation id.
func AsTool(op huma.Operation, t Tool) huma.Operation { return marked(op, toolMark, t) }

// ToolOf returns what AsTool was given; ok is false for an operation that is no tool.
func ToolOf(op *huma.Operation) (t Tool, ok bool) {
	t, ok = op.Metadata[toolMark].(Tool)
	return t, ok
}
