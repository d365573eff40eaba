package importtest_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

// maxIs limits the share of doc comments that open with "X is" or "X are". A verb says what a function does. The models of
// this project (upspin, boulder, go-cloud) are at 3 to 7 %.
const maxIs = 0.08

func TestDocComments(t *testing.T) {
	t.Parallel()
	opens := regexp.MustCompile(`^\S+ (is|are)\b`)
	all, is := 0, map[string]int{}
	total := 0
	for _, s := range sources(t) {
		for _, doc := range docs(s.tree) {
			all++
			if opens.MatchString(doc) {
				is[groupOf(s.pkg)]++
				total++
			}
		}
	}
	if share := float64(total) / float64(all); share >= maxIs {
		t.Errorf("%d of %d doc comments (%.1f %%) open with \"is\" or \"are\", want less than %.0f %%; by group: %v", total, all, 100*share, 100*maxIs, is)
	}
}

// docs lists the texts of a file's doc comments of functions, types, constants and variables.
func docs(f *ast.File) []string {
	var texts []string
	add := func(c *ast.CommentGroup) {
		if text := c.Text(); text != "" {
			texts = append(texts, text)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Doc)
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				add(d.Doc)
			}
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Doc)
				case *ast.ValueSpec:
					add(spec.Doc)
				}
			}
		}
	}
	return texts
}
