package caddymodule

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// exchange is one request to the endpoint on its way through the module.
type exchange struct {
	*Handler
	r            *http.Request // with the client's own identity headers removed
	next         caddyhttp.Handler
	route        route // empty in mode none
	principal    *policy.Principal
	message      *mcp.Request // nil for GET and DELETE
	decoy        *mcp.Decoy   // set if the message asks for something hidden
	view         *view
	viewOfCaller view // what view points to
	writer       responseWriter
	repeats      rawjson.Value // parameters as the client sent them, where forms are checked
	asks         questions     // see questions
	sealer       *mcp.Sealer
	affinity     affinity
	session      session                    // empty outside one
	sealed       string                     // the client's id of it
	registered   *registration.Handle       // what the request named, nil for nothing
	registration *registration.Registration // found by it
	found        func([]openai.Finding)     // takes findings in place of the log
	refusals     atomic.Int32               // on their way, see answerServer
	held         mcp.Holder                 // see holder
	isHeld       bool
	trail        *trail    // from bind on
	bound        [4]func() // see release
	unbind       func() bool
	proxied      proxied
	body         messageBody
	lines        headerLines    // of the request
	task         mcp.TaskHandle // the last that the request named
}

// serveEndpoint walks the steps of a request in their order: boundary,
// authentication, strict reading, decision, transformation, upstream.
func (m *Handler) serveEndpoint(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if in := inspectionOf(r); in != nil {
		in.serve(m, r, next)
		return nil
	}
	m.drain.enter()
	defer m.drain.leave()
	t := &trail{}
	r = withTrail(r, t)
	defer t.cancel(nil)
	replacerOf(r).Map(t.placeholder)
	// The registration's header may stand under the prefix of the identity.
	registered, wellFormed := m.registrationNames.take(r)
	m.identity.strip(r)
	at := m.whereOf(r)
	if refused := m.checkBoundary(r, at); refused != nil {
		m.deny(r, causeBoundary, refused.reason)
		writeRefusal(w, refused)
		return nil
	}
	cors := m.corsHeaders(r)
	for name, values := range cors {
		w.Header()[name] = append(w.Header()[name], values...)
	}
	if r.Method == http.MethodOptions {
		m.servePreflight(w, r)
		return nil
	}
	if !wellFormed {
		m.deny(r, causeRegistration, malformedRegistration.reason)
		writeRefusal(w, malformedRegistration)
		return nil
	}
	if registered != nil {
		trailOf(r).registration = registered.String()
	}
	principal := m.authenticate(w, r, at)
	if m.authenticates() {
		t.countAuthentication(principal)
	}
	if principal == nil {
		return nil
	}
	e := m.newExchange(r, next, at.route, principal)
	e.registered = registered
	bearer, _ := token.Bearer(r.Header)
	e.prepareHeaders()
	if err := e.read(w); err != nil {
		e.refuseAs(w, e.causeOf(err), err)
		return nil
	}
	if e.exchangeToken(w, bearer) {
		return nil
	}
	if err := e.open(); err != nil {
		e.refuseAs(w, e.causeOf(err), err)
		return nil
	}
	if e.message != nil {
		if done := e.decide(w); done {
			return nil
		}
	}
	e.prepareBody()
	return e.forward(w, cors)
}

// newExchange begins what is done for a known caller.
func (m *Handler) newExchange(r *http.Request, next caddyhttp.Handler, at route, principal *policy.Principal) *exchange {
	e := &exchange{Handler: m, r: r, next: next, route: at, principal: principal}
	if m.proxy != nil {
		e.proxied = proxied{m.proxy, next}
		e.next = &e.proxied
	}
	e.view = newView(e)
	return e
}

// proxied sends requests to the upstreams named in mcp_app.
type proxied struct {
	proxy caddyhttp.MiddlewareHandler
	next  caddyhttp.Handler
}

// ServeHTTP implements caddyhttp.Handler.
func (p *proxied) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	return p.proxy.ServeHTTP(w, r, p.next)
}

// open gives the server back what it had handed to this caller: session, cursor,
// task. Errors are *mcp.Error.
func (e *exchange) open() (err error) {
	if err := e.enter(); err != nil {
		return err
	}
	if e.sealer, err = e.seal.get(e.r.Context()); err != nil {
		e.health[useSealKey].failed(e.logger, err)
		return &mcp.Error{Status: http.StatusServiceUnavailable, Code: mcp.CodeInternalError, Message: "temporarily unavailable", ID: e.requestID()}
	}
	e.health[useSealKey].worked(e.logger)
	e.bindAffinity()
	if err := e.openSession(); err != nil {
		return err
	}
	if e.message == nil {
		return nil
	}
	if err := e.message.Unseal(e.unseal); err != nil {
		return err
	}
	return e.message.DropSubscriptions(e.view.ShowsResource, e.unsealTask)
}

