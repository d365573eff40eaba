package cloud

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// evidence returns the logged errors of a stack that is about to be removed: the last five lines with an error of each log.
func (s *Stack) evidence() error {
	files, err := filepath.Glob(filepath.Join(s.LogFolder(), "*", "*.log"))
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, file := range append(files, filepath.Join(s.Home, emulatorLog)) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the emulator may not have created it yet
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "ERROR") || strings.Contains(line, "panic") {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			relative, _ := filepath.Rel(s.Home, file) // cannot fail: file is below Home
			fmt.Fprintf(&all, "%s:\n%s", relative, strings.Join(lines[max(0, len(lines)-5):], ""))
		}
	}
	if all.Len() == 0 {
		return nil
	}
	return errors.New(all.String())
}
