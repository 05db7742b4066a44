package issuer

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
)

// Register admits a client to introspection and token exchange, or changes its
// secret. It may authenticate by client_secret_basic or client_secret_post; with
// an empty secret it is public and only says its client_id.
func (i *Issuer) Register(id, secret string) {
	i.mu.Lock()
	defer i.mu.Unlock()

	i.clients[id] = secret
}

// oauthError is an error answer (RFC 6749 §5.2).
type oauthError struct {
	status int
	code   string
}

func (e *oauthError) Error() string { return e.code }

func badRequest(code string) error { return &oauthError{http.StatusBadRequest, code} }

// serveForm answers a client's request about a token.
func (i *Issuer) serveForm(w http.ResponseWriter, r *http.Request, d Document) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	// Read before a fault may wait: only then does the server notice that the
	// client has gone.
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	parsed := r.ParseForm()

	fault := i.fetch(r.Context(), d)
	if fault.spoil(w, r) {
		return
	}

	var answer map[string]any
	client, err := "", parsed
	if err == nil {
		client, err = i.authenticate(r)
	}
	if err == nil {
		answer, err = i.answer(d, r.PostForm, client)
	}
	if err != nil {
		refuse(w, r, err)
		return
	}
	if _, ok := answer["iss"]; ok && fault == WrongIssuer {
		answer["iss"] = i.url + "/other"
	}

	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(fault.alter(body)) // a client that went away needs no answer
}

func (i *Issuer) answer(d Document, form url.Values, client string) (map[string]any, error) {
	if d == Introspection {
		return i.introspect(form)
	}

	return i.exchange(form, client)
}

// authenticate returns the client's id (RFC 6749 §2.3.1). Using two methods at
// once is an error.
func (i *Issuer) authenticate(r *http.Request) (string, error) {
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		if secret != "" {
			return "", badRequest("invalid_request")
		}
		var err, err2 error
		id, err = url.QueryUnescape(user)
		secret, err2 = url.QueryUnescape(password)
		if err = errors.Join(err, err2); err != nil {
			return "", badRequest("invalid_request")
		}
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	if want, ok := i.clients[id]; !ok || secret != want {
		return "", &oauthError{http.StatusUnauthorized, "invalid_client"}
	}

	return id, nil
}

func refuse(w http.ResponseWriter, r *http.Request, err error) {
	refusal, ok := errors.AsType[*oauthError](err)
	if !ok {
		refusal = &oauthError{http.StatusBadRequest, "invalid_request"}
	}
	if refusal.status == http.StatusUnauthorized && r.Header.Get("Authorization") != "" {
		w.Header().Set("WWW-Authenticate", "Basic")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(refusal.status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": refusal.code}) // a client that went away needs no answer
}
