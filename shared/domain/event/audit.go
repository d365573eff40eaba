package event

import (
	"strconv"
	"strings"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/version"
	"orgops/shared/domain/audit"
	"orgops/shared/storage/store"
)

// ocsf is the version of the Open Cybersecurity Schema Framework whose class API Activity has the fields below.
const ocsf = "1.6.0"

// The numbers of OCSF that AuditActivity uses.
const (
	categoryApplication = 6
	classAPIActivity    = 6003
	created             = 1
	read                = 2
	changed             = 3
	removed             = 4
	other               = 99
	informational       = 1
	low                 = 2
	succeeded           = 1
	failed              = 2
)

// AuditActivity holds the data of audit.recorded: an audit record in the form of OCSF's class API Activity.
type AuditActivity struct {
	ActivityID   int             `json:"activity_id" doc:"1: create, 2: read, 3: update, 4: delete, 99: other, see activity_name" format:"int32"`
	ActivityName string          `json:"activity_name" doc:"the first word of the operation's id" example:"invite"`
	CategoryUID  int             `json:"category_uid" doc:"6: Application Activity" format:"int32"`
	ClassUID     int             `json:"class_uid" doc:"6003: API Activity" format:"int32"`
	TypeUID      int64           `json:"type_uid" doc:"class_uid × 100 + activity_id"`
	Time         int64           `json:"time" doc:"when the effect was committed, or the request ended, in milliseconds since 1970"`
	SeverityID   int             `json:"severity_id" doc:"1: informational; 2: low, for what did not succeed" format:"int32"`
	StatusID     int             `json:"status_id" doc:"1: success; 2: failure" format:"int32"`
	StatusCode   string          `json:"status_code,omitempty" doc:"the HTTP status of a request that did not succeed" example:"403"`
	StatusDetail string          `json:"status_detail" enum:"success,failure,denied" doc:"denied: the rights or the credentials did not allow it; failure: it was refused for another reason, or failed"`
	Actor        AuditActor      `json:"actor" doc:"who asked"`
	API          AuditCall       `json:"api" doc:"what was asked for"`
	SrcEndpoint  AuditSource     `json:"src_endpoint" doc:"where the request came from"`
	Resources    []AuditResource `json:"resources" nullable:"false" doc:"what the operation was on"`
	Metadata     AuditMetadata   `json:"metadata" doc:"where the record comes from"`
	Unmapped     *AuditUnmapped  `json:"unmapped,omitempty" doc:"what OCSF has no field for"`
}

// AuditActor identifies who made a request.
type AuditActor struct {
	User    *AuditUser    `json:"user,omitempty" doc:"the user, or the operator of the service"`
	Session *AuditSession `json:"session,omitempty" doc:"the access token"`
	AppUID  string        `json:"app_uid,omitempty" doc:"the executive that acted, or the client whose token was used; absent for a user's own token"`
}

// AuditUser identifies a user or an operator of the service.
type AuditUser struct {
	UID    string `json:"uid,omitempty" doc:"the user's id" format:"uuid"`
	Name   string `json:"name,omitempty" doc:"the operator of the service" example:"root"`
	TypeID int    `json:"type_id" doc:"1: user; 3: system, for the operator of the service" format:"int32"`
}

// AuditSession identifies an access token.
type AuditSession struct {
	UID string `json:"uid" doc:"the token's id (jti)"`
}

// AuditCall says what was asked for.
type AuditCall struct {
	Operation string       `json:"operation" doc:"the id of the operation in this document, or a command of the service's operator" example:"invite-user"`
	Request   AuditRequest `json:"request" doc:"identifies the request"`
}

// AuditRequest identifies a request.
type AuditRequest struct {
	UID string `json:"uid" doc:"the request's id in X-Request-Id and in the logs" format:"uuid"`
}

// AuditSource says where a request came from.
type AuditSource struct {
	Name string `json:"name" doc:"the network, an IPv4 /24 or an IPv6 /48; local for a command of the service's operator" example:"203.0.113.0/24"`
}

// AuditResource names what an operation was on.
type AuditResource struct {
	UID string `json:"uid" doc:"a path below the company's" example:"operations/users/0198c5f2-0000-7000-8000-000000000001"`
}

