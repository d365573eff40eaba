package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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
	s.URL, err = local(s.Endpoint, s.Outputs["ApiUrl"])
	return err
}

// local returns the emulator's address for an API. The API's public name, https://ID.execute-api.HOST/STAGE, does not
// resolve.
func local(endpoint, public string) (string, error) {
	u, err := url.Parse(public)
	if err != nil {
		return "", err
	}
	id, _, ok := strings.Cut(u.Hostname(), ".execute-api.")
	if !ok {
		return "", fmt.Errorf("output ApiUrl %q is not an API's address", public)
	}
	return endpoint + "/_aws/execute-api/" + id + u.Path, nil
}
