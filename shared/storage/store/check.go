package store

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// CheckOps validates the ops of a commit; every driver calls it before it touches its backend. It requires one to MaxOps
// ops, distinct items, keys of 1 to MaxKey bytes of UTF-8, and bodies within MaxBody and MaxCommit.
func CheckOps(ops []Op) error {
	if len(ops) == 0 {
		return errors.New("store: commit without ops")
	}
	if len(ops) > MaxOps {
		return fmt.Errorf("store: commit of %d ops; the limit is %d", len(ops), MaxOps)
	}
	size := 0
	for i := range ops {
		if err := checkOp(&ops[i]); err != nil {
			return err
		}
		size += len(ops[i].Body)
	}
	if size > MaxCommit {
		return fmt.Errorf("%w: commit of %d bytes; the limit is %d", ErrTooLarge, size, MaxCommit)
	}
	return checkDistinct(ops)
}

// CheckKeys validates the keys of a GetMany; every driver calls it before it touches its backend.
func CheckKeys(keys []string) error {
	if len(keys) > MaxKeys {
		return fmt.Errorf("store: %d keys; the limit is %d", len(keys), MaxKeys)
	}
	seen := make(map[string]struct{}, len(keys))
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
		if _, ok := seen[key]; ok {
			return fmt.Errorf("store: the key %s twice in one read", key)
		}
		seen[key] = struct{}{}
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey || !utf8.ValidString(key) {
		return fmt.Errorf("store: key %q is not 1 to %d bytes of UTF-8", key, MaxKey)
	}
	return nil
}

func checkOp(op *Op) error {
	switch {
	case op.Partition.key == "":
		return fmt.Errorf("store: op on %q without a partition", op.Key)
	case len(op.Body) > MaxBody:
		return fmt.Errorf("%w: body of %s has %d bytes; the limit is %d", ErrTooLarge, op.Key, len(op.Body), MaxBody)
	case op.Action == Put && len(op.Body) == 0:
		return fmt.Errorf("store: body of %s is empty", op.Key)
	}
	return checkKey(op.Key)
}

func checkDistinct(ops []Op) error {
	if len(ops) == 1 {
		return nil
	}
	type id struct {
		partition Partition
		key       string
	}
	if len(ops) <= 8 { // comparing a few is faster than hashing them
		for i := range ops {
			for j := range i {
				if ops[i].Key == ops[j].Key && ops[i].Partition == ops[j].Partition {
					return errTwice(&ops[i])
				}
			}
		}
		return nil
	}
	seen := make(map[id]struct{}, len(ops))
	for i := range ops {
		k := id{ops[i].Partition, ops[i].Key}
		if _, ok := seen[k]; ok {
			return errTwice(&ops[i])
		}
		seen[k] = struct{}{}
	}
	return nil
}

func errTwice(op *Op) error { return fmt.Errorf("store: two ops on %s in one commit", op.Key) }
