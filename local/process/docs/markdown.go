package docs

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown makes HTML of a guide. address returns where a link leads, or "" for a link that is shown as text. HTML in the text
// is left out.
func markdown(guide string, address func(string) string) string {
	links := parser.WithASTTransformers(util.Prioritized(linker(address), 0))
	var out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(links)).Convert([]byte(guide), &out); err != nil {
		panic(fmt.Sprintf("docs: render a guide: %v", err)) // the guides are part of the program
	}
	return out.String()
}

// linker replaces the destination of each link by the address that it returns.
type linker func(string) string

// Transform implements parser.ASTTransformer.
func (address linker) Transform(page *ast.Document, _ text.Reader, _ parser.Context) {
	var links []*ast.Link
	_ = ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker returns no error
		if link, ok := n.(*ast.Link); ok && entering {
			links = append(links, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range links {
		if to := address(string(link.Destination)); to != "" {
			link.Destination = []byte(to)
			continue
		}
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			link.Parent().InsertBefore(link.Parent(), link, child)
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
}
