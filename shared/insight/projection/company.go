package projection

import (
	"orgops/shared/base/text"
	"orgops/shared/storage/store"
)

// maxAwaited limits the awaited operators that the context lists.
const maxAwaited = 10

func (f *folding) company(c store.Change) error {
	if c.New == nil {
		return nil
	}
	company, err := decode[Company](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	company.Name, company.CreatedAt = text.TruncateJSON(company.Name, maxText), company.CreatedAt.UTC()
	company.Awaited = newest(company.Awaited, maxAwaited)
	f.Company = company
	return nil
}
