package hosted

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// connectorError is OpenAI's type for failures of the server behind it. It
// counts before the HTTP status: a server's 401 must not look like a bad API
// key.
const connectorError = "external_connector_error"

// innerStatus finds the server's own status in OpenAI's message.
var innerStatus = regexp.MustCompile(`(?i)http status code: ?([0-9]{3})`)

// httpFailure classifies an answer other than 200.
func (c Check) httpFailure(status int, body []byte) *discovery.Error {
	v, err := rawjson.ParseLenient(body, 16)
	if err != nil {
		v = nil // a page of a proxy, perhaps
	}
	return c.apiFailure(status, v.Get("error"))
}

// apiFailure classifies an error object of the API; status is 0 inside a stream.
func (c Check) apiFailure(status int, fault rawjson.Value) *discovery.Error {
	kind, _ := fault.Get("type").Text()
	code, _ := fault.Get("code").Text()
	message, _ := fault.Get("message").Text()
	param, _ := fault.Get("param").Text()
	e := &discovery.Error{Status: status, Remote: c.clean(message)}
	switch {
	case kind == connectorError:
		inner := 0
		if match := innerStatus.FindStringSubmatch(message); match != nil {
			inner, _ = strconv.Atoi(match[1])
		}
		c.connector(e, inner)
	case code == "invalid_api_key" || status == http.StatusUnauthorized:
		e.Class, e.Detail = discovery.OpenAIKey, "OpenAI does not accept the API key"
	case code == "rate_limit_exceeded" || code == "insufficient_quota" || status == http.StatusTooManyRequests:
		e.Class, e.Detail = discovery.RateLimited, "OpenAI allows no more questions at the moment, or the account has no credit"
	case status == http.StatusForbidden || status == http.StatusNotFound || code == "model_not_found":
		e.Class, e.Detail = discovery.OpenAIRequest, "OpenAI does not allow this, or does not know the model"
	case status/100 == 4:
		e.Class, e.Detail = discovery.OpenAIRequest, "OpenAI does not accept the request"
		if param != "" {
			e.Detail += ", because of " + c.clean(param)
		}
	case status/100 == 3:
		e.Class, e.Detail = discovery.Redirect, "the base URL redirects, which is not followed with an API key"
	case status/100 == 5:
		e.Class, e.Detail = discovery.Unavailable, fmt.Sprintf("OpenAI answers %d", status)
	default:
		e.Class, e.Detail = discovery.ServerFault, "OpenAI could not answer"
	}
	return e
}

// listingFailure classifies the error of a listing item: a text, or an object
// (openai-openapi issue 531).
func (c Check) listingFailure(fault rawjson.Value) *discovery.Error {
	e := &discovery.Error{}
	message, isText := fault.Text()
	if !isText {
		message, _ = fault.Get("message").Text()
	}
	e.Remote = c.clean(message)
	inner, _ := strconv.Atoi(string(fault.Get("code")))
	c.connector(e, inner)
	return e
}

// connector says that OpenAI could not list the tools; inner is the status the
// server gave it, 0 if unknown.
func (c Check) connector(e *discovery.Error, inner int) {
	switch class := discovery.StatusClass(inner); class {
	case discovery.Authentication, discovery.Forbidden, discovery.RateLimited:
		e.Class, e.Detail = class, fmt.Sprintf("the server answers OpenAI with %d", inner)
	default:
		e.Class, e.Detail = discovery.Connector, "OpenAI could not list the server's tools"
	}
}

func malformed(format string, args ...any) error {
	return &discovery.Error{Class: discovery.Malformed, Detail: fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) error {
	return &discovery.Error{Class: discovery.TooLarge, Detail: fmt.Sprintf(format, args...)}
}

func protocol(format string, args ...any) error {
	return &discovery.Error{Class: discovery.Protocol, Detail: fmt.Sprintf(format, args...)}
}

func noResult(detail string) error {
	return &discovery.Error{Class: discovery.NoResult, Detail: detail}
}
