package operations

import (
	"context"
	"net/netip"
	"reflect"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/client"
	"orgops/shared/domain/timeline"
	"orgops/shared/identity/clientsecret"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// ClientChangeInput holds the parameters of a change to a client.
type ClientChangeInput struct {
	ClientInput
	web.IfMatch
}

// ClientUpdate says what to change about a client. An absent field stays as it is.
type ClientUpdate struct {
	Name       *string                       `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"names the client in words" example:"Nightly report"`
	Purpose    *string                       `json:"purpose,omitempty" minLength:"1" maxLength:"500" doc:"what the client is for" example:"Reads the brief and posts it to the team's channel"`
	Owner      *string                       `json:"owner,omitempty" maxLength:"64" doc:"id of the user who answers for the client" example:"0198c5f2-7a00-7000-8000-00000000000a"`
	Scopes     *[]string                     `json:"scopes,omitempty" maxItems:"9" uniqueItems:"true" enum:"mission-control:read,intelligence:read,intelligence:write,integrations:read,memory:read,memory:write,operations:read,executives:read,executives:act" doc:"the scopes of the client's tokens" example:"[\"intelligence:read\"]"`
	Federation web.Change[client.Federation] `json:"federation,omitzero" required:"false" doc:"another subject that proves the client; null: none"`
	Secrets    *[]string                     `json:"secrets,omitempty" maxItems:"0" doc:"an empty list ends all secrets of the client at once" example:"[]"`
	Networks   *[]netip.Prefix               `json:"networks,omitempty" maxItems:"10" uniqueItems:"true" doc:"where the client's tokens may be asked for and used; an empty list: everywhere" example:"[\"203.0.113.0/24\"]"`
	ExpiresAt  *time.Time                    `json:"expiresAt,omitempty" doc:"when the client ends" example:"2030-01-01T00:00:00Z"`
	Disabled   *bool                         `json:"disabled,omitempty" doc:"true: the client gets no tokens; false: it does again" example:"true"`
}

// apply returns a client with the change.
func (u ClientUpdate) apply(c client.Client) client.Client {
	set(&c.Name, u.Name)
	set(&c.Purpose, u.Purpose)
	set(&c.Owner, u.Owner)
	set(&c.Scopes, u.Scopes)
	set(&c.Networks, u.Networks)
	set(&c.Disabled, u.Disabled)
	if u.Federation.Sent {
		c.Federation = u.Federation.To
	}
	if u.ExpiresAt != nil {
		c.ExpiresAt = u.ExpiresAt
	}
	return c
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

type clientOutput struct {
	ETag string `header:"ETag"`
	Body MachineClient
}

// changing reads a client that the caller changes, at the version of If-Match.
func (d Deps) changing(ctx context.Context, in ClientChangeInput) (client.Stored, time.Time, error) {
	s, err := client.Load(ctx, web.Tenant(ctx), in.ClientID)
	if err == nil {
		err = in.Check(s.Revision())
	}
	return s, d.Now().UTC().Truncate(time.Millisecond), err
}

func (d Deps) updateClient(ctx context.Context, in *struct {
	ClientChangeInput
	Body ClientUpdate
}) (*clientOutput, error) {
	s, now, err := d.changing(ctx, in.ClientChangeInput)
	if err != nil {
		return nil, err
	}
	c, was := web.Tenant(ctx), s.Client
	s.Client = in.Body.apply(s.Client)
	check := now
	if in.Body.ExpiresAt == nil { // a client that has expired can still be renamed or disabled
		check = time.Time{}
	}
	if err := d.checkClient(ctx, c, &s, check); err != nil {
		return nil, err
	}
	endSecrets := in.Body.Secrets != nil && len(s.Secrets) > 0
	if endSecrets || !reflect.DeepEqual(was, s.Client) {
		ops, err := d.changed(ctx, c, was, &s, endSecrets, now)
		if err != nil {
			return nil, err
		}
		if err := c.Commit(ctx, ops...); err != nil {
			return nil, in.Overtaken(store.Fault(err, ""))
		}
		s.Version++
	}
	out, err := d.issued(ctx, s, "")
	if err != nil {
		return nil, err
	}
	return &clientOutput{out.ETag, out.Body.MachineClient}, nil
}

// changed returns the writes of a changed client. Unless it was only renamed, they end its tokens.
func (d Deps) changed(ctx context.Context, c store.Company, was client.Client, s *client.Stored, endSecrets bool, now time.Time) (ops []store.Op, err error) {
	was.Name, was.Purpose = s.Name, s.Purpose
	if endSecrets {
		s.Secrets = nil
		ops = append(ops, s.SaveSecrets(c))
	}
	if endSecrets || !reflect.DeepEqual(was, s.Client) {
		var end store.Op
		if *s, end, err = s.End(ctx, c, now); err != nil {
			return nil, err
		}
		ops = append(ops, end)
	}
	s.UpdatedAt = now
	return append(ops, s.Save(c)), nil
}

func (d Deps) deleteClient(ctx context.Context, in *ClientChangeInput) (*struct{}, error) {
	s, now, err := d.changing(ctx, *in)
	if err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	ops, err := s.Delete(ctx, c, now)
	if err != nil {
		return nil, err
	}
	ops = append(ops, tell(ctx, s, timeline.ClientDeleted, "was deleted", now))
	return nil, in.Overtaken(store.Fault(c.Commit(ctx, ops...), ""))
}

// KeyRotation holds the new keys of a client.
type KeyRotation struct {
	client.KeySet
	EndFormer bool `json:"endFormer,omitempty" doc:"true: the keys before end at once, and the client's tokens within five seconds"`
}

func (d Deps) rotateKeys(ctx context.Context, in *struct {
	ClientChangeInput
	Body KeyRotation
}) (*clientOutput, error) {
	s, now, err := d.changing(ctx, in.ClientChangeInput)
	if err != nil {
		return nil, err
	}
	keys, err := in.Body.Parse("")
	if err != nil {
		return nil, err
	}
	if err := fault.Refuse(s.Taken(keys, now, in.Body.EndFormer)); err != nil {
		return nil, err
	}
	s.Client = s.RotateKeys(keys, now, endOf(in.Body.EndFormer, now))
	out, err := d.rotated(ctx, in.ClientChangeInput, s, in.Body.EndFormer, "new keys", now)
	if err != nil {
		return nil, err
	}
	return &clientOutput{out.ETag, out.Body.MachineClient}, nil
}

// SecretRotation says what becomes of the secret that a new one replaces.
type SecretRotation struct {
	EndFormer bool `json:"endFormer,omitempty" doc:"true: the secret before ends at once, and the client's tokens within five seconds"`
}

func (d Deps) rotateClientSecret(ctx context.Context, in *struct {
	ClientChangeInput
	Body *SecretRotation
}) (*issuedOutput, error) {
	s, now, err := d.changing(ctx, in.ClientChangeInput)
	if err != nil {
		return nil, err
	}
	ends := in.Body != nil && in.Body.EndFormer
	secret := clientsecret.New()
	s.Secrets = client.RotateSecret(s.Secrets, client.NewSecret(secret, now), now, endOf(ends, now))
	out, err := d.rotated(ctx, in.ClientChangeInput, s, ends, "a new secret", now, s.SaveSecrets(web.Tenant(ctx)))
	if err != nil {
		return nil, err
	}
	out.Body.ClientSecret = secret
	return out, nil
}

// endOf returns when the credentials end that a rotation replaces.
func endOf(atOnce bool, now time.Time) time.Time {
	if atOnce {
		return now
	}
	return now.Add(client.Overlap)
}

// rotated stores a client with a new credential and tells of it on the timeline.
func (d Deps) rotated(ctx context.Context, in ClientChangeInput, s client.Stored, ends bool, what string, now time.Time, ops ...store.Op) (*issuedOutput, error) {
	c := web.Tenant(ctx)
	if err := within(ctx, s); err != nil {
		return nil, err
	}
	if ends {
		var end store.Op
		var err error
		if s, end, err = s.End(ctx, c, now); err != nil {
			return nil, err
		}
		ops = append(ops, end)
	}
	s.UpdatedAt = now
	ops = append(ops, s.Save(c), tell(ctx, s, timeline.ClientRotated, "got "+what, now))
	if err := c.Commit(ctx, ops...); err != nil {
		return nil, in.Overtaken(store.Fault(err, ""))
	}
	s.Version++
	return d.issued(ctx, s, "")
}
