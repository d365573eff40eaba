// Package keysize bounds the RSA keys of strangers. Verifying a signature takes time with the third power of the key's length, and the Go
// library verifies with keys of any length: one of 262,144 bits, which is 32 kB, takes seconds. JSON Web Keys need no check, because go-jose
// refuses those of more than 4,096 bits.
package keysize

import "crypto/rsa"

// MaxRSA limits an RSA key, in bits. crypto/tls has the same limit for the certificates of servers.
const MaxRSA = 8192

// Above reports whether a public key is an RSA key beyond MaxRSA.
func Above(public any) bool {
	key, ok := public.(*rsa.PublicKey)
	return ok && key.N.BitLen() > MaxRSA
}
