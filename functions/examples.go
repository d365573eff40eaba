package functions

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/web"
)

// exampleFiles holds an answer of each operation and status, as the service gave it: examples/<operation id>.<status>.json.
// Long lists are cut.
//
//go:embed examples/*.json
var exampleFiles embed.FS

// showExamples adds the examples to the answers of the document. If the document has all groups, showExamples panics on a
// file that belongs to no answer.
func showExamples(doc *huma.OpenAPI, complete bool) {
	answers := map[string]*huma.Response{}
	for _, op := range web.OperationsOf(doc) {
		for status, response := range op.Responses {
			answers[op.OperationID+"."+status] = response
		}
	}
	files, err := exampleFiles.ReadDir("examples")
	if err != nil {
		panic(fmt.Sprintf("functions: read the examples: %v", err))
	}
	for _, file := range files {
		content, err := exampleFiles.ReadFile("examples/" + file.Name())
		response := answers[strings.TrimSuffix(file.Name(), ".json")]
		if err == nil && response == nil && !complete {
			continue
		}
		if err != nil || response == nil {
			panic(fmt.Sprintf("functions: examples/%s is of no answer: %v", file.Name(), err))
		}
		showExample(response, content)
	}
}

// showExample gives an answer its example. Answers of several statuses share their content, so it copies that.
func showExample(response *huma.Response, example []byte) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, example); err != nil {
		panic(fmt.Sprintf("functions: an example is not JSON: %v", err))
	}
	content := maps.Clone(response.Content)
	for name, media := range content {
		if !strings.HasSuffix(name, "json") {
			continue
		}
		shown := *media
		shown.Example = json.RawMessage(compact.Bytes())
		content[name] = &shown
	}
	response.Content = content
}
