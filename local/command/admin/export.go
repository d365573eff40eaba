package admin

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"orgops/shared/domain/company"
	"orgops/shared/domain/export"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

// exportCompany writes a company's items, a line each, to a file or to the output. It goes on with a file whose export was interrupted.
func exportCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	companyID := flags.String("company", "", "the company's id (required)")
	path := flags.String("file", "", "write to this file instead of the output; go on with it if it has a part of the export")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *companyID == "" {
		return errors.New("--company: give the company's id")
	}
	return with(ctx, e, func(st store.Store, _ *password.Hasher) error {
		c := store.For(st, *companyID)
		if _, err := c.Get(ctx, company.Key, nil); err != nil {
			return store.Fault(err, fmt.Sprintf("--company: there is no company %q", *companyID))
		}
		if *path == "" {
			return e.export(ctx, c, e.Out, "")
		}
		file, after, err := resume(*path)
		if err != nil {
			return err
		}
		return errors.Join(e.export(ctx, c, file, after), file.Close())
	})
}

// export writes the pages behind a key.
func (e Env) export(ctx context.Context, c store.Company, to io.Writer, after string) error {
	tell, items := e.told("exported"), 0
	for {
		lines, next, err := export.Page(ctx, c, after)
		if err != nil {
			return err
		}
		if _, err := to.Write(lines); err != nil {
			return err
		}
		items += bytes.Count(lines, []byte("\n")) - 1
		tell(items)
		if after = next; after == "" {
			return nil
		}
	}
}

// told returns a function that tells the operator about each further 100,000 items.
func (e Env) told(done string) func(items int) {
	const step = 100_000
	last := 0
	return func(items int) {
		if items/step > last {
			last = items / step
			e.tell("%d items %s", last*step, done)
		}
	}
}

// resume opens the file of an export behind its last whole page, and returns the key to continue after.
func resume(path string) (*os.File, string, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, "", err
	}
	after, size, err := export.Whole(file)
	if err == nil {
		err = file.Truncate(size)
	}
	if err == nil {
		_, err = file.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, "", errors.Join(err, file.Close())
	}
	return file, after, nil
}
