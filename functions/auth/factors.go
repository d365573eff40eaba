package auth

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/identity/passkey"
	"orgops/shared/identity/totp"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// registerFactors adds the operations on one's own second factors.
func (d Deps) registerFactors(api huma.API) {
	const all, one = "/auth/factors", "/auth/factors/{factorId}"
	fresh := " Needs a login within the last 5 minutes, with a second factor if the person has one; otherwise the answer is 401 with the error insufficient_user_authentication (RFC 9470)."
	own := func(method, path, id, summary, description string, status int) huma.Operation {
		return web.AuditedWrites(web.OwnToken(huma.Operation{
			OperationID: id, Method: method, Path: path, Tags: []string{"auth"}, Summary: summary, Description: description,
			MaxBodyBytes: maxLogin, DefaultStatus: status,
		}))
	}
	web.Register(api, own(http.MethodGet, all, "list-factors", "List one's own second factors",
		"A second factor belongs to the person, and so to all companies of the person. A user who signs in through a company's identity provider has those of the provider.", http.StatusOK), d.listFactors)
	begin := own(http.MethodPost, all, "begin-factor", "Begin to enrol a second factor",
		"totp: answers the secret for an authenticator app (RFC 6238), which is shown only now. Nothing changes before its first code, within 10 minutes: see confirm-factor. "+
			"passkey: answers the options with which the browser makes a passkey (WebAuthn) for the service's address, within 5 minutes; its challenge counts once."+fresh, http.StatusCreated)
	begin.Errors = []int{http.StatusConflict}
	web.Register(api, begin, d.beginFactor)
	confirm := own(http.MethodPost, one+"/confirm", "confirm-factor", "Enrol a second factor with its first proof",
		"Takes the first code of an authenticator app, or the credential that the browser has made, as PublicKeyCredential.toJSON gives it. From then on a login needs the factor. With the first factor come ten recovery codes, which are shown only now and count once each. No session ends. The answer has a token of this session that has proved the factor. A wrong one counts as a wrong code of a login, and a passkey is begun again."+fresh, http.StatusOK)
	confirm.Errors = []int{http.StatusConflict, http.StatusTooManyRequests}
	web.Register(api, confirm, d.confirmFactor)
	web.Register(api, own(http.MethodDelete, one, "remove-factor", "Remove a second factor",
		"The recovery codes go with the last one. No session ends. A person who has lost the factors asks the operator of the service, who removes them with orgops admin user factors."+fresh, http.StatusNoContent), d.removeFactor)
	renew := own(http.MethodPost, "/auth/recovery-codes", "renew-recovery-codes", "Get new recovery codes",
		"Ten, in place of those that are left. They are shown only now."+fresh, http.StatusCreated)
	renew.Errors = []int{http.StatusConflict}
	web.Register(api, renew, d.renewRecoveryCodes)
}

// Factor describes a second factor as its person sees it.
type Factor struct {
	ID         string    `json:"id" format:"uuid" doc:"the factor's id"`
	Kind       string    `json:"kind" enum:"totp,passkey" doc:"totp: an authenticator app (RFC 6238); passkey: a passkey of a device or a security key (WebAuthn)"`
	Name       string    `json:"name,omitempty" doc:"what the person calls it" example:"Phone"`
	CreatedAt  time.Time `json:"createdAt" doc:"when it was enrolled"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero" doc:"when it was used last"`
}

func shown(f user.Factor) Factor {
	return Factor{ID: f.ID, Kind: f.Kind, Name: f.Name, CreatedAt: f.CreatedAt, LastUsedAt: f.UsedAt}
}

// FactorList lists the second factors of a person.
type FactorList struct {
	Factors       []Factor `json:"factors" nullable:"false" doc:"the second factors, the oldest first"`
	RecoveryCodes int      `json:"recoveryCodes" format:"int32" doc:"how many recovery codes are left" example:"10"`
}

type factorsOutput struct{ Body FactorList }

func (d Deps) listFactors(ctx context.Context, _ *struct{}) (*factorsOutput, error) {
	_, account, err := d.self(ctx)
	if err != nil {
		return nil, err
	}
	out := FactorList{Factors: []Factor{}, RecoveryCodes: len(account.Recovery)}
	for _, f := range account.Factors {
		out.Factors = append(out.Factors, shown(f))
	}
	return &factorsOutput{out}, nil
}

// NewFactor says which second factor a person wants.
type NewFactor struct {
	Kind string `json:"kind" enum:"totp,passkey" doc:"totp: an authenticator app (RFC 6238); passkey: a passkey of a device or a security key (WebAuthn)"`
	Name string `json:"name,omitempty" maxLength:"100" doc:"what the person calls it" example:"Phone"`
}

