package process

import (
	"fmt"
	"os"

	"orgops/shared/identity/application"
	"orgops/shared/run/config"
)

// applications reads the applications that the operator has registered with providers. Without a file it returns no applications.
func applications(c config.Config) (application.Static, error) {
	if c.Applications == "" {
		return application.Static{}, nil
	}
	text, err := os.ReadFile(c.Applications)
	if err != nil {
		return nil, fmt.Errorf("ORGOPS_APPLICATIONS_FILE: %w", err)
	}
	all, err := application.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("ORGOPS_APPLICATIONS_FILE: %w", err)
	}
	return all, nil
}
