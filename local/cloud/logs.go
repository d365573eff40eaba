package cloud

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Logs is what a function, such as "dispatcher", has logged in all of its sandboxes, with Lambda's own lines. It is empty
// for one that has not run.
func (s *Stack) Logs(function string) (string, error) {
	// CloudFormation makes a function's name of the stack's and the first letters of the construct's path: Orgops-Eventsdispatcher…
	name := regexp.MustCompile("^" + stackName + "-(Api|Events)" + regexp.QuoteMeta(function) + "Function?")
	folders, err := os.ReadDir(s.LogFolder())
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	var all strings.Builder
	for _, folder := range folders {
		if !name.MatchString(folder.Name()) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(s.LogFolder(), folder.Name(), "*.log"))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&all, "%s\n%s", filepath.Base(file), text)
		}
	}
	return all.String(), nil
}

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
