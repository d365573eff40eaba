package connector

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/text"
)

// timed splits a time into its date, its clock, its half of the day, its zone, and the year that some forms put last. The name of a zone behind its
// offset does not matter.
const timed text.Pattern = `(?i)^(.*?)[ t](\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?|\d{6})(?: ?([ap]m)\b)? ?` +
	`((?:utc?|gmt)?[+-]\d{1,2}(?::?\d{2})?|[a-z]{1,5})?(?: [a-z]{2,5})?( \d{4})?$`

// maxMoment limits a time's text, in bytes.
const maxMoment = 64

// Moment reads a time in one of the forms that providers use, and returns it in UTC: RFC 3339 and other forms of ISO 8601, the dates
// of mail (RFC 5322) and of HTTP (RFC 9110), ctime, and seconds, milliseconds or microseconds since 1970. A time without a zone, or
// with an unknown one, is in UTC. It returns nil for anything else.
func Moment(s string) *time.Time { return WhenIn(s).At }

// moment does what Moment does, for any year.
func moment(s string) (t time.Time, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) > maxMoment {
		return t, false
	}
	if t, ok = sinceEpoch(s); ok {
		return t.UTC(), true
	}
	s = usual(s)
	parts := timed.Regexp().FindStringSubmatch(s)
	if parts == nil {
		return day(s)
	}
	date, known := day(parts[1] + parts[5])
	clock, form := parts[2], "15:04:05"
	switch strings.Count(clock, ":") {
	case 0:
		form = "150405"
	case 1:
		form = "15:04"
	}
	if before, leap := strings.CutSuffix(clock, ":60"); leap && form == "15:04:05" {
		clock, date = before+":59", date.Add(time.Second)
	} else if rest, end := strings.CutPrefix(clock, "24:"); end && strings.Trim(rest, "0:.,") == "" {
		clock, date = "00:"+rest, date.Add(24*time.Hour)
	}
	if half := strings.ToUpper(parts[3]); half != "" {
		clock, form = clock+half, strings.Replace(form, "15", "3", 1)+"PM"
	}
	t, err := time.Parse(form, clock)
	shift, zoned := offset(strings.ToUpper(parts[4]))
	return date.Add(t.Sub(t.Truncate(24*time.Hour)) - shift), known && zoned && err == nil
}

// sinceEpoch reads a number with at least nine digits before the point.
func sinceEpoch(s string) (t time.Time, ok bool) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 1e8 || n >= 1e17 || strings.Trim(s, "0123456789.eE+") != "" || len(s) == len("20060102") {
		return time.Time{}, false
	}
	switch {
	case n >= 1e14:
		return time.UnixMicro(int64(n)), true
	case n >= 1e11:
		return time.UnixMilli(int64(n)), true
	}
	return time.UnixMilli(int64(n * 1000)), true
}

// The names of weekdays and months, in three letters.
const (
	weekdays = "mon tue wed thu fri sat sun"
	months   = "jan feb mar apr may jun jul aug sep oct nov dec"
)

// usual returns a time without its weekday, commas, comments and the place of its zone, and with its names in three letters.
func usual(s string) string {
	if n := strings.IndexAny(s, "(["); n >= 0 {
		s = s[:n]
	}
	var words []string
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' || r == '\r' }) {
		letters := strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz.") == ""
		short := strings.ToLower(word[:min(3, len(word))])
		switch {
		case letters && slices.Contains(strings.Fields(weekdays), short):
		case letters && slices.Contains(strings.Fields(months), short):
			words = append(words, short)
		default:
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// day reads a date.
func day(s string) (t time.Time, ok bool) {
	for _, form := range []string{
		time.DateOnly, "2006/01/02", "20060102", "2 Jan 2006", "2 Jan 06", "2-Jan-06", "2-Jan-2006", "Jan 2 2006", "2006-01", "2006",
	} {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return t, false
}

// offset returns what a zone is ahead of UTC. A name that is not of RFC 5322 or of Europe counts as UTC.
func offset(zone string) (ahead time.Duration, ok bool) {
	switch zone {
	case "EDT":
		return -4 * time.Hour, true
	case "EST", "CDT":
		return -5 * time.Hour, true
	case "CST", "MDT":
		return -6 * time.Hour, true
	case "MST", "PDT":
		return -7 * time.Hour, true
	case "PST":
		return -8 * time.Hour, true
	case "BST", "CET":
		return time.Hour, true
	case "CEST", "EET":
		return 2 * time.Hour, true
	case "EEST":
		return 3 * time.Hour, true
	}
	sign := strings.IndexAny(zone, "+-")
	digits := strings.ReplaceAll(zone[sign+1:], ":", "")
	n, err := strconv.Atoi(digits)
	if sign < 0 || err != nil {
		return 0, true
	}
	if len(digits) <= len("07") {
		n *= 100
	}
	ahead = time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if zone[sign] == '-' {
		ahead = -ahead
	}
	return ahead, ahead.Abs() < 24*time.Hour
}
