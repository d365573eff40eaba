package store

import "unicode/utf8"

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
