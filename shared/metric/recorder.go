package metric

import (
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"
)

// Recorder gathers what is measured until Flush writes it. A nil Recorder measures nothing. It is safe for concurrent use.
type Recorder struct {
	out   io.Writer
	stack string
	now   func() time.Time

	mu        sync.Mutex
	values    [metrics][]float64 // of a count one, its sum
	companies []string
	attached  map[string]func() any
}

// New writes lines to out: standard output in a Lambda function, whose log takes a line that is JSON as it is. stack is the
// value of the dimension.
func New(out io.Writer, stack string, now func() time.Time) *Recorder {
	return &Recorder{out: out, stack: stack, now: now, attached: map[string]func() any{}}
}

// Count adds n to a count.
func (r *Recorder) Count(m Metric, n int) {
	if r == nil || n == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.values[m]) == 0 {
		r.values[m] = append(r.values[m], 0)
	}
	r.values[m][0] += float64(n)
}

// Trouble counts one that went wrong, of a company that the line then names.
func (r *Recorder) Trouble(m Metric, company string) {
	if r == nil {
		return
	}
	r.Count(m, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.companies) < maxCompanies && !slices.Contains(r.companies, company) {
		r.companies = append(r.companies, company)
	}
}

// Time adds one duration.
func (r *Recorder) Time(m Metric, d time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[m] = append(r.values[m], float64(max(0, d).Microseconds())/1000)
}

// Since adds the time that has passed since at.
func (r *Recorder) Since(m Metric, at time.Time) {
	if r != nil {
		r.Time(m, r.now().Sub(at))
	}
}

// Attach has every line hold the value that of gives when the line is written, under a name of its own. It is asked once a
// Flush, also when there is no line to write.
func (r *Recorder) Attach(name string, of func() any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attached[name] = of
}

// Limits: those of the format, and how many companies a line names.
const (
	maxValues    = 100 // of a metric in a line
	maxCompanies = 20
)

// Flush writes what has gathered since the last one, with the id of the request that it belongs to: one line, another for
// every hundred times, and none where nothing was measured. A log that cannot be written to cannot be told so.
func (r *Recorder) Flush(requestID string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	properties := map[string]any{}
	for name, of := range r.attached {
		properties[name] = of()
	}
	if len(r.companies) > 0 {
		properties["companies"] = r.companies
		defer func() { r.companies = nil }()
	}
	for {
		values := r.take()
		if len(values) == 0 {
			return
		}
		if requestID != "" {
			properties["requestId"] = requestID
		}
		line, err := json.Marshal(r.document(values, properties))
		if err == nil {
			_, _ = r.out.Write(append(line, '\n'))
		}
		properties = map[string]any{} // what is attached belongs to the whole, and is written once
	}
}

// take is a line's share of what has gathered.
func (r *Recorder) take() map[Metric][]float64 {
	taken := map[Metric][]float64{}
	for m, values := range r.values {
		if n := min(len(values), maxValues); n > 0 {
			taken[Metric(m)], r.values[m] = values[:n], values[n:]
		}
	}
	return taken
}

// The format, as https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
// has it: what CloudWatch is to do stands under _aws, and what it names are members of the line itself.
type (
	metadata struct {
		Timestamp         int64 // milliseconds since 1970
		CloudWatchMetrics []directive
	}
	directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}
	definition struct{ Name, Unit string }
)

func (r *Recorder) document(values map[Metric][]float64, properties map[string]any) map[string]any {
	document, d := properties, directive{Namespace: Namespace, Dimensions: [][]string{{Dimension}}}
	for _, m := range All() {
		switch v := values[m]; len(v) {
		case 0:
			continue
		case 1:
			document[m.String()] = v[0]
		default:
			document[m.String()] = v
		}
		d.Metrics = append(d.Metrics, definition{m.String(), m.Unit()})
	}
	document[Dimension] = r.stack
	document["_aws"] = metadata{Timestamp: r.now().UnixMilli(), CloudWatchMetrics: []directive{d}}
	return document
}
