package mapping

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	"github.com/itchyny/timefmt-go"
)

// directives lists what the format of strptime and strftime may have. Those that name a zone are left out, because their meaning
// depends on the machine; %z is the zone as an offset.
const directives = "YmdHMSyjbBeaAIpzsfFTRD%"

// maxMoment limits the texts of a time and of its format, in bytes.
const maxMoment = 64

const isoDate = "%Y-%m-%dT%H:%M:%SZ"

// checkFormat says what is wrong with the format of a time, or returns nil.
func checkFormat(format string) error {
	if format == "" || len(format) > maxMoment {
		return fmt.Errorf("the format of a time has 1 to %d bytes", maxMoment)
	}
	for at := 0; at < len(format); at++ {
		if format[at] != '%' {
			continue
		}
		if at++; at == len(format) || !strings.ContainsRune(directives, rune(format[at])) {
			return fmt.Errorf("the format of a time may have the directives %%%s", strings.Join(strings.Split(directives, ""), ", %"))
		}
	}
	return nil
}

// parseTime reads a time by a format, as jq's broken down time in UTC: year, month from 0, day, hour, minute, second, day of the week, day of
// the year.
func parseTime(c call) (any, error) {
	in, ok := c.in.(string)
	if !ok {
		return nil, wrongType("strptime", "a string", c.in)
	}
	t, err := readTime(in, c.args[0].(string)) // a literal
	if err != nil {
		return nil, err
	}
	return []any{
		t.Year(), int(t.Month()) - 1, t.Day(), t.Hour(), t.Minute(), seconds(int64(t.Second()), t.Nanosecond()), int(t.Weekday()), t.YearDay() - 1,
	}, c.pay(8 * nodeUnits)
}

func readTime(in, format string) (time.Time, error) {
	if len(in) > maxMoment { // the parser's error quotes it
		return time.Time{}, fmt.Errorf("strptime reads at most %d bytes", maxMoment)
	}
	t, err := timefmt.Parse(in, format)
	if err != nil {
		return time.Time{}, fmt.Errorf("the value does not have the format %s", format)
	}
	return t.UTC(), nil
}

// fromDate reads a time in the form of RFC 3339 as seconds since 1970.
func fromDate(c call) (any, error) {
	in, ok := c.in.(string)
	if !ok {
		return nil, wrongType("fromdate", "a string", c.in)
	}
	t, err := time.Parse(time.RFC3339, in[:min(len(in), maxMoment)])
	if err != nil {
		return nil, errors.New("fromdate needs a time such as 2026-03-01T12:00:00Z; read another form with strptime")
	}
	return seconds(t.Unix(), t.Nanosecond()), nil
}

// epoch returns a broken down time as seconds since 1970.
func epoch(c call) (any, error) {
	list, ok := c.in.([]any)
	if !ok {
		return nil, wrongType("mktime", "what strptime gives", c.in)
	}
	t, err := broken(list)
	return seconds(t.Unix(), t.Nanosecond()), err
}

// formatTime writes a time in UTC. A number counts from 1970, in seconds, or in milliseconds or microseconds where seconds would be
// beyond the year 5138.
func formatTime(c call) (any, error) {
	format := c.args[0].(string) // a literal
	var t time.Time
	var err error
	if list, ok := c.in.([]any); ok {
		t, err = broken(list)
	} else if n, ok := gojq.ToFloat64(c.in); ok {
		t, err = since(n)
	} else {
		return nil, wrongType("strftime", "a number of seconds since 1970, or what strptime gives", c.in)
	}
	if err != nil {
		return nil, err
	}
	return timefmt.Format(t, format), c.pay(nodeUnits)
}

var errYear = errors.New("the time is not in the years 1 to 9999")

// since returns the time of a number of seconds, milliseconds or microseconds since 1970.
func since(n float64) (time.Time, error) {
	size := math.Abs(n)
	switch {
	case size >= 1e17 || math.IsNaN(n):
		return time.Time{}, errYear
	case size >= 1e14:
		return within(time.UnixMicro(int64(n)).UTC())
	case size >= 1e11:
		return within(time.UnixMicro(int64(n * 1e3)).UTC())
	}
	return within(time.UnixMicro(int64(math.Round(n * 1e6))).UTC())
}

func within(t time.Time) (time.Time, error) {
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, errYear
	}
	return t, nil
}

// broken reads a broken down time. The days of the week and of the year follow from the others.
func broken(list []any) (time.Time, error) {
	var parts [6]float64
	for n := range parts {
		var ok bool
		if len(list) <= n {
			return time.Time{}, errors.New("a time as a list has year, month from 0, day, hour, minute and second")
		}
		if parts[n], ok = gojq.ToFloat64(list[n]); !ok || math.Abs(parts[n]) > 1e4 {
			return time.Time{}, errors.New("a time as a list has numbers of at most 10,000")
		}
	}
	whole := math.Floor(parts[5])
	return within(time.Date(int(parts[0]), time.Month(parts[1])+1, int(parts[2]), int(parts[3]), int(parts[4]), int(whole), int(math.Round((parts[5]-whole)*1e9)), time.UTC))
}

// seconds returns a whole number where there is no fraction.
func seconds(whole int64, nanos int) any {
	if nanos == 0 {
		return int(whole)
	}
	return float64(whole) + float64(nanos)/1e9
}
