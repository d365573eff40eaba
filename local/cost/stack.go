package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orgops/shared/metric"
)

// stack is what a deployed template has that is paid for whether it is used or not, and the memory of its functions.
type stack struct {
	keys, secrets, alarms, dashboards int
	metrics                           int                // custom ones
	queues                            int                // that Lambda polls
	memory                            map[string]float64 // MiB by function
}

type template struct {
	Resources map[string]struct {
		Type       string
		Properties struct {
			Metrics        []struct{ MetricStat *struct{} } // of an alarm over several
			MemorySize     float64
			Code           struct{ S3Key any }
			EventSourceArn map[string]any
		}
	}
}

// readStack counts in a CloudFormation template.
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

// measured is how many metrics an alarm looks at, by which it is paid.
func measured(metrics []struct{ MetricStat *struct{} }) (n int) {
	for _, m := range metrics {
		if m.MetricStat != nil {
			n++
		}
	}
	return n
}

// functionName is the function's in its logical id, which its unit and its folder make: Apiauth… or Eventsticker….
func functionName(id string) string {
	name, _, _ := strings.Cut(id, "Function")
	return strings.TrimPrefix(strings.TrimPrefix(name, "Api"), "Events")
}

func fromStream(source map[string]any) bool {
	attribute, _ := source["Fn::GetAtt"].([]any)
	return len(attribute) == 2 && attribute[1] == "StreamArn"
}

// golden is the template of the stack, in the module that the working folder is in.
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
			return nil, errors.New("run it in the folder of the repository: there is no go.mod above this one")
		}
		folder = parent
	}
}