// unseal opens a cursor or a task id of this caller. Where nothing is hidden,
// and therefore no cursor sealed, cursors are the server's own.
func (e *exchange) unseal(purpose mcp.Purpose, sealed string) (string, error) {
	switch {
	case purpose == mcp.PurposeTask && e.servesTasks():
		return e.unsealTask(sealed)
	case purpose == mcp.PurposeTask, purpose == mcp.PurposeCursor && e.view.HidesNothing():
		return sealed, nil
	default:
		return e.sealer.Unseal(purpose, e.holder(), sealed)
	}
}

// known reports whether a method may be sent at all.
func (m *Handler) known(era mcp.Era, method string) bool {
	return mcp.Known(era, method) || slices.ContainsFunc(m.methods, func(p policy.Pattern) bool { return p.Match(method) })
}

// servesTasks reports whether the operator has opened the methods of tasks.
func (m *Handler) servesTasks() bool { return m.known(mcp.Legacy, "tasks/get") }

// read reads the body and the message in it, if there is one. Errors are
// *mcp.Error.
func (e *exchange) read(w http.ResponseWriter) error {
	if e.r.Method != http.MethodPost {
		return nil
	}
	h := e.r.Header
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return &mcp.Error{Status: http.StatusUnsupportedMediaType, Code: mcp.CodeInvalidRequest, Message: "Content-Encoding is not supported"}
	}
	if !mcp.IsJSON(h.Get("Content-Type")) || len(h.Values("Content-Type")) != 1 {
		return &mcp.Error{Status: http.StatusUnsupportedMediaType, Code: mcp.CodeInvalidRequest, Message: "Content-Type must be application/json"}
	}
	// Read to the end, also of a refused body: HTTP/1.1 keep-alive depends on it.
	body, err := readBody(http.MaxBytesReader(w, e.r.Body, e.limits.requestBody), e.r.ContentLength)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &mcp.Error{
			Status: http.StatusRequestEntityTooLarge, Code: mcp.CodeInvalidRequest,
			Message: "the request body is larger than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes",
		}
	}
	if err != nil {
		return &mcp.Error{Status: http.StatusBadRequest, Code: mcp.CodeParseError, Message: "the request body could not be read"}
	}
	e.body.Reset(body)
	e.r.Body = &e.body // for refusals that look for the id
	e.message, err = e.reader.Read(h, body)
	if err != nil {
		return err
	}
	t := trailOf(e.r)
	t.message, t.name = e.message, e.message.Name
	e.traceMessage()
	t.addToLog(e.r)
	return nil
}

// decide asks the policy about the message, and reports whether the answer has
// been written.
func (e *exchange) decide(w http.ResponseWriter) (done bool) {
	msg := e.message
	if e.takeRate(w) {
		return true
	}
	if msg.Kind != mcp.Response {
		if d := e.view.Decide(policy.Method, msg.Method); d.Verdict != policy.Allowed {
			return e.enforce(w, d)
		}
	}
	d, about := e.view.decide(msg)
	if !about {
		d.Verdict = policy.Allowed
	}
	if d.Verdict != policy.Allowed {
		return e.enforce(w, d)
	}
	e.count(d)
	if err := e.checkSignals(); err != nil {
		e.deny(e.r, causeSignal, err.Error())
		e.forbid(w, e.r)
		return true
	}
	if err := e.checkCall(); err != nil {
		e.refuseAs(w, causeArguments, err)
		return true
	}
	if e.validateArguments(w) {
		return true
	}
	if e.decoy != nil {
		e.settle(e.r, decided{policy.Hidden.String(), causeArguments, d.Rule, "the tool cannot be used in this way by this caller"})
		return false
	}
	if err := e.countCall(); err != nil {
		e.refuseAs(w, causeRegistration, err)
		return true
	}
	e.settle(e.r, decided{decision: policy.Allowed.String(), rule: d.Rule})
	return false
}

