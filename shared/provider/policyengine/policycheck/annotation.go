package policycheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"orgops/shared/provider/policyengine"
)

// checkAnnotations refuses an annotation that looks like a typo of @approval or @reason. A company may write any others, such
// as @id or @owner.
func checkAnnotations(text string, p *cedar.Policy) []string {
	var details []string
	for _, key := range slices.Sorted(maps.Keys(p.Annotations())) {
		for _, meant := range []string{policyengine.Approval, policyengine.Reason} {
			name := string(key)
			if name != meant && typos(strings.ToLower(name), meant) <= len(meant)/4 {
				details = append(details, fmt.Sprintf("line %d: @%s has no meaning; write @%s, or another name", lineOf(text, "@"+name), name, meant))
			}
		}
	}
	return details
}

// typos counts the letters of a that are missing, added, wrong or exchanged with their neighbor, if b is meant.
func typos(a, b string) int {
	if len(a) > 2*len(b) {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			wrong := 0
			if a[i-1] != b[j-1] {
				wrong = 1
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
