package store

import (
	"context"
	"iter"
	"unicode/utf8"
)

// Items yields the items of a partition that q names, in order, and reads a page when the page before it has been consumed.
// It ends with the first error.
func Items(ctx context.Context, s Store, p Partition, q Query) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for {
			page, err := s.Query(ctx, p, q)
			if err != nil {
				yield(Item{}, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if q.After = page.Next; q.After == "" {
				return
			}
		}
	}
}

// PrefixEnd returns the least valid UTF-8 key that is greater than every key with the query's Prefix, or "" if every key is
// less. Drivers use it as the upper bound of a range.
func (q Query) PrefixEnd() string {
	prefix := q.Prefix
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch last {
		case utf8.MaxRune: // no greater rune: increment the one before it
		case 0xd7ff: // the surrogates that follow are not valid runes
			return prefix + "\ue000"
		default:
			return prefix + string(last+1)
		}
	}
	return ""
}
