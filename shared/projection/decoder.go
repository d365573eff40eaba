package projection

import (
	"fmt"
	"strconv"
	"time"
)

// decoder reads JSON in one pass. It keeps the first error; after one its methods return zero values and stand still.
type decoder struct {
	data []byte
	i    int
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = fmt.Errorf("byte %d: %w", d.i, err)
		d.i = len(d.data)
	}
}

// end is the first error; text behind the value is one.
func (d *decoder) end() error {
	if d.next() != 0 {
		d.fail(fmt.Errorf("more text behind the value"))
	}
	return d.err
}

// next is the next byte that is not space, 0 at the end.
func (d *decoder) next() byte {
	if d.i = skipSpace(d.data, d.i); d.i < len(d.data) {
		return d.data[d.i]
	}
	return 0
}

// object calls visit with each field's name in front of its value. A value that visit does not read is passed over.
func (d *decoder) object(visit func(name []byte)) {
	d.members('{', '}', func() {
		end := -1
		if d.next() == '"' {
			end = skipString(d.data, d.i)
		}
		if end < 0 {
			d.fail(errNotObject)
			return
		}
		name := d.data[d.i+1 : end-1]
		if d.i = end; d.next() != ':' {
			d.fail(errNotObject)
			return
		}
		d.i++
		d.next()
		before := d.i
		if visit(name); d.i == before {
			d.raw()
		}
	})
}

// array calls visit in front of each element, which visit has to read.
func (d *decoder) array(visit func()) { d.members('[', ']', visit) }

func (d *decoder) members(opens, closes byte, visit func()) {
	if d.next() == 'n' { // null is empty
		d.raw()
		return
	}
	if d.next() != opens {
		d.fail(fmt.Errorf("no %q", opens))
		return
	}
	d.i++
	if d.next() == closes {
		d.i++
		return
	}
	for d.err == nil {
		d.next()
		before := d.i
		visit()
		switch c := d.next(); {
		case d.err != nil:
		case c == closes:
			d.i++
			return
		case c != ',' || d.i == before:
			d.fail(fmt.Errorf("no %q", closes))
		default:
			d.i++
		}
	}
}

// raw is the next value's text.
func (d *decoder) raw() []byte {
	d.next()
	end := skipValue(d.data, d.i)
	if end < 0 {
		d.fail(fmt.Errorf("no value"))
		return nil
	}
	v := d.data[d.i:end]
	d.i = end
	return v
}

func (d *decoder) text() string {
	s, err := text(d.raw())
	if err != nil {
		d.fail(err)
	}
	return s
}

func (d *decoder) int() int64 {
	n, err := strconv.ParseInt(string(d.raw()), 10, 64)
	if err != nil {
		d.fail(err)
	}
	return n
}

func (d *decoder) float() float64 {
	x, err := strconv.ParseFloat(string(d.raw()), 64)
	if err != nil {
		d.fail(err)
	}
	return x
}

func (d *decoder) time() time.Time {
	var t time.Time
	if err := t.UnmarshalJSON(d.raw()); err != nil {
		d.fail(err)
	}
	return t
}

func (d *decoder) bool() bool {
	v := string(d.raw())
	if v != "true" && v != "false" {
		d.fail(fmt.Errorf("%q is not true or false", v))
	}
	return v == "true"
}

// unquoted is a map's key from the text between its quotes.
func unquoted(name []byte) string {
	s, err := text(append(append([]byte{'"'}, name...), '"'))
	if err != nil {
		return string(name)
	}
	return s
}
