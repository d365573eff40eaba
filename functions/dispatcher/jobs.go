package dispatcher

import (
	"errors"
	"sync"
)

// maxKept limits the jobs in progress while records cannot be written. Their payloads take at most 80 MB.
const maxKept = 4096

var errKept = errors.New("too many deliveries wait for their records to be written")

// jobs holds the jobs in progress, from their submission until their deliveries are recorded. A change that is redelivered
// meanwhile joins the job, so that no attempt is made again before it is recorded.
type jobs struct {
	mu   sync.Mutex
	open map[jobKey]*job
}

type jobKey struct{ company, delivery string }

func newJobs() *jobs { return &jobs{open: map[jobKey]*job{}} }

func keyOf(j *job) jobKey { return jobKey{j.endpoint.Company.ID(), j.key()} }

// begin registers a job. If the same delivery is in progress, begin returns false, and the end of that job finishes j's
// change too.
func (s *jobs) begin(j *job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.open[keyOf(j)]; other != nil {
		other.joined = append(other.joined, j.work)
		return false
	}
	s.open[keyOf(j)] = j
	return true
}

// full reports whether no job may be added that waits for a write.
func (s *jobs) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > maxKept
}

// end finishes the changes of a job. After an error they are redelivered.
func (s *jobs) end(j *job, err error) {
	s.mu.Lock()
	delete(s.open, keyOf(j))
	joined := j.joined
	s.mu.Unlock()
	j.work.finish(err)
	for _, work := range joined {
		work.finish(err)
	}
}
