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
func (s *Stack) Refusals() ([]Refusal, error) { return read[Refusal](s, "refusals.jsonl") }

// Drop describes an invocation that Lambda drops, because its function was invoked too often in one chain.
type Drop struct {
	Function string `json:"function"`
	Event    string `json:"event"` // its beginning
}

// Drops returns the invocations that the emulator has dropped so far, the oldest first.
func (s *Stack) Drops() ([]Drop, error) { return read[Drop](s, "dropped.jsonl") }

// read returns the lines of a file of the emulator. A file that does not exist has none.
func read[T any](s *Stack, name string) (all []T, err error) {
	text, err := os.ReadFile(filepath.Join(s.Home, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, one)
	}
	return all, nil
}
