package caddymodule

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// Bounds of what is recorded of arguments.
const (
	defaultArgumentBytes = 256
	maxArgumentBytes     = 4096
	maxAuditedArguments  = 16
)

// parseAudit reads:
//
//	audit {
//		allow          off | all | <percent>
//		arguments      <tool or pattern> <argument>...
//		argument_bytes <number>
//	}
func (m *Handler) parseAudit(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Audit != nil); err != nil {
		return err
	}
	m.Audit = &Audit{}
	seen := ""
	return block(d, map[string]subdirective{
		"allow": func(d *caddyfile.Dispenser) (err error) {
			if err := scalar(&seen)(d); err != nil {
				return err
			}
			if m.Audit.AllowPercent, err = parsePercent(seen); err != nil {
				return d.WrapErr(err)
			}
			return nil
		},
		"arguments": func(d *caddyfile.Dispenser) error {
			args := d.RemainingArgs()
			if len(args) < 2 {
				return d.Err("expected: arguments <tool or pattern> <argument>...")
			}
			m.Audit.Arguments = append(m.Audit.Arguments, AuditArguments{Tool: args[0], Names: args[1:]})
			return wrapped(d, m.Audit.check())
		},
		"argument_bytes": func(d *caddyfile.Dispenser) error {
			if err := number(&m.Audit.ArgumentBytes)(d); err != nil {
				return err
			}
			return wrapped(d, m.Audit.check())
		},
	})
}

// wrapped adds file and line to an error, if there is one.
func wrapped(d *caddyfile.Dispenser, err error) error {
	if err == nil {
		return nil
	}
	return d.WrapErr(err)
}

// parsePercent reads off, all, or a number with a percent sign.
func parsePercent(text string) (float64, error) {
	switch text {
	case "off":
		return 0, nil
	case "all":
		return 100, nil
	}
	digits, ok := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(value >= 0 && value <= 100) {
		return 0, fmt.Errorf("expected off, all, or a percentage such as 1%%, got %q", text)
	}
	return value, nil
}

// check refuses what cannot be meant.
func (a *Audit) check() error {
	if !(a.AllowPercent >= 0 && a.AllowPercent <= 100) {
		return errors.New("allow_percent: write a number from 0 to 100")
	}
	if a.ArgumentBytes < 0 || a.ArgumentBytes > maxArgumentBytes {
		return fmt.Errorf("argument_bytes: write a number from 1 to %d", maxArgumentBytes)
	}
	for _, arguments := range a.Arguments {
		if len(arguments.Names) == 0 || len(arguments.Names) > maxAuditedArguments {
			return fmt.Errorf("arguments of %q: name 1 to %d arguments", arguments.Tool, maxAuditedArguments)
		}
		if _, err := policy.ParsePattern(arguments.Tool); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
	}
	return nil
}

// argumentBytes is ArgumentBytes with its default.
func (a *Audit) argumentBytes() int { return cmp.Or(a.ArgumentBytes, defaultArgumentBytes) }

// provisionAudit names the log, and checks what is recorded.
func (m *Handler) provisionAudit() error {
	m.auditLogger = m.logger.Named("audit")
	if m.Audit == nil {
		return nil
	}
	if err := m.Audit.check(); err != nil {
		return err
	}
	for _, arguments := range m.Audit.Arguments {
		pattern, _ := policy.ParsePattern(arguments.Tool) // checked above
		m.auditTools = append(m.auditTools, pattern)
	}
	return nil
}
