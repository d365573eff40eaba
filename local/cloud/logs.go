package cloud

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// evidence is what was logged of errors, for a stack that is about to go: the last lines of each log that name one.
func (s *Stack) evidence() error {
	files, err := filepath.Glob(filepath.Join(s.LogFolder(), "*", "*.log"))
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, file := range append(files, filepath.Join(s.Home, emulatorLog)) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the emulator may not have begun it
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "ERROR") || strings.Contains(line, "panic") {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			relative, _ := filepath.Rel(s.Home, file) // it is below
			fmt.Fprintf(&all, "%s:\n%s", relative, strings.Join(lines[max(0, len(lines)-5):], ""))
		}
	}
	if all.Len() == 0 {
		return nil
	}
	return errors.New(all.String())
}
