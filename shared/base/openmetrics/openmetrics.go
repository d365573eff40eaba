// Package openmetrics writes metrics as OpenMetrics 1.0 text, which Prometheus and its relatives scrape. The library of
// Prometheus that writes this form links protocol buffers, which would make the function a third larger.
package openmetrics

import (
	"bytes"
	"strconv"
	"strings"
)

// Type is the media type of the text.
const Type = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Writer collects metric families. The zero Writer adds no labels of its own.
type Writer struct {
	labels []string
	text   bytes.Buffer
}

// New makes a Writer that adds labels to every metric: pairs of name and value.
func New(labels ...string) *Writer { return &Writer{labels: labels} }

// Family holds the metrics of one name. Add them before the next family begins.
type Family struct {
	w    *Writer
	name string
}

// Gauge begins a family of values that go up and down.
func (w *Writer) Gauge(name, help string) Family { return w.family(name, "gauge", help) }

// StateSet begins a family of states, of which one is 1. Each of its metrics has a label of the family's name.
func (w *Writer) StateSet(name, help string) Family { return w.family(name, "stateset", help) }

func (w *Writer) family(name, kind, help string) Family {
	w.text.WriteString("# TYPE " + name + " " + kind + "\n# HELP " + name + " " + escape(help) + "\n")
	return Family{w, name}
}

// Add adds a metric with labels: pairs of name and value.
func (f Family) Add(value float64, labels ...string) {
	b := &f.w.text
	b.WriteString(f.name)
	separator := "{"
	for _, pairs := range [][]string{f.w.labels, labels} {
		for i := 0; i+1 < len(pairs); i += 2 {
			b.WriteString(separator + pairs[i] + `="` + escape(pairs[i+1]) + `"`)
			separator = ","
		}
	}
	if separator == "," {
		b.WriteByte('}')
	}
	b.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// AddIf adds a metric unless its value is nil.
func (f Family) AddIf(value *float64, labels ...string) {
	if value != nil {
		f.Add(*value, labels...)
	}
}

// Text returns the text, with its end mark.
func (w *Writer) Text() []byte { return append(bytes.Clone(w.text.Bytes()), "# EOF\n"...) }

// escape escapes a label's value or a help text.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(text)
}
