package sqlitestore

import "context"

// Sweep sweeps the whole table at once, so that a test need not wait for background turns.
func (s *Store) Sweep(ctx context.Context) error {
	for from := (rowKey{}); ; {
		next, err := s.sweep(ctx, from, sweepTurn)
		if from = next; err != nil || from == (rowKey{}) {
			return err
		}
	}
}
