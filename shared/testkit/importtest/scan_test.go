package importtest_test

import (
	"go/ast"
	"slices"
	"testing"
)

// TestTables_NoScan checks that only tests scan a table. It reads the files that import DynamoDB's client, since no others could.
func TestTables_NoScan(t *testing.T) {
	t.Parallel()
	const client = "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	scans := []string{
		"Scan", "ScanInput", "NewScanPaginator",
		"ExecuteStatement", "ExecuteStatementInput", "BatchExecuteStatement", "ExecuteTransaction", // PartiQL scans if the key is missing
	}
	looked := 0
	for _, s := range sources(t) {
		if s.test || !slices.Contains(s.imports, client) {
			continue
		}
		looked++
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if selected, ok := n.(*ast.SelectorExpr); ok && slices.Contains(scans, selected.Sel.Name) {
				t.Errorf("%s uses %s; read items by their keys", s.file, selected.Sel.Name)
			}
			return true
		})
	}
	if looked < 3 {
		t.Errorf("%d files use DynamoDB's client, want at least 3", looked)
	}
}