// enforce answers for what the caller may not do, or sends the question for an
// unknown name in its place.
func (e *exchange) enforce(w http.ResponseWriter, d policy.Decision) (done bool) {
	e.count(d)
	e.settle(e.r, decided{d.Verdict.String(), string(d.Cause), d.Rule, d.Reason})
	switch d.Verdict {
	case policy.StepUp:
		e.stepUp(w, e.r, e.route, policy.Union(e.Auth.Scopes, d.Scopes))
	case policy.Login:
		e.askLogin(w, e.route, policy.Union(e.Auth.Scopes, d.Scopes))
	case policy.Refused:
		writeBody(w, http.StatusOK, "application/json", e.resultMessage(failedCall(e.emptyResult(), d.Message)))
	default:
		if mcp.Subject(e.message.Method) == mcp.SubjectNone {
			writeError(w, mcp.MethodNotFound(e.message))
			return true
		}
		e.decoy = mcp.NewDecoy(e.message)
		return false
	}
	return true
}

// count keeps account of a decision.
func (e *exchange) count(d policy.Decision) {
	if trailOf(e.r).heard == nil { // not only tried out
		metrics.decisions.with([3]string{subjectLabel(e.message.Method), e.message.Era.String(), d.Verdict.String()}).Inc()
	}
}

// checkSignals refuses a call that names another tenant than the caller's where
// the operator knows that the server might look.
func (e *exchange) checkSignals() error {
	if e.Tenant == nil {
		return nil
	}
	if e.Tenant.Header == "" && e.Tenant.Argument == "" {
		return nil
	}
	signals := make(map[string]any)
	if name := e.Tenant.Header; name != "" {
		if values := e.r.Header.Values(name); len(values) > 0 {
			signals["header "+name] = values
		}
	}
	if name := e.Tenant.Argument; name != "" && e.message.Method == "tools/call" {
		if argument := e.message.Params.Get("arguments", name); argument.Exists() {
			signals["argument "+name] = nil
			if text, ok := argument.Text(); ok {
				signals["argument "+name] = text
			} else if argument.Kind() != rawjson.Null {
				return errors.New("argument " + name + " is not a string")
			}
		}
	}
	return policy.CheckSignals(e.principal.Tenant, signals)
}

// subjectLabel names what a method is about, for the metric.
func subjectLabel(method string) string {
	switch mcp.Subject(method) {
	case mcp.SubjectTool:
		return "tool"
	case mcp.SubjectPrompt:
		return "prompt"
	case mcp.SubjectResource:
		return "resource"
	case mcp.SubjectReference:
		return "reference"
	default:
		return "none"
	}
}

// refuse answers with a JSON-RPC error about the message.
func (e *exchange) refuse(w http.ResponseWriter, err error) { e.refuseAs(w, causeMessage, err) }

// refuseAs answers with a JSON-RPC error.
func (e *exchange) refuseAs(w http.ResponseWriter, cause string, err error) {
	var refused *mcp.Error
	if !errors.As(err, &refused) {
		refused = &mcp.Error{Status: http.StatusInternalServerError, Code: mcp.CodeInternalError, Message: "internal error"}
	}
	if refused.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
		cause = causeUnavailable
	}
	e.traceRefusal(refused)
	e.deny(e.r, cause, refused.Message)
	writeError(w, refused)
}

// prepareHeaders makes the request one of the verified caller, without anything
// of the token. From here on it may be repeated for questions of our own.
func (e *exchange) prepareHeaders() {
	e.r.URL.Path, e.r.URL.RawPath = e.Path, ""
	if !e.forwardsToken() {
		delete(e.r.Header, "Authorization")
	}
	// Bytes that shall be looked at must not arrive compressed, nor leave HTTP.
	e.lines.set(e.r.Header, "Accept-Encoding", "identity")
	delete(e.r.Header, "Upgrade")
	delete(e.r.Header, "Connection")
	e.identity.set(e.r.Header, &e.lines, e.principal)
}

// prepareBody puts the message into the request, with headers that agree with it.
func (e *exchange) prepareBody() {
	// No message of MCP has trailers, and in them identity could be forged
	// after the headers were looked at.
	e.r.Trailer = nil
	delete(e.r.Header, "Trailer")
	if e.message == nil {
		e.r.Body, e.r.ContentLength, e.r.TransferEncoding = http.NoBody, 0, nil
		e.r.Header.Del("Content-Length")
		return
	}
	body := e.message.Body
	if e.decoy != nil {
		body = e.decoy.Body
	}
	r := e.r
	mcp.AlignHeaders(r.Header, e.message, e.decoy)
	e.body.Reset(body)
	r.Body = &e.body
	r.ContentLength = int64(len(body))
	r.TransferEncoding = nil
	e.lines.set(r.Header, "Content-Length", strconv.Itoa(len(body)))
	for _, name := range []string{"Expect", "Digest", "Content-Digest", "Repr-Digest", "Content-Md5", "Content-Encoding"} {
		delete(r.Header, name)
	}
}