// Enrolment holds what a second factor that waits for its first proof is made with.
type Enrolment struct {
	Factor
	Secret    string    `json:"secret,omitempty" doc:"totp: the secret in base32, to type into an authenticator app; shown only now" example:"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"`
	Address   string    `json:"address,omitempty" format:"uri" doc:"totp: the same as an otpauth address, for a QR code" example:"otpauth://totp/Mission%20Control:ada@example.com?issuer=Mission%20Control&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"`
	ExpiresAt time.Time `json:"expiresAt" doc:"until when the first proof is awaited"`

	PublicKey *passkey.Creation `json:"publicKey,omitempty" doc:"passkey: what navigator.credentials.create takes as publicKey, once it is parsed from this JSON"`
}

type enrolmentOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         Enrolment
}

// issuerName names the service in an authenticator app.
const issuerName = "Mission Control"

func (d Deps) beginFactor(ctx context.Context, in *struct{ Body NewFactor }) (*enrolmentOutput, error) {
	u, account, err := d.freshSelf(ctx)
	if err != nil {
		return nil, err
	}
	if err := fault.Refuse(user.CheckName(in.Body.Name, "/name", false)); err != nil {
		return nil, err
	}
	out, err := d.begin(ctx, &account, u, in.Body)
	if err != nil {
		return nil, err
	}
	web.Affects(ctx, "auth/factors/"+out.ID)
	if err := d.store(ctx, account); err != nil {
		return nil, err
	}
	return &enrolmentOutput{CacheControl: "no-store", Body: out}, nil
}

// begin begins an enrolment of a kind of factor.
func (d Deps) begin(ctx context.Context, account *company.Account, u user.User, in NewFactor) (Enrolment, error) {
	if in.Kind == user.FactorPasskey {
		f, options, err := d.beginPasskey(account, u, in.Name)
		return Enrolment{Factor: shown(f), PublicKey: options, ExpiresAt: f.CreatedAt.Add(company.ChallengeKept)}, err
	}
	f, key, err := account.Enrol(ctx, d.Vault, in.Name, d.Now())
	return Enrolment{
		Factor: shown(f), Secret: totp.Text(key), Address: totp.Address(key, issuerName, u.Email), ExpiresAt: f.CreatedAt.Add(company.EnrolmentKept),
	}, err
}

// FirstProof holds the first proof of a second factor.
type FirstProof struct {
	Code       string         `json:"code,omitempty" doc:"totp: the code that the authenticator app shows" maxLength:"64" format:"password" example:"287082"`
	Credential map[string]any `json:"credential,omitempty" doc:"passkey: the credential that the browser has made, as PublicKeyCredential.toJSON gives it" example:"{\"id\":\"AQIDBAUGBwgJCgsMDQ4PEA\",\"rawId\":\"AQIDBAUGBwgJCgsMDQ4PEA\",\"type\":\"public-key\",\"response\":{\"clientDataJSON\":\"e30\",\"attestationObject\":\"oA\"}}"`
}

// proofOf returns how the factor is proved, and where a wrong proof stands.
func (d Deps) proofOf(ctx context.Context, account company.Account, f user.Factor, in FirstProof) (prove company.Proof, method string, wrong fault.FieldError, err error) {
	if f.Kind != user.FactorPasskey && in.Code == "" {
		return nil, "", wrong, fault.Refuse([]fault.FieldError{{Pointer: "/code", Detail: "an authenticator app needs it"}})
	}
	if f.Kind == user.FactorPasskey && in.Credential == nil {
		return nil, "", wrong, fault.Refuse([]fault.FieldError{{Pointer: "/credential", Detail: "a passkey needs it"}})
	}
	if f.Kind != user.FactorPasskey {
		return company.ByCode(ctx, d.Vault, in.Code, d.Now()), byCode, fault.FieldError{Pointer: "/code", Detail: "is not the code of now; check the clock of the device, and send the next code"}, nil
	}
	made, err := json.Marshal(in.Credential)
	return d.registers(made, d.Now(), passkeysOf(account)), byKey, fault.FieldError{Pointer: "/credential", Detail: "is no new passkey for this enrolment and this address; begin again"}, err
}

// EnrolledFactor answers the first proof.
type EnrolledFactor struct {
	Factor
	RecoveryCodes []string `json:"recoveryCodes" nullable:"false" doc:"ten recovery codes, if it is the person's first factor; shown only now" example:"[\"5MZ2-NXQ4-RBL6-T3WU\"]"`
	Session       session  `json:"session" doc:"a token in place of the caller's, which goes on too"`
}

type enrolledOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         EnrolledFactor
}

