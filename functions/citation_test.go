package functions_test

import (
	"fmt"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestBrief_Citations follows every path that the sentences of a brief cite.
func TestBrief_Citations(t *testing.T) {
	t.Parallel()
	s := newAdvised(t)
	p, c := s.connected(), store.For(s.Store, s.A.ID)
	for n := range 12 {
		e := timeline.Entry{
			ID: id.At(s.now.Add(-time.Duration(n)*time.Hour), fmt.Sprint(n)), At: s.now.Add(-time.Duration(n) * time.Hour), Kind: timeline.Note,
			Title: "a note", Subject: timeline.Reference{Type: "note", ID: fmt.Sprint("n & ", n%10)},
		}
		errtest.Must(t, c.Commit(t.Context(), c.Create(timeline.Key(e.ID), timeline.Entity, e)))
		p.Timeline = append(p.Timeline, e)
	}
	p.Timeline = p.Timeline[:projection.MaxTimeline]
	for n := range 7 {
		g := goal.Goal{ID: goal.IDOf("github", "", fmt.Sprint(n)), Provider: "github", Title: "Ship", State: goal.Open}
		errtest.Must(t, c.Commit(t.Context(), c.Create(goal.Key(g.ID), goal.Entity, g)))
		p.Goals.Listed = append(p.Goals.Listed, projection.Goal{ID: g.ID, Title: g.Title, Status: goal.Misaligned, Since: s.now, Reason: "it is late"})
	}
	p.Goals.Open, p.Goals.Misaligned = 7, 7
	for _, cause := range causes()[4:9] {
		cause.make(s, &p)
	}
	errtest.Must(t, c.Commit(t.Context(), projection.Save(c, 0, p)))
	b := s.brief(s.now.Add(-48 * time.Hour))
	for _, section := range b.Sections {
		if len(section.Items) == 0 && section.ID != "attention" {
			t.Errorf("section %s has no sentence, want one", section.ID)
		}
	}
	if followed := s.follow(b); followed < 20 {
		t.Errorf("%d paths are cited, want 20 or more", followed)
	}
}

// TestBrief_CitesCauses follows every path that briefs cite in the case of each rule: those of the check that the case fails,
// and those of the recommendation, whose evidence it follows too.
func TestBrief_CitesCauses(t *testing.T) {
	t.Parallel()
	for _, cause := range causes() {
		t.Run(cause.rule, func(t *testing.T) {
			t.Parallel()
			s := newAdvised(t)
			p, c := s.connected(), store.For(s.Store, s.A.ID)
			cause.make(s, &p)
			for _, g := range p.Goals.Listed {
				errtest.Must(t, c.Commit(t.Context(), c.Create(goal.Key(g.ID), goal.Entity, goal.Goal{ID: g.ID, State: goal.Open})))
			}
			errtest.Must(t, c.Commit(t.Context(), projection.Save(c, 0, p)))
			s.follow(s.brief(s.now.Add(-time.Hour)))
			for _, e := range s.recommended(cause.rule).Evidence {
				if e.Href != "" {
					s.Do("GET", e.Href, s.A.Token, nil).Want(200)
				}
			}
		})
	}
}

// TestBrief_Since begins briefs at different times of the 180 days that the timeline is kept.
func TestBrief_Since(t *testing.T) {
	t.Parallel()
	s := newAdvised(t)
	p, c := s.connected(), store.For(s.Store, s.A.ID)
	for n := range 26 {
		at := s.now.Add(-time.Duration(n) * timeline.Week)
		e := timeline.Entry{ID: id.At(at, fmt.Sprint(n)), At: at, Kind: timeline.Note, Title: fmt.Sprintf("week %d", n), Subject: timeline.Reference{Type: "note", ID: fmt.Sprint(n)}}
		errtest.Must(t, c.Commit(t.Context(), c.Create(timeline.Key(e.ID), timeline.Entity, e)))
		p.Timeline = append(p.Timeline, e)
	}
	p.Timeline, p.UpdatedAt = p.Timeline[:projection.MaxTimeline], s.now
	errtest.Must(t, c.Commit(t.Context(), projection.Save(c, 0, p)))
	for days, want := range map[int]int{1: 1, 8: 2, 31: 5, 60: 9, 100: 9, 179: 9} { // eight entries, and how many more there are
		b := s.brief(s.now.AddDate(0, 0, -days))
		if got := len(b.Sections[1].Items); got != want {
			t.Errorf("since %d days ago: %d sentences about changes, want %d", days, got, want)
		}
		s.follow(b)
	}
}

func (s *advised) brief(since time.Time) (b assessment.Brief) {
	s.t.Helper()
	s.Do("GET", "/companies/"+s.A.ID+"/intelligence/brief?since="+since.UTC().Format(time.RFC3339), s.A.Token, nil).Want(200).JSON(&b)
	return b
}

// follow reads every path that a brief cites, and returns how many there are. It also checks that the brief fits a screen.
func (s *advised) follow(b assessment.Brief) (followed int) {
	s.t.Helper()
	sentences := 0
	for _, section := range b.Sections {
		sentences += len(section.Items)
		for _, sentence := range section.Items {
			for _, href := range sentence.Evidence {
				followed++
				if got := s.Do("GET", href, s.A.Token, nil); got.Status != 200 {
					s.t.Errorf("%q cites %s: status %d, want 200: %s", sentence.Text, href, got.Status, got.Body)
				}
			}
		}
	}
	if most := 33; sentences > most {
		s.t.Errorf("the brief has %d sentences, want %d at most", sentences, most)
	}
	return followed
}
