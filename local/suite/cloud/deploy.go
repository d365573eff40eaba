package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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

// register stores the operator's Slack app, and returns the context values that name it.
func (s *Stack) register(ctx context.Context, app *Slack) ([]string, error) {
	if app == nil {
		return nil, nil
	}
	body, err := json.Marshal(map[string]string{"Name": "slack", "SecretString": app.Secret, "ClientRequestToken": "00000000-0000-4000-8000-000000000001"})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "secretsmanager.CreateSecret")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var made struct{ ARN string }
	if err := json.NewDecoder(response.Body).Decode(&made); err != nil {
		return nil, fmt.Errorf("the secret of the Slack app: status %d: %w", response.StatusCode, err)
	}
	return []string{"slackSecret=" + made.ARN, "slackUrl=" + app.URL}, nil
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
