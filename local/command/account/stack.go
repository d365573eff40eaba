package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// stack holds what a synthesized stack asks of an account.
type stack struct {
	name      string
	resources map[string]int // by type
	reserved  float64        // concurrent calls that functions reserve
	queues    []float64      // concurrent calls that each queue may make
	rate      float64        // highest rate of requests a second that a stage allows
}

// manifest holds the part of the CDK's manifest that names the stacks of an app.
type manifest struct {
	Artifacts map[string]struct {
		Type       string `json:"type"`
		Properties struct {
			TemplateFile string `json:"templateFile"`
			StackName    string `json:"stackName"`
		} `json:"properties"`
	} `json:"artifacts"`
}

// template holds the part of a CloudFormation template that limits concern.
type template struct {
	Resources map[string]struct {
		Type       string `json:"Type"`
		Properties struct {
			Reserved float64 `json:"ReservedConcurrentExecutions"`
			Scaling  struct {
				Calls float64 `json:"MaximumConcurrency"`
			} `json:"ScalingConfig"`
			Settings json.RawMessage `json:"MethodSettings"`
		} `json:"Properties"`
	} `json:"Resources"`
}

// readStack reads the one stack of a synthesized app.
func readStack(app string) (stack, error) {
	var m manifest
	if err := readJSON(filepath.Join(app, "manifest.json"), &m); err != nil {
		return stack{}, err
	}
	for name, a := range m.Artifacts {
		if a.Type != "aws:cloudformation:stack" {
			continue
		}
		if a.Properties.StackName != "" {
			name = a.Properties.StackName
		}
		var t template
		if err := readJSON(filepath.Join(app, a.Properties.TemplateFile), &t); err != nil {
			return stack{}, err
		}
		return t.stack(name)
	}
	return stack{}, fmt.Errorf("%s holds no stack; run make synth", app)
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is missing; run make synth", file)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// stack sums a template up.
func (t template) stack(name string) (stack, error) {
	s := stack{name: name, resources: map[string]int{}}
	for id, r := range t.Resources {
		s.resources[r.Type]++
		switch r.Type {
		case "AWS::Lambda::Function":
			s.reserved += r.Properties.Reserved
		case "AWS::Lambda::EventSourceMapping":
			if calls := r.Properties.Scaling.Calls; calls > 0 {
				s.queues = append(s.queues, calls)
			}
		case "AWS::ApiGateway::Stage":
			var settings []struct {
				Rate float64 `json:"ThrottlingRateLimit"`
			}
			if err := json.Unmarshal(r.Properties.Settings, &settings); err != nil {
				return s, fmt.Errorf("the template's stage %s has unknown settings: %w", id, err)
			}
			for _, m := range settings {
				s.rate = max(s.rate, m.Rate)
			}
		}
	}
	return s, nil
}
