package attempt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"orgops/shared/provider/rehearsal"
)

// load reads a recording.
func load(file string) (all []rehearsal.Exchange, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all = []rehearsal.Exchange{}
	for decoder := json.NewDecoder(bytes.NewReader(raw)); decoder.More(); {
		var e rehearsal.Exchange
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("--replay: %s is no recording: %w", file, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// save writes the recording, a line each exchange. Only the user can read the file: the answers are the company's.
func save(file string, pages []rehearsal.Page) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, page := range pages {
		for _, e := range page.Exchanges {
			if err := encoder.Encode(e); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(file, text.Bytes(), 0o600)
}
