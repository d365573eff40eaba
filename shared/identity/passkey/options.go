package passkey

import "orgops/shared/base/fault"

// Request holds the options with which a browser asks for a signature. It is part of a problem, so package fault has it.
type Request = fault.PasskeyRequest

// Descriptor names a passkey to a browser.
type Descriptor = fault.PasskeyDescriptor

// Creation holds the options with which a browser makes a passkey (PublicKeyCredentialCreationOptionsJSON, WebAuthn §5.1.8).
type Creation struct {
	Party       CreationParty       `json:"rp" doc:"the service"`
	User        CreationUser        `json:"user" doc:"the account"`
	Challenge   string              `json:"challenge" doc:"what the browser answers for, in base64url" example:"c2lnbiB0aGlzLCBvbmNl"`
	Algorithms  []CreationAlgorithm `json:"pubKeyCredParams" nullable:"false" doc:"the signatures that the service verifies, the best first"`
	Timeout     int64               `json:"timeout" doc:"how many milliseconds the browser may wait for the person" example:"300000"`
	Excluded    []Descriptor        `json:"excludeCredentials" nullable:"false" doc:"the passkeys that the person has already"`
	Selection   CreationSelection   `json:"authenticatorSelection" doc:"which authenticators fit"`
	Attestation string              `json:"attestation" doc:"none: the service does not ask who made the authenticator" example:"none"`
}

// CreationParty names the service to a browser.
type CreationParty struct {
	ID   string `json:"id" doc:"the name for which the passkey is made" example:"api.example.com"`
	Name string `json:"name" doc:"the name for people" example:"Mission Control"`
}

// CreationUser names the account to a browser.
type CreationUser struct {
	ID   string `json:"id" doc:"the handle of the passkey, in base64url" example:"MDE5OGM1ZjItN2EwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDBj"`
	Name string `json:"name" doc:"the person's e-mail address" example:"ada@example.com"`
	Show string `json:"displayName" doc:"the same" example:"ada@example.com"`
}

// CreationAlgorithm names a signature.
type CreationAlgorithm struct {
	Type string `json:"type" doc:"public-key" example:"public-key"`
	Alg  int    `json:"alg" format:"int32" doc:"the COSE number of the algorithm" example:"-7"`
}

// CreationSelection says which authenticators fit.
type CreationSelection struct {
	Resident     string `json:"residentKey" doc:"preferred" example:"preferred"`
	Verification string `json:"userVerification" doc:"preferred: the person proves a password too" example:"preferred"`
}
