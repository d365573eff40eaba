package integrations

import (
	"context"
	"encoding/json"
	"strconv"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/trial"
)

// MappingTestResult shows what became of one test of a mapping.
type MappingTestResult struct {
	Name     string             `json:"name" doc:"the test's name" example:"a new ticket becomes a memory"`
	Passed   bool               `json:"passed" doc:"whether the mapping gives what the test expects"`
	Problems []fault.FieldError `json:"problems" nullable:"false" doc:"the differences, each with its place in the test"`
}

func (r receiver) tester() trial.Receiver {
	return trial.Receiver{Connector: r.conn, Config: r.Config, Place: r.Place}
}

// tests returns the tests of the mapping that applies. A default mapping has none.
func (r receiver) tests() (tests []trial.MappingTest, err error) {
	if r.Mapping != nil && len(r.own.Tests) > 0 {
		err = json.Unmarshal(r.own.Tests, &tests)
	}
	return tests, err
}

// run runs the tests of a mapping.
func (r receiver) run(ctx context.Context, m *mapping.Mapping, tests []trial.MappingTest) ([]MappingTestResult, error) {
	results := make([]MappingTestResult, len(tests))
	for n, t := range tests {
		problems, err := r.tester().Run(ctx, m, t)
		if err != nil {
			return nil, err
		}
		results[n] = MappingTestResult{Name: t.Name, Passed: len(problems) == 0, Problems: problems}
	}
	return results, nil
}

// tested returns the tests as they are stored with a mapping, or fault.Invalid with each difference from what they expect.
func (r receiver) tested(ctx context.Context, raw json.RawMessage, tests []trial.MappingTest) (json.RawMessage, error) {
	if len(tests) == 0 {
		return nil, nil
	}
	stored, err := json.Marshal(tests)
	if err != nil {
		return nil, err
	}
	if stored, err = connector.Canonical(stored); err != nil {
		return nil, err
	}
	if len(raw)+len(stored) > mapping.MaxSize {
		return nil, fault.Newf(fault.TooLarge, "a mapping and its tests have at most %d bytes together", mapping.MaxSize)
	}
	m, err := mapping.Parse(raw)
	if err != nil {
		return nil, err
	}
	results, err := r.run(ctx, m, tests)
	if err != nil {
		return nil, err
	}
	var problems []fault.FieldError
	for n, result := range results {
		for _, p := range result.Problems {
			problems = append(problems, fault.FieldError{Pointer: "/tests/" + strconv.Itoa(n) + p.Pointer, Detail: result.Name + ": " + p.Detail})
		}
	}
	return stored, fault.Refuse(problems)
}
