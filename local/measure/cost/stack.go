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
	windows                           map[string]float64 // seconds in which Lambda gathers a batch of the stream, by function
	traced                            map[string]bool    // functions whose calls X-Ray records
	sampling                          sampling           // of the gateway's requests
	reported                          bool               // Lambda logs every call, not only those that fail
}

// rare lists the metrics that are recorded in trouble only. CloudWatch charges a metric for the hours in which it gets values.
func rare() []metric.Metric {
	return []metric.Metric{metric.InboundLimited, metric.AuthorizerFailures, metric.ChangesParked, metric.CanaryLate, metric.TimersFailed}
}

// sampling holds a rule of X-Ray: it records the first requests of each second, and a share of the others.
type sampling struct{ aSecond, ofOthers float64 }

// defaultSampling returns X-Ray's own rule, which applies to functions without exception.
func defaultSampling() sampling { return sampling{aSecond: 1, ofOthers: 0.05} }

// of returns how many of n evenly spread requests a month X-Ray records.
func (s sampling) of(n float64) float64 {
	first := min(n, s.aSecond*60*minutesAMonth)
	return first + s.ofOthers*(n-first)
}

type template struct {
	Resources map[string]struct {
		Type       string
		Properties struct {
			Metrics        []struct{ MetricStat *struct{} } // of an alarm on several metrics
			MemorySize     float64
			Code           struct{ S3Key any }
			EventSourceArn map[string]any
			FunctionName   struct{ Ref string }
			Window         float64 `json:"MaximumBatchingWindowInSeconds"`
			TracingConfig  struct{ Mode string }
			LoggingConfig  struct{ SystemLogLevel string }
			SamplingRule   struct{ ReservoirSize, FixedRate float64 }
		}
	}
}

// readStack counts the resources of a CloudFormation template.
func readStack(text []byte) (stack, error) {
	var t template
	if err := json.Unmarshal(text, &t); err != nil {
		return stack{}, fmt.Errorf("template: %w", err)
	}
	s := stack{metrics: len(metric.All()) - len(rare()), memory: map[string]float64{}, traced: map[string]bool{}, windows: map[string]float64{}, sampling: defaultSampling()}
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
			s.traced[functionName(id)] = r.Properties.TracingConfig.Mode == "Active"
			s.reported = s.reported || r.Properties.LoggingConfig.SystemLogLevel != "WARN"
		case "AWS::XRay::SamplingRule":
			s.sampling = sampling{r.Properties.SamplingRule.ReservoirSize, r.Properties.SamplingRule.FixedRate}
		case "AWS::Lambda::EventSourceMapping":
			if fromStream(r.Properties.EventSourceArn) {
				s.windows[functionName(r.Properties.FunctionName.Ref)] = r.Properties.Window
			} else {
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
