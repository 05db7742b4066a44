package token

import (
	"errors"
	"strings"
)

// ErrNoChallenge says that a header value holds no Bearer challenge.
var ErrNoChallenge = errors.New("no Bearer challenge")

// ParseChallenge reads the first Bearer challenge of a WWW-Authenticate value,
// which may hold challenges of other schemes too (RFC 9110 §11.6.1). Unknown
// parameters are skipped. A repeated parameter or one that does not parse is an
// error; so is a value without a Bearer challenge, with ErrNoChallenge.
func ParseChallenge(value string) (Challenge, error) {
	p := challengeParser{rest: value}
	for p.skipSeparators(); p.rest != ""; p.skipSeparators() {
		scheme := p.token()
		if scheme == "" {
			return Challenge{}, errors.New("a challenge does not begin with a scheme")
		}
		params, err := p.params()
		if err != nil {
			return Challenge{}, err
		}
		if strings.EqualFold(scheme, "Bearer") {
			return Challenge{
				ResourceMetadata: params["resource_metadata"],
				Scopes:           strings.Fields(params["scope"]),
				Error:            params["error"],
				Description:      params["error_description"],
			}, nil
		}
	}

	return Challenge{}, ErrNoChallenge
}

// challengeParser eats a header value from the front.
type challengeParser struct{ rest string }

func (p *challengeParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *challengeParser) skipSeparators() { p.rest = strings.TrimLeft(p.rest, " \t,") }

func (p *challengeParser) token() string {
	end := 0
	for end < len(p.rest) && isHTTPToken(p.rest[end:end+1]) {
		end++
	}
	token := p.rest[:end]
	p.rest = p.rest[end:]

	return token
}

// params reads what follows a scheme: nothing, a token68, or parameters up to
// the end or to the next scheme.
func (p *challengeParser) params() (map[string]string, error) {
	params := make(map[string]string)
	if p.rest == "" || p.rest[0] == ',' {
		return params, nil
	}
	if p.rest[0] != ' ' {
		return nil, errors.New("a scheme is followed by something else than a space")
	}
	p.skipSpace()
	if word, rest, _ := strings.Cut(p.rest, ","); isB64Token(strings.TrimRight(word, " \t")) {
		p.rest = rest
		return params, nil
	}

	for {
		before := p.rest
		name := strings.ToLower(p.token())
		p.skipSpace()
		if name == "" || !strings.HasPrefix(p.rest, "=") {
			if len(params) == 0 {
				return nil, errors.New("a scheme is followed by something else than parameters")
			}
			p.rest = before // the next scheme, or the end
			return params, nil
		}
		p.rest = p.rest[1:]
		p.skipSpace()
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		if _, ok := params[name]; ok {
			return nil, errors.New("a parameter is repeated")
		}
		params[name] = value

		p.skipSpace()
		if p.rest != "" && p.rest[0] != ',' {
			return nil, errors.New("a parameter is not followed by a comma")
		}
		p.skipSeparators()
	}
}

func (p *challengeParser) value() (string, error) {
	if !strings.HasPrefix(p.rest, `"`) {
		if token := p.token(); token != "" {
			return token, nil
		}
		return "", errors.New("a parameter has no value")
	}

	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = p.rest[i+1:]
			return b.String(), nil
		case '\\':
			if i++; i < len(p.rest) {
				b.WriteByte(p.rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}

	return "", errors.New("a quoted value is not closed")
}
