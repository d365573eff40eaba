package projection

import (
	"orgops/shared/storage/store"
)

func (f *folding) company(c store.Change) error {
	if c.New == nil {
		return nil
	}
	company, err := decode[Company](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	company.Name, company.CreatedAt = cut(company.Name, maxText), company.CreatedAt.UTC()
	f.Company = company
	return nil
}
