package token

import (
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// appLifetime is how long a token of SignApp lasts. GitHub takes at most ten minutes, by its own clock.
const appLifetime = 5 * time.Minute

// SignApp signs the short token by which a GitHub App proves itself, with the app's private key as PEM.
func SignApp(privateKey, appID string, now time.Time) (string, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(privateKey))
	if err != nil {
		return "", errors.New("the private key is not an RSA key as PEM") // the cause might quote it
	}
	return jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: appID, IssuedAt: jwt.NewNumericDate(now.Add(-time.Minute)), ExpiresAt: jwt.NewNumericDate(now.Add(appLifetime)),
	}).SignedString(key)
}
