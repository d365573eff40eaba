// Package demo greets a new user: the first start creates a company and prints a session to paste.
package demo

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"
	"text/template"
	"time"

	"orgops/shared/domain/company"
	"orgops/shared/identity/password"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
)

//go:embed session.sh.tmpl
var sessionText string

// Command returns the path of this program, so that printed commands work when pasted. Under go run it returns the path of
// the binary that go run built. This binary exists as long as the service runs and, unlike go run itself, handles signals.
func Command() string {
	if path, err := os.Executable(); err == nil && strings.Contains(path, "go-build") {
		return path
	}
	return os.Args[0]
}

// Welcome creates the demo company in a store that has no company, and prints its credentials with a session that shows the
// service. If the store has a company it prints nothing.
func Welcome(ctx context.Context, out io.Writer, s *boot.Services, base string) error {
	empty, err := noCompany(ctx, s.Store)
	if err != nil || !empty {
		return err
	}
	created, err := company.Provision(ctx, s.Store, password.New(), company.New{Name: "Demo", Email: "founder@example.com"}, time.Now())
	if err != nil {
		return fmt.Errorf("create the demo company: %w", err)
	}
	session, err := template.New("session").Parse(sessionText)
	if err != nil {
		return err
	}
	return session.Execute(out, map[string]string{
		"Base": base, "CompanyID": created.CompanyID, "Email": created.Email, "Password": created.Password, "Command": Command(),
	})
}

func noCompany(ctx context.Context, s store.Store) (bool, error) {
	for shard := range store.RegistryShards {
		page, err := s.Query(ctx, store.Registry(shard), store.Query{Limit: 1})
		if err != nil || len(page.Items) > 0 {
			return false, err
		}
	}
	return true, nil
}
