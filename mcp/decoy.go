package mcp

import (
	"bytes"
	"crypto/rand"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Decoy is a request for a name that cannot exist, made from a request for a
// name the caller must not know of. Its answer, with the names exchanged, is
// what the server says about unknown names: the same status, framing and text,
// for every server and era, without keeping what was said before.
type Decoy struct {
	// Body is the message to send instead.
	Body rawjson.Value
	// Name is the random name in it. It is plain ASCII without any character
	// that JSON, HTML or URLs would escape.
	Name string
	real string
}

// NewDecoy replaces the name in r by a random one and drops the arguments, which
// might be what a server complains about. Id, _meta and everything else stay.
func NewDecoy(r *Request) *Decoy {
	d := &Decoy{Name: "x" + rand.Text(), real: r.Name}
	var path []string
	switch Subject(r.Method) {
	case SubjectResource:
		// The scheme stays: servers with several schemes answer by scheme.
		if scheme, _, ok := strings.Cut(r.Name, "://"); ok {
			d.Name = scheme + "://" + d.Name
		}
		path = []string{"params", "uri"}
	case SubjectReference:
		path = []string{"params", "ref", "name"}
		if r.Params.Get("ref", "uri").Exists() {
			path[2] = "uri"
		}
	default:
		path = []string{"params", "name"}
	}
	// The name was read at this very path, so that setting it cannot fail.
	d.Body, _ = r.Body.Set(rawjson.Quote(d.Name), path...)
	if r.Params.Get("arguments").Exists() {
		d.Body, _ = d.Body.Set(rawjson.Value("{}"), "params", "arguments")
	}
	return d
}

// Restore puts the real name back where the answer repeats the random one.
func (d *Decoy) Restore(answer []byte) []byte {
	quoted := rawjson.Quote(d.real)
	return bytes.ReplaceAll(answer, []byte(d.Name), quoted[1:len(quoted)-1])
}
