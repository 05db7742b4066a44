package membership

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fileContent is a members file:
//
//	{"members": [
//		{"issuer": "https://login.example.com", "subject": "ann", "tenant": "acme",
//		 "roles": ["editor"], "scopes": ["cad.read"], "disabled": false}
//	]}
//
// Tenant is left out at endpoints without tenants; roles, scopes and disabled
// may be left out.
type fileContent struct {
	Members *[]fileEntry `json:"members"`
}

type fileEntry struct {
	Issuer   string         `json:"issuer"`
	Subject  string         `json:"subject"`
	Tenant   *string        `json:"tenant"`
	Roles    jsontext.Value `json:"roles"`
	Scopes   jsontext.Value `json:"scopes"`
	Disabled bool           `json:"disabled"`
}

// members are all that count, by identity. Disabled ones do not.
type members map[Identity]Membership

// parseFile reads a members file strictly: unknown and repeated names, and two
// entries for one identity, are mistakes that somebody must look at.
func parseFile(raw []byte) (members, error) {
	var content fileContent
	if err := json.Unmarshal(raw, &content, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading members: %w", err)
	}
	if content.Members == nil {
		return nil, errors.New(`reading members: there is no list "members"`)
	}
	all := make(members)
	known := make(map[Identity]bool)
	for i, entry := range *content.Members {
		who, membership, err := entry.read()
		if err != nil {
			return nil, fmt.Errorf("reading members: entry %d: %w", i+1, err)
		}
		if known[who] {
			return nil, fmt.Errorf("reading members: entry %d: subject %q of tenant %q is there twice", i+1, who.Subject, who.Tenant)
		}
		known[who] = true
		if membership.Member {
			all[who] = membership
		}
	}
	return all, nil
}

func (e fileEntry) read() (Identity, Membership, error) {
	who := Identity{Issuer: e.Issuer, Subject: e.Subject}
	if err := checkName(e.Issuer); err != nil {
		return who, Membership{}, fmt.Errorf("issuer %w", err)
	}
	if err := checkName(e.Subject); err != nil {
		return who, Membership{}, fmt.Errorf("subject %w", err)
	}
	if e.Tenant != nil {
		if err := checkName(*e.Tenant); err != nil {
			return who, Membership{}, fmt.Errorf("tenant %w", err)
		}
		who.Tenant = *e.Tenant
	}
	m := Membership{Member: !e.Disabled}
	var err error
	if m.Roles, err = names(e.Roles); err != nil {
		return who, m, fmt.Errorf("roles %w", err)
	}
	if m.Scopes, err = names(e.Scopes); err != nil {
		return who, m, fmt.Errorf("scopes %w", err)
	}
	return who, m, nil
}

// changed lists whose membership in before ended or became another one in
// after.
func changed(before, after members) []Identity {
	var who []Identity
	for identity, old := range before {
		if now, ok := after[identity]; !ok || !old.equal(now) {
			who = append(who, identity)
		}
	}
	return who
}

func (m Membership) equal(other Membership) bool {
	return m.Member == other.Member && (m.Scopes == nil) == (other.Scopes == nil) &&
		slices.Equal(m.Scopes, other.Scopes) && slices.Equal(m.Roles, other.Roles)
}
