package projection

import (
	"strings"

	"orgops/shared/domain/recommendation"
	"orgops/shared/storage/store"
)

// recommendation folds what was decided about a recommendation.
func (f *folding) recommendation(c store.Change) error {
	recommendationID := strings.TrimPrefix(c.Key, recommendation.Prefix)
	if c.New == nil {
		f.reach(c.At)
		delete(f.Recommendations, recommendationID)
		return nil
	}
	s, err := decode[recommendation.Standing](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	s.At, s.Until, s.Version = s.At.UTC(), s.Until.UTC(), c.New.Version
	f.Recommendations[recommendationID] = s
	f.boundStandings()
	return nil
}

// boundStandings drops a standing beyond maxStandings: of those that succeeded the oldest, or else the oldest of all.
func (f *folding) boundStandings() {
	if len(f.Recommendations) <= maxStandings {
		return
	}
	dropped := ""
	for name, s := range f.Recommendations {
		if dropped == "" || goesBefore(name, s, dropped, f.Recommendations[dropped]) {
			dropped = name
		}
	}
	delete(f.Recommendations, dropped)
}

func goesBefore(name string, s recommendation.Standing, other string, o recommendation.Standing) bool {
	if ended := s.State == recommendation.Succeeded; ended != (o.State == recommendation.Succeeded) {
		return ended
	}
	if order := s.At.Compare(o.At); order != 0 {
		return order < 0
	}
	return name < other
}
