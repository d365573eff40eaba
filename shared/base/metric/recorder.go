package metric

import (
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"
)

// Recorder collects measurements until Flush writes them. A nil Recorder ignores them. It is safe for concurrent use.
type Recorder struct {
	out   io.Writer
	stack string
	now   func() time.Time

	mu        sync.Mutex
	values    [metrics][]float64 // a count has one value, its sum
	companies []string
	attached  map[string]func() any
}

// New returns a Recorder that writes JSON lines to out. In a Lambda function out is standard output, because the function's
// log keeps JSON lines unchanged. stack is the value of the dimension.
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

// Trouble counts one failure. The first line of the next Flush names the company.
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

// Since adds the duration since at.
func (r *Recorder) Since(m Metric, at time.Time) {
	if r != nil {
		r.Time(m, r.now().Sub(at))
	}
}

// Attach adds a member with this name to the first line of each Flush. Each Flush calls the function of once to get the
// value, even when Flush writes no line.
func (r *Recorder) Attach(name string, of func() any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attached[name] = of
}

// Limits of the format, and of the companies that a line names.
const (
	maxValues    = 100 // per metric and line
	maxCompanies = 20
)

// Flush writes the measurements since the last Flush, with the id of their request. It writes one line, more lines if a
// metric has over a hundred values, and no line without measurements. It ignores write errors, because it could report them
// only to the same log.
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
		properties = map[string]any{} // only the first line has the attached values
	}
}

// take removes and returns the values of one line.
func (r *Recorder) take() map[Metric][]float64 {
	taken := map[Metric][]float64{}
	for m := range r.values {
		values := r.values[m]
		if n := min(len(values), maxValues); n > 0 {
			taken[Metric(m)], r.values[m] = values[:n], values[n:]
		}
	}
	return taken
}

// The embedded metric format: _aws holds the instructions for CloudWatch, and the metrics that it names are members of the
// line. https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
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
