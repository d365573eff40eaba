// Package usagekey names the key by which the gateway counts a company's requests against its plan. Nobody ever sends it:
// the authorizer tells it to the gateway, which takes keys from nowhere else.
package usagekey

// Of is a company's key, of the 20 characters at least that the gateway asks for.
func Of(company string) string {
	const least = 20
	key := "company-" + company
	for len(key) < least { // ids made here have 36 characters
		key += "-"
	}
	return key
}
