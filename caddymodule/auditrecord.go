package caddymodule

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
)

// auditRecord is one decision as it is written to the log and sent to live
// views. Texts of strangers in it are bounded and hold no control characters.
type auditRecord struct {
	Time     time.Time `json:"time"`
	Endpoint string    `json:"endpoint"`
	Decision string    `json:"decision"`
	Cause    string    `json:"cause,omitempty"`
	Rule     string    `json:"rule,omitempty"`
	Reason   string    `json:"reason,omitempty"`

	HTTPMethod string `json:"http_method"`
	Era        string `json:"era,omitempty"`
	Method     string `json:"mcp_method,omitempty"`
	Name       string `json:"mcp_name,omitempty"`

	Issuer    string `json:"issuer,omitempty"`
	Subject   string `json:"subject,omitempty"`
	Tenant    string `json:"tenant,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	Anonymous bool   `json:"anonymous,omitempty"`

	// Registration is the handle of the registration that the request named.
	Registration string `json:"registration,omitempty"`

	RemoteIP string `json:"remote_ip,omitempty"`
	ID       string `json:"uuid,omitempty"`
	Trace    string `json:"trace_id,omitempty"`
	// Latency is from the arrival of the request to the decision, in seconds in
	// the log's default and in nanoseconds here.
	Latency   time.Duration     `json:"latency"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// MarshalLogObject implements zapcore.ObjectMarshaler, with the names that the
// JSON form has.
func (a auditRecord) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	for _, field := range [][2]string{
		{"endpoint", a.Endpoint},
		{"decision", a.Decision},
		{"cause", a.Cause},
		{"rule", a.Rule},
		{"reason", a.Reason},
		{"http_method", a.HTTPMethod},
		{"era", a.Era},
		{"mcp_method", a.Method},
		{"mcp_name", a.Name},
		{"issuer", a.Issuer},
		{"subject", a.Subject},
		{"tenant", a.Tenant},
		{"client_id", a.ClientID},
		{"registration", a.Registration},
		{"remote_ip", a.RemoteIP},
		{"uuid", a.ID},
		{"trace_id", a.Trace},
	} {
		if field[1] != "" {
			enc.AddString(field[0], field[1])
		}
	}
	if a.Anonymous {
		enc.AddBool("anonymous", true)
	}
	enc.AddDuration("latency", a.Latency)
	if len(a.Arguments) == 0 {
		return nil
	}
	return enc.AddObject("arguments", zapcore.ObjectMarshalerFunc(func(enc zapcore.ObjectEncoder) error {
		for _, name := range slices.Sorted(maps.Keys(a.Arguments)) {
			enc.AddString(name, a.Arguments[name])
		}
		return nil
	}))
}

// maxLogged bounds each text of a stranger in logs, in bytes.
const maxLogged = 512

// loggable makes text fit for a log: bounded, and without anything that a
// terminal or a reader of lines would act on.
func loggable(text string) string { return bounded(text, maxLogged) }

func bounded(text string, limit int) string {
	if len(text) > limit {
		// ToValidUTF8 removes the character that the cut may have torn.
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return visible(text)
}
