package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// stackName names the stack that infra creates without a tenant.
const stackName = "Orgops"

// Redeploy deploys the stack again, with more context values, each as name=value.
func (s *Stack) Redeploy(ctx context.Context, values ...string) error {
	t, err := findTools()
	if err != nil {
		return err
	}
	return s.deploy(ctx, t, values...)
}

// deploy deploys the stack and reads its outputs.
func (s *Stack) deploy(ctx context.Context, t tools, values ...string) error {
	file := filepath.Join(s.Home, "outputs.json")
	if err := t.deploy(ctx, s, file, values); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var outputs map[string]map[string]string
	if err := json.Unmarshal(text, &outputs); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s.Outputs = outputs[stackName]
	s.URL = s.Outputs["ApiUrl"]
	return nil
}
