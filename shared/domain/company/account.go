package company

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

// Account holds a person and the person's logins, one for each company.
type Account struct {
	user.Person
	Members []Member

	partition store.Partition // of the e-mail address
	key       string          // under which the person is stored; "": it is not
	version   int64
	more      []store.Op // remove the persons that were absorbed
}

// Member holds a login with the key and the version of its item.
type Member struct {
	user.Login
	key     string
	version int64
	changed bool
}

// Come notes where the person logs in from; see user.Seen. All companies of the person share what was seen.
func (a *Account) Come(network, browser string, now time.Time) (changed, strange bool) {
	return a.Seen.Note(a.partition.String(), network, browser, now)
}

// Accounts returns the accounts of an e-mail address, the proven one first.
func Accounts(ctx context.Context, st store.Store, email string) ([]Account, error) {
	items, err := itemsOf(ctx, st, store.Login(email))
	if err != nil {
		return nil, err
	}
	return AccountsIn(store.Login(email), items)
}

// itemsOf returns all items of a partition of an e-mail address.
func itemsOf(ctx context.Context, st store.Store, p store.Partition) (all []store.Item, err error) {
	for item, err := range store.Items(ctx, st, p, store.Query{}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		all = append(all, item)
	}
	return all, nil
}

// AccountsIn returns the accounts among the items of an e-mail address's partition, the proven one first. A login of an earlier release
// is an account of its own, which is stored as one with its first change.
func AccountsIn(p store.Partition, items []store.Item) ([]Account, error) {
	var all []Account
	for _, item := range items {
		if !user.IsPerson(item.Key) {
			continue
		}
		a := Account{partition: p, key: item.Key, version: item.Version}
		if err := item.Decode(&a.Person); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	for _, item := range items {
		if !user.IsLogin(item.Key) {
			continue
		}
		m := Member{key: item.Key, version: item.Version}
		if err := item.Decode(&m.Login); err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(all, func(a Account) bool { return m.Person != "" && a.ID == m.Person }); at >= 0 {
			all[at].Members = append(all[at].Members, m)
			continue
		}
		all = append(all, Account{
			Person: user.Person{PasswordHash: m.PasswordHash, Companies: []string{m.CompanyID}}, Members: []Member{m}, partition: p,
		})
	}
	slices.SortStableFunc(all, func(a, b Account) int { return proven(b) - proven(a) })
	return all, nil
}

func proven(a Account) int {
	if a.Proven {
		return 1
	}
	return 0
}

// AccountOf returns the account among all that has a user of a company. It returns fault.NotFound if none has.
func AccountOf(all []Account, companyID, userID string) (Account, error) {
	at := slices.IndexFunc(all, func(a Account) bool {
		return slices.ContainsFunc(a.Members, func(m Member) bool { return m.CompanyID == companyID && m.UserID == userID })
	})
	if at < 0 {
		return Account{}, fault.New(fault.NotFound, noUser)
	}
	return all[at], nil
}

// Matching returns the accounts with a password, in the time that one takes.
func Matching(ctx context.Context, hasher *password.Hasher, pass string, all []Account) (right []Account, err error) {
	hashes := make([]string, len(all))
	for i, a := range all {
		hashes[i] = a.PasswordHash
	}
	matches, err := hasher.Matches(ctx, pass, hashes)
	for i := range matches {
		if matches[i] {
			right = append(right, all[i])
		}
	}
	return right, err
}

// Open returns the logins of the account that are not disabled, the one last used first.
func (a Account) Open() []user.Login {
	var open []user.Login
	for _, m := range a.Members {
		switch {
		case m.Disabled:
		case m.CompanyID == a.Last:
			open = slices.Insert(open, 0, m.Login)
		default:
			open = append(open, m.Login)
		}
	}
	return open
}

// Stored reports whether the account is stored as such, and not as a login of an earlier release.
func (a Account) Stored() bool { return a.version > 0 }

// Absorb takes over another account of the address, as far as the person may belong to its companies. An account with a second factor
// stays apart: no other factor, and no lack of one, may lead to its companies.
func (a *Account) Absorb(other Account) {
	if len(other.Factors) > 0 || len(a.Members)+len(other.Members) > user.MaxMemberships {
		return
	}
	a.Companies = append(a.Companies, other.Companies...)
	a.Members = append(a.Members, other.Members...)
	if other.Stored() {
		a.more = append(a.more, other.remove())
	}
}

// maxWhole limits the writes that give accounts a new password. A commit also uses up a code, and records the change.
const maxWhole = store.MaxOps - 10

// most returns how many writes an account needs at most: its own, and each login with the end of its tokens.
func (a Account) most() int { return 1 + 2*len(a.Members) }

// Whole returns the accounts of an address that has been proven: the proven one, which takes over the others, and those that stay apart
// because of their second factors. all has at least one. As one person may, they have MaxMemberships companies together at most, and no more
// than one commit can write: what is left stays as it is, and the next proof takes it over.
func Whole(all []Account) []Account {
	first := 0
	if at := slices.IndexFunc(all, func(a Account) bool { return len(a.Factors) == 0 }); !all[0].Proven && at > 0 {
		first = at // otherwise the factor of an unproven person would lock the others out
	}
	whole := []Account{all[first]}
	whole[0].Proven = true
	members, writes := len(whole[0].Members), whole[0].most()
	for n, other := range all {
		if n == first || members+len(other.Members) > user.MaxMemberships || writes+other.most() > maxWhole {
			continue
		}
		members, writes = members+len(other.Members), writes+other.most()
		if len(other.Factors) > 0 {
			whole = append(whole, other)
			continue
		}
		whole[0].Absorb(other)
	}
	return whole
}

// replaced returns the writes that give accounts of an address a new password, and end all tokens of their persons. all has every account
// of the address.
func replaced(ctx context.Context, st store.Store, hasher *password.Hasher, pass string, accounts, all []Account, now time.Time) (ops []store.Op, err error) {
	if err := accounts[0].SetPassword(ctx, hasher, pass, all); err != nil {
		return nil, err
	}
	for n := range accounts {
		a := &accounts[n]
		a.PasswordHash = accounts[0].PasswordHash
		ends, err := a.End(ctx, st, now)
		if err != nil {
			return nil, err
		}
		ops = append(append(ops, a.Writes()...), ends...)
	}
	return ops, nil
}

// End ends all tokens of the person, in every company. The writes of the account store the ends of the logins.
func (a *Account) End(ctx context.Context, st store.Store, now time.Time) ([]store.Op, error) {
	var ops []store.Op
	for i := range a.Members {
		m := &a.Members[i]
		m.Generation++
		m.changed = true
		end, err := user.EndTokens(ctx, store.For(st, m.CompanyID), m.UserID, m.Generation, now)
		if err != nil {
			return nil, err
		}
		ops = append(ops, end)
	}
	return ops, nil
}

// Writes returns the writes that store the account as it is now.
func (a *Account) Writes() []store.Op {
	if a.ID == "" {
		a.ID = id.New()
	}
	ops := slices.Clone(a.more)
	if a.Stored() && a.key != a.Key() { // it has been proven
		ops = append(ops, a.remove())
		a.version = 0
	}
	ops = append(ops, a.partition.Entry(a.Key(), user.PersonEntity, a.version, a.Person))
	for i := range a.Members {
		m := &a.Members[i]
		if m.Person == a.ID && !m.changed {
			continue
		}
		m.Person, m.PasswordHash = a.ID, ""
		ops = append(ops, a.partition.Entry(m.key, user.LoginEntity, m.version, m.Login))
	}
	return ops
}

// Leave returns the writes by which the person leaves a company. The person goes with the last one.
func (a Account) Leave(companyID string) []store.Op {
	at := slices.IndexFunc(a.Members, func(m Member) bool { return m.CompanyID == companyID })
	if at < 0 {
		return nil
	}
	m := a.Members[at]
	ops := []store.Op{deletion(a.partition, m.key, user.LoginEntity, m.version)}
	switch {
	case !a.Stored():
		return ops
	case len(a.Members) == 1:
		return append(ops, a.remove())
	}
	a.Companies = slices.DeleteFunc(slices.Clone(a.Companies), func(c string) bool { return c == companyID })
	return append(ops, a.partition.Entry(a.key, user.PersonEntity, a.version, a.Person))
}

func (a Account) remove() store.Op { return deletion(a.partition, a.key, user.PersonEntity, a.version) }

func deletion(p store.Partition, key, entity string, version int64) store.Op {
	return store.Op{Partition: p, Key: key, Entity: entity, Quiet: true, Action: store.Delete, Condition: store.IfVersion, Version: version}
}

// join makes the person a member of a company, as a user of it.
func (a *Account) join(companyID string, u user.User) error {
	if len(a.Members) >= user.MaxMemberships {
		return fault.Newf(fault.Conflict, "the person belongs to %d companies, and may belong to no more; leave one first", user.MaxMemberships)
	}
	a.Companies = append(slices.Clone(a.Companies), companyID)
	a.Members = append(a.Members, Member{
		Login: user.Login{CompanyID: companyID, UserID: u.ID, Person: a.ID, Role: u.Role, Provider: u.Provider}, key: user.LoginKey(companyID), changed: true,
	})
	return nil
}

// free returns fault.Conflict if one of an address's accounts has a login in a company.
func free(all []Account, companyID string) error {
	for _, a := range all {
		if slices.ContainsFunc(a.Members, func(m Member) bool { return m.CompanyID == companyID }) {
			return fault.New(fault.Conflict, "a user of this company has this e-mail address already")
		}
	}
	return nil
}

// newAccount makes an account of an address. Its hash has the salt of the address's other hashes, so that a login derives one key, and
// takes the same time, for however many accounts the address has.
func newAccount(ctx context.Context, hasher *password.Hasher, email, pass string, all []Account) (Account, error) {
	a := Account{Person: user.Person{ID: id.New()}, partition: store.Login(email)}
	err := a.SetPassword(ctx, hasher, pass, all)
	return a, err
}

// SetPassword sets the password of an account, of all that the address has.
func (a *Account) SetPassword(ctx context.Context, hasher *password.Hasher, pass string, all []Account) (err error) {
	like := ""
	for _, other := range all {
		if other.PasswordHash != "" && !hasher.NeedsRehash(other.PasswordHash) {
			like = other.PasswordHash
		}
	}
	a.PasswordHash, err = hasher.HashLike(ctx, pass, like)
	return err
}

// assigned returns the account that the operator of the service gives a user of an address: the proven person's, whose password stays,
// or a new one. made is the password if it was generated. problems are what is wrong with the rest of the user. assigned returns
// fault.Conflict if the address has a login in the company.
func assigned(ctx context.Context, st store.Store, hasher *password.Hasher, companyID string, in NewUser, problems []fault.FieldError) (a Account, made string, err error) {
	all, err := Accounts(ctx, st, in.Email)
	if err != nil {
		return Account{}, "", err
	}
	if len(all) > 0 && all[0].Proven {
		return all[0], "", errors.Join(fault.Refuse(problems), free(all, companyID))
	}
	if in.Password == "" {
		made = password.Generate()
		in.Password = made
	}
	problems = append(problems, password.Check(in.Password, "/password", user.Words(in.Email, in.Name)...)...)
	if err := errors.Join(fault.Refuse(problems), free(all, companyID)); err != nil {
		return Account{}, "", err
	}
	a, err = newAccount(ctx, hasher, in.Email, in.Password, all)
	a.Proven = true
	return a, made, err
}
