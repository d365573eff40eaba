package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orgops/shared/base/metric"
)

// stack counts the resources of a template that cost money even when idle, and holds the memory of its functions.
type stack struct {
	keys, secrets, alarms, dashboards int
	metrics                           int                // custom metrics
	queues                            int                // polled by Lambda
	memory                            map[string]float64 // MiB by function
}

type template struct {
	Resources map[string]struct {
		Type       string
		Properties struct {
			Metrics        []struct{ MetricStat *struct{} } // of an alarm on several metrics
			MemorySize     float64
			Code           struct{ S3Key any }
			EventSourceArn map[string]any
		}
	}
}

// readStack counts the resources of a CloudFormation template.
func readStack(text []byte) (stack, error) {
	var t template
	if err := json.Unmarshal(text, &t); err != nil {
		return stack{}, fmt.Errorf("template: %w", err)
	}
	s := stack{metrics: len(metric.All()), memory: map[string]float64{}}
	for id, r := range t.Resources {
		switch r.Type {
		case "AWS::KMS::Key":
			s.keys++
		case "AWS::SecretsManager::Secret":
			s.secrets++
		case "AWS::CloudWatch::Dashboard":
			s.dashboards++
		case "AWS::CloudWatch::Alarm":
			s.alarms += max(1, measured(r.Properties.Metrics))
		case "AWS::Lambda::Function":
			s.memory[functionName(id)] = r.Properties.MemorySize
		case "AWS::Lambda::EventSourceMapping":
			if !fromStream(r.Properties.EventSourceArn) {
				s.queues++
			}
		}
	}
	return s, nil
}

// measured counts the metrics that an alarm reads. AWS charges an alarm by their number.
func measured(metrics []struct{ MetricStat *struct{} }) (n int) {
	for _, m := range metrics {
		if m.MetricStat != nil {
			n++
		}
	}
	return n
}

// functionName extracts the function's name from its logical id, which starts with its unit: Apiauth… or Eventsticker….
func functionName(id string) string {
	name, _, _ := strings.Cut(id, "Function")
	return strings.TrimPrefix(strings.TrimPrefix(name, "Api"), "Events")
}

func fromStream(source map[string]any) bool {
	attribute, _ := source["Fn::GetAtt"].([]any)
	return len(attribute) == 2 && attribute[1] == "StreamArn"
}

// golden reads the stack's template from the module that contains the working folder.
func golden() ([]byte, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return os.ReadFile(filepath.Join(folder, "infra", "testdata", "Orgops.template.json"))
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return nil, errors.New("no go.mod in this folder or above; run it inside the repository")
		}
		folder = parent
	}
}