func (d Deps) confirmFactor(ctx context.Context, in *struct {
	FactorID string `path:"factorId" maxLength:"64" doc:"the factor's id"`
	Body     FirstProof
}) (*enrolledOutput, error) {
	u, account, err := d.freshSelf(ctx)
	if err != nil {
		return nil, err
	}
	begun, err := account.Enrolled(in.FactorID, d.Now())
	if err != nil {
		return nil, err
	}
	prove, method, wrong, err := d.proofOf(ctx, account, begun, in.Body)
	if err != nil {
		return nil, err
	}
	f, recovery, right, err := account.Confirm(in.FactorID, prove, d.Now())
	if err != nil {
		return nil, err
	}
	if !right {
		if err := d.Store.Commit(ctx, account.Writes()...); err != nil {
			return nil, store.Fault(err, "")
		}
		return nil, fault.Refuse([]fault.FieldError{wrong})
	}
	if err := d.store(ctx, account, d.told(ctx, account, notice.FactorAdded(u.ID, f.ID, d.Now()))...); err != nil {
		return nil, err
	}
	login := loginOf(account, web.CallerOf(ctx).Company)
	out, err := d.open(ctx, ownProof(ctx).with(method), login, others(account, login.CompanyID)...)
	if err != nil {
		return nil, err
	}
	return &enrolledOutput{CacheControl: "no-store", Body: EnrolledFactor{Factor: shown(f), RecoveryCodes: append([]string{}, recovery...), Session: out.Body}}, nil
}

func (d Deps) removeFactor(ctx context.Context, in *struct {
	FactorID string `path:"factorId" maxLength:"64" doc:"the factor's id"`
}) (*struct{}, error) {
	u, account, err := d.freshSelf(ctx)
	if err != nil {
		return nil, err
	}
	if err := account.Remove(in.FactorID); err != nil {
		return nil, err
	}
	return nil, d.store(ctx, account, d.told(ctx, account, notice.FactorRemoved(u.ID, in.FactorID, d.Now()))...)
}

// NewRecoveryCodes holds new recovery codes.
type NewRecoveryCodes struct {
	RecoveryCodes []string `json:"recoveryCodes" nullable:"false" doc:"ten codes, each of which counts once; shown only now" example:"[\"5MZ2-NXQ4-RBL6-T3WU\"]"`
}

type recoveryOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         NewRecoveryCodes
}

func (d Deps) renewRecoveryCodes(ctx context.Context, _ *struct{}) (*recoveryOutput, error) {
	u, account, err := d.freshSelf(ctx)
	if err != nil {
		return nil, err
	}
	if len(account.Factors) == 0 {
		return nil, fault.New(fault.Conflict, "recovery codes stand in for a second factor; enrol one first")
	}
	codes := account.Recover()
	if err := d.store(ctx, account, d.told(ctx, account, notice.RecoveryRenewed(u.ID, d.Now()))...); err != nil {
		return nil, err
	}
	return &recoveryOutput{CacheControl: "no-store", Body: NewRecoveryCodes{codes}}, nil
}

// self returns the caller and the caller's account. It refuses a user of an identity provider, who has none.
func (d Deps) self(ctx context.Context) (user.User, company.Account, error) {
	u, err := d.caller(ctx)
	if err != nil {
		return u, company.Account{}, err
	}
	if u.Identity != "" {
		return u, company.Account{}, fault.New(fault.Conflict, "you sign in through your company's identity provider, whose second factors count; set them up there")
	}
	account, err := d.accountOf(ctx, web.CallerOf(ctx).Company, u)
	if fault.KindOf(err) == fault.NotFound {
		err = errGone()
	}
	return u, account, err
}

// freshSelf returns what self does, for a session that may change second factors.
func (d Deps) freshSelf(ctx context.Context) (user.User, company.Account, error) {
	u, account, err := d.self(ctx)
	if err == nil {
		err = d.fresh(ctx, account)
	}
	if err == nil {
		err = d.goesOn(ctx, web.CallerOf(ctx).Company, ownSession(ctx))
	}
	return u, account, err
}

// told returns the writes that tell a person of a change, which is recorded in all companies of the person.
func (d Deps) told(ctx context.Context, account company.Account, n notice.Stored) []store.Op {
	d.concern(ctx, account)
	return n.Create(web.Tenant(ctx))
}

// concern has the request recorded in all companies of a person.
func (d Deps) concern(ctx context.Context, account company.Account) {
	for _, m := range account.Members {
		if m.CompanyID != web.CallerOf(ctx).Company {
			web.Concern(ctx, store.For(d.Store, m.CompanyID), callerOf(m.Login, ""))
		}
	}
}

// store stores the account with further writes. It returns fault.Conflict if the account has changed since it was read.
func (d Deps) store(ctx context.Context, account company.Account, also ...store.Op) error {
	return store.Fault(web.Recorded(ctx, d.Store).Commit(ctx, append(account.Writes(), also...)...), "")
}

// loginOf returns the account's login of a company.
func loginOf(account company.Account, companyID string) user.Login {
	for _, m := range account.Members {
		if m.CompanyID == companyID {
			return m.Login
		}
	}
	return user.Login{}
}
