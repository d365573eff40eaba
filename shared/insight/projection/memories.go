package projection

import (
	"orgops/shared/storage/store"
)

func (f *folding) memory(c store.Change) error {
	image, n := c.New, int64(0)
	switch {
	case c.Old == nil:
		n = 1
	case c.New == nil:
		image, n = c.Old, -1
	}
	m, err := decode[struct {
		Provider string `json:"provider"`
	}](image)
	if err != nil {
		return err
	}
	f.reach(c.At)
	f.Memory.count(m.Provider, n, c.At.UTC())
	return nil
}
