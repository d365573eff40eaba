package sqlitestore

import "context"

// Steps returns the migrations of the store's tables.
func Steps() []string { return steps() }

// Sweep sweeps the whole table at once, so that a test need not wait for background turns.
func (s *Store) Sweep(ctx context.Context) error {
	for from := int64(0); ; {
		next, err := s.sweep(ctx, from, sweepTurn)
		if from = next; err != nil || from == 0 {
			return err
		}
	}
}