// AuditMetadata says where a record comes from.
type AuditMetadata struct {
	Version   string       `json:"version" doc:"the version of OCSF" example:"1.6.0"`
	UID       string       `json:"uid" doc:"the record's id" format:"uuid"`
	TenantUID string       `json:"tenant_uid" doc:"the company's id" format:"uuid"`
	Product   AuditProduct `json:"product" doc:"what wrote the record"`
}

// AuditProduct names what wrote a record.
type AuditProduct struct {
	Name       string `json:"name" doc:"orgops"`
	VendorName string `json:"vendor_name" doc:"orgops"`
	Version    string `json:"version" doc:"the release" example:"0.1.0"`
}

// AuditUnmapped holds the fields of a record that OCSF has no field for.
type AuditUnmapped struct {
	Role     string `json:"role,omitempty" doc:"the user's role at the time" example:"founder"`
	ClientID string `json:"clientId,omitempty" doc:"the client whose token was used, if an executive acted with it" format:"uuid"`
	Omitted  int    `json:"omitted,omitempty" doc:"how many more requests of the user did not succeed and have no record" format:"int32"`
}

func ofAudit(c store.Change) ([]Event, error) {
	if c.Old != nil { // a record is written once
		return nil, nil
	}
	var r audit.Record
	if err := fastjson.Unmarshal(c.New.Body, &r); err != nil {
		return nil, err
	}
	return told(c, AuditRecorded, "", activityOf(c.Company, r))
}

// activityOf returns an audit record in the form of OCSF.
func activityOf(company string, r audit.Record) AuditActivity {
	a := AuditActivity{
		ActivityID: activityID(verb(r.Operation)), ActivityName: verb(r.Operation), CategoryUID: categoryApplication, ClassUID: classAPIActivity,
		Time: r.At.UnixMilli(), SeverityID: informational, StatusID: succeeded, StatusDetail: r.Outcome,
		Actor:       actorOf(r.Actor),
		API:         AuditCall{r.Operation, AuditRequest{r.RequestID}},
		SrcEndpoint: AuditSource{r.Network}, Resources: []AuditResource{{r.Resource}},
		Metadata: AuditMetadata{Version: ocsf, UID: r.ID, TenantUID: company, Product: AuditProduct{"orgops", "orgops", version.Release}},
	}
	a.TypeUID = int64(a.ClassUID)*100 + int64(a.ActivityID)
	if r.Network == "" {
		a.SrcEndpoint.Name = "local"
	}
	if r.Outcome != "success" {
		a.SeverityID, a.StatusID = low, failed
	}
	if r.Status != 0 {
		a.StatusCode = strconv.Itoa(r.Status)
	}
	unmapped := AuditUnmapped{Role: r.Actor.Role, Omitted: r.Omitted}
	if r.Actor.ExecutiveID != "" {
		unmapped.ClientID = r.Actor.ClientID
	}
	if unmapped != (AuditUnmapped{}) {
		a.Unmapped = &unmapped
	}
	return a
}

func actorOf(by audit.Actor) (a AuditActor) {
	switch {
	case by.UserID != "":
		a.User = &AuditUser{UID: by.UserID, TypeID: 1}
	case by.Operator != "":
		a.User = &AuditUser{Name: by.Operator, TypeID: 3}
	}
	if by.TokenID != "" {
		a.Session = &AuditSession{by.TokenID}
	}
	if a.AppUID = by.ClientID; by.ExecutiveID != "" {
		a.AppUID = by.ExecutiveID
	}
	return a
}

// verb returns what an operation does, which begins its id.
func verb(operation string) string {
	does, _, _ := strings.Cut(operation, "-")
	return does
}

// activityID returns OCSF's number of what an operation does.
func activityID(does string) int {
	switch does {
	case "create", "invite", "add":
		return created
	case "get", "list", "export":
		return read
	case "configure", "set", "put", "change", "update", "enable", "disable", "store", "rotate", "replace":
		return changed
	case "delete", "remove", "revoke":
		return removed
	}
	return other
}
