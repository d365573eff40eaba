package fault

// PasskeyRequest holds the options with which a browser asks for a signature of a passkey (PublicKeyCredentialRequestOptionsJSON,
// WebAuthn §5.1.9). A challenge after a right password has them.
type PasskeyRequest struct {
	Challenge    string              `json:"challenge" doc:"what the passkey signs, in base64url" example:"c2lnbiB0aGlzLCBvbmNl"`
	Party        string              `json:"rpId" doc:"the name for which the passkeys were made" example:"api.example.com"`
	Timeout      int64               `json:"timeout" doc:"how many milliseconds the browser may wait for the person" example:"300000"`
	Verification string              `json:"userVerification" doc:"preferred: the password was right already" example:"preferred"`
	Allowed      []PasskeyDescriptor `json:"allowCredentials" nullable:"false" doc:"the passkeys of the person"`
}

// PasskeyDescriptor names a passkey to a browser (PublicKeyCredentialDescriptorJSON).
type PasskeyDescriptor struct {
	Type       string   `json:"type" doc:"public-key" example:"public-key"`
	ID         string   `json:"id" doc:"the passkey's id, in base64url" example:"AQIDBAUGBwgJCgsMDQ4PEA"`
	Transports []string `json:"transports,omitempty" nullable:"false" doc:"how the browser reaches it" example:"[\"internal\",\"hybrid\"]"`
}
