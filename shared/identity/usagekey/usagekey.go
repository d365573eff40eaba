// Package usagekey names the key by which the gateway counts a company's requests against its plan. Clients never send it:
// the gateway takes keys from the authorizer only.
package usagekey

// Of returns a company's key, padded to the 20 characters that the gateway requires.
func Of(company string) string {
	const least = 20
	key := "company-" + company
	for len(key) < least { // never for a company id of this service, which has 36 characters
		key += "-"
	}
	return key
}
