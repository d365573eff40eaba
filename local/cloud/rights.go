package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Refusal describes a request of a function that its role does not allow.
type Refusal struct {
	Role     string `json:"role"` // name of the function's role
	Action   string `json:"action"`
	Resource string `json:"resource"` // ARN, or * for an action without a resource
	Reason   string `json:"reason"`
}

// Refusals returns the requests that the emulator has refused so far, the oldest first.
func (s *Stack) Refusals() ([]Refusal, error) {
	text, err := os.ReadFile(filepath.Join(s.Home, "refusals.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Refusal
	for line := range bytes.Lines(text) {
		var r Refusal
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("refusals.jsonl: %w", err)
		}
		all = append(all, r)
	}
	return all, nil
}
