package password

import (
	_ "embed"
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"orgops/shared/base/fault"
)

// common holds the 11,611 passwords of at least MinLength characters among the 30,000 commonest, in lower case and sorted,
// one a line. They include all such passwords among the 10,000 commonest. The list is that of zxcvbn 4.4.2 (Dropbox, MIT
// licence in common.LICENSE.txt), which follows Mark Burnett's ten million leaked passwords.
//
//go:embed common.txt
var common string

// service names the service in words that a password must not consist of.
const service = "orgops"

// shortestWord is the length from which a word about the user counts. A shorter one is part of too many other words.
const shortestWord = 3

// Check refuses a password that NIST SP 800-63B §3.1.1.2 asks to refuse: a password that is too short, too long, not UTF-8, among
// the commonest, a run or repetition of characters, or made of the service's name and words about the user. The problem
// points at pointer and never quotes the password.
func Check(password, pointer string, about ...string) []fault.FieldError {
	text := strings.ToLower(norm.NFC.String(password))
	n := utf8.RuneCountInString(norm.NFC.String(password))
	var detail string
	switch {
	case !utf8.ValidString(password) || n < MinLength || n > MaxLength:
		detail = fmt.Sprintf("needs %d to %d characters, of any kind", MinLength, MaxLength)
	case isCommon(text):
		detail = "is one of the commonest passwords; choose another"
	case isRun(text):
		detail = "repeats or counts up few characters; choose another"
	case utf8.RuneCountInString(without(text, about)) < MinLength:
		detail = fmt.Sprintf("needs %d characters other than the user's name and e-mail address and the service's name", MinLength)
	default:
		return nil
	}
	return []fault.FieldError{{Pointer: pointer, Detail: detail}}
}

// isCommon searches the list by halves. The list stays text, so that a process that checks no password does no work for it.
func isCommon(text string) bool {
	from := sort.Search(len(common), func(at int) bool { return lineAt(common, at) >= text })
	return from < len(common) && lineAt(common, from) == text
}

// lineAt returns the line that contains the byte at a position.
func lineAt(lines string, at int) string {
	begin := strings.LastIndexByte(lines[:at], '\n') + 1
	line, _, _ := strings.Cut(lines[begin:], "\n")
	return line
}

// isRun reports whether a text has at most two different characters, or each character follows the one before it, as in
// abcdefgh or 98765432.
func isRun(text string) bool {
	runes := []rune(text)
	different, steps := map[rune]bool{}, map[rune]bool{}
	for i, r := range runes {
		different[r] = true
		if i > 0 {
			steps[r-runes[i-1]] = true
		}
	}
	return len(different) <= 2 || len(steps) == 1 && (steps[1] || steps[-1])
}

// without returns the letters and digits of a text that remain when the words about the user and the service are cut out.
func without(text string, about []string) string {
	rest, cut := text, false
	for _, word := range append([]string{service}, about...) {
		word = strings.ToLower(norm.NFC.String(word))
		if utf8.RuneCountInString(word) >= shortestWord && strings.Contains(rest, word) {
			rest, cut = strings.ReplaceAll(rest, word, ""), true
		}
	}
	if !cut {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, rest)
}
