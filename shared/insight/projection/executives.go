package projection

import (
	"encoding/json"

	"orgops/shared/base/text"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/timeline"
)

// exceeded folds an entry that tells that an executive asked for more than its quota. Beyond maxExecutives, the executive
// whose entry is oldest is dropped.
func (f *folding) exceeded(e timeline.Entry) {
	var told executive.Exceeded
	if e.Kind != timeline.ExecutiveActed || json.Unmarshal(e.Details, &told) != nil || told.Name == "" {
		return
	}
	if was, known := f.Executives[e.Subject.ID]; known && was.ExceededAt.After(e.At) {
		return
	}
	f.Executives[e.Subject.ID] = Excess{Name: text.TruncateJSON(told.Name, maxText), QuotaPerDay: told.QuotaPerDay, ExceededAt: e.At.UTC()}
	if len(f.Executives) <= maxExecutives {
		return
	}
	oldest := ""
	for name, x := range f.Executives {
		order := x.ExceededAt.Compare(f.Executives[oldest].ExceededAt)
		if oldest == "" || order < 0 || order == 0 && name < oldest {
			oldest = name
		}
	}
	delete(f.Executives, oldest)
}
