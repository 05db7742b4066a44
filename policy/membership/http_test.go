package membership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// service answers without a network, so that bubbles can hold it.
type service func(*http.Request) (*http.Response, error)

func (s service) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func says(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(body))}, nil
}

func newHTTP(t testing.TB, config HTTPConfig) *HTTP {
	t.Helper()
	if config.URL == "" {
		config.URL = "https://members.example/check?v=1"
	}
	h, err := NewHTTP(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func TestOnlyAClearYesMakesAMember(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		member bool
		down   bool
	}{
		{"yes", 200, `{"member":true}`, true, false},
		{"yes with more", 200, `{"member":true,"roles":["a"],"scopes":["b"],"name":"Ann"}`, true, false},
		{"no", 200, `{"member":false}`, false, false},
		{"no with roles", 200, `{"member":false,"roles":[4]}`, false, false},
		{"not found", 404, `whatever`, false, false},
		{"no word", 200, `{}`, false, true},
		{"null", 200, `{"member":null}`, false, true},
		{"text", 200, `{"member":"true"}`, false, true},
		{"other case", 200, `{"Member":true}`, false, true},
		{"twice", 200, `{"member":false,"member":true}`, false, true},
		{"not JSON", 200, `<html>`, false, true},
		{"a list", 200, `[]`, false, true},
		{"trailing", 200, `{"member":true}x`, false, true},
		{"bad roles", 200, `{"member":true,"roles":"admin"}`, false, true},
		{"bad scopes", 200, `{"member":true,"scopes":null}`, false, true},
		{"large", 200, `{"member":true,"x":"` + strings.Repeat("x", maxAnswer) + `"}`, false, true},
		{"empty 204", 204, ``, false, true},
		{"201", 201, `{"member":true}`, false, true},
		{"redirect", 302, `{"member":true}`, false, true},
		{"forbidden", 403, `{"member":true}`, false, true},
		{"broken", 500, ``, false, true},
	}
	for _, tt := range tests {
		h := newHTTP(t, HTTPConfig{Transport: service(func(*http.Request) (*http.Response, error) { return says(tt.status, tt.body) })})
		m, err := h.Member(t.Context(), "i", "s", "t")
		if m.Member != tt.member || errors.Is(err, ErrUnavailable) != tt.down || (err != nil) != tt.down {
			t.Errorf("%s: got %+v, %v", tt.name, m, err)
		}
	}
}

func TestTheServiceIsAskedAsDocumented(t *testing.T) {
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		fmt.Fprint(w, `{"member":true,"roles":["editor"],"scopes":[]}`)
	}))
	defer server.Close()
	h := newHTTP(t, HTTPConfig{URL: server.URL + "/check?v=1&tenant=forged", Header: map[string][]string{"x-key": {"secret"}}})
	m, err := h.Member(t.Context(), "https://login/?a=b", "ann & bob", "acme")
	if err != nil || !m.Member || !slices.Equal(m.Roles, []string{"editor"}) || m.Scopes == nil || len(m.Scopes) != 0 {
		t.Errorf("got %+v, %v", m, err)
	}
	query := got.URL.Query()
	if got.Method != "GET" || got.URL.Path != "/check" || query.Get("v") != "1" || query.Get("issuer") != "https://login/?a=b" ||
		query.Get("subject") != "ann & bob" || !slices.Equal(query["tenant"], []string{"acme"}) || got.Header.Get("X-Key") != "secret" {
		t.Errorf("asked %s %s with %v", got.Method, got.URL, got.Header)
	}
}

// A question in the body leaves nobody's name in the service's access log.
func TestAQuestionMayGoInTheBody(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		fmt.Fprint(w, `{"member":true}`)
	}))
	defer server.Close()
	h := newHTTP(t, HTTPConfig{URL: server.URL + "/check?v=1", Method: "POST", Header: map[string][]string{"x-key": {"secret"}}})
	if !isMember(t, h, "https://login/", `ann "&" bob`, "acme") {
		t.Error("not a member")
	}
	const want = `{"issuer":"https://login/","subject":"ann \"&\" bob","tenant":"acme"}`
	if got.Method != "POST" || got.URL.RequestURI() != "/check?v=1" || string(body) != want ||
		got.Header.Get("Content-Type") != "application/json" || got.Header.Get("X-Key") != "secret" {
		t.Errorf("asked %s %s with %v: %s", got.Method, got.URL, got.Header, body)
	}
	if _, err := NewHTTP(HTTPConfig{URL: server.URL, Method: "PUT"}); err == nil || !strings.Contains(err.Error(), "write GET or POST") {
		t.Errorf("method PUT: %v", err)
	}
}

func TestARemovedMemberIsOutWithinTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		member := true
		h := newHTTP(t, HTTPConfig{Transport: service(func(*http.Request) (*http.Response, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return says(200, fmt.Sprintf(`{"member":%v}`, member))
		})})
		for range 2 {
			if !isMember(t, h, "i", "s", "t") || asked.Load() != 1 {
				t.Fatalf("asked %d times", asked.Load())
			}
		}
		member = false
		// The answer holds from when the question was put, a second earlier.
		time.Sleep(MaxTTL - 2*time.Second)
		if !isMember(t, h, "i", "s", "t") {
			t.Error("the answer was not remembered")
		}
		time.Sleep(2 * time.Second)
		if isMember(t, h, "i", "s", "t") {
			t.Error("still a member after the TTL")
		}
		member = true
		time.Sleep(negativeTTL)
		if !isMember(t, h, "i", "s", "t") {
			t.Error("a no is remembered for too long")
		}
	})
}

func TestEqualQuestionsAreAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := newHTTP(t, HTTPConfig{Transport: service(func(*http.Request) (*http.Response, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return says(200, `{"member":true}`)
		})})
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := h.Member(impatient, "i", "s", "t"); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("whoever leaves gets %v", err)
		}
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				if m, err := h.Member(t.Context(), "i", "s", "t"); err != nil || !m.Member {
					t.Errorf("got %+v, %v", m, err)
				}
			})
		}
		group.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

func TestADeadServiceRefusesQuicklyAndIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		dead := true
		h := newHTTP(t, HTTPConfig{Transport: service(func(r *http.Request) (*http.Response, error) {
			asked.Add(1)
			if dead {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return says(200, `{"member":true}`)
		})})
		begin := time.Now()
		for range 3 {
			if _, err := h.Member(t.Context(), "i", "secret-subject", "t"); !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "secret-subject") {
				t.Errorf("got %v", err)
			}
		}
		if waited := time.Since(begin); waited != defaultTimeout || asked.Load() != 1 {
			t.Errorf("waited %v and asked %d times", waited, asked.Load())
		}
		dead = false
		time.Sleep(faultTTL)
		if !isMember(t, h, "i", "secret-subject", "t") {
			t.Error("not asked again")
		}
	})
}

func TestAnswersAreBounded(t *testing.T) {
	h := newHTTP(t, HTTPConfig{Transport: service(func(*http.Request) (*http.Response, error) { return says(404, "") })})
	for i := range maxAnswers + 100 {
		isMember(t, h, "i", fmt.Sprint(i), "t")
	}
	if n := len(h.cache.answers); n != maxAnswers || h.cache.order.Len() != n || len(h.cache.flights) != 0 {
		t.Errorf("%d answers and %d flights are kept", n, len(h.cache.flights))
	}
}

func TestCloseBreaksQuestionsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHTTP(t, HTTPConfig{Transport: service(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		begin := time.Now()
		time.AfterFunc(time.Millisecond, h.Close)
		if _, err := h.Member(t.Context(), "i", "s", "t"); !errors.Is(err, ErrUnavailable) || time.Since(begin) != time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
	})
}

func TestUnsafeServicesAreRefusedWithTheFix(t *testing.T) {
	tests := []struct {
		config HTTPConfig
		want   string
	}{
		{HTTPConfig{URL: "https://m.example/"}, ""},
		{HTTPConfig{URL: "http://127.0.0.1:8080/"}, ""},
		{HTTPConfig{URL: "http://[::1]/"}, ""},
		{HTTPConfig{URL: "http://localhost/"}, ""},
		{HTTPConfig{URL: "http://members:8080/", PlainHTTP: true}, ""},
		{HTTPConfig{URL: "http://members:8080/"}, "write https, or plain_http"},
		{HTTPConfig{URL: "http://localhost.evil.example/"}, "write https"},
		{HTTPConfig{URL: "ftp://m.example/"}, "write an https URL"},
		{HTTPConfig{URL: "https://u:p@m.example/"}, "without user"},
		{HTTPConfig{URL: "/members"}, "write an https URL"},
		{HTTPConfig{URL: "https://m.example/#x"}, "fragment"},
		{HTTPConfig{URL: "://"}, "members http"},
		{HTTPConfig{URL: "https://m.example/", TTL: 31e9}, "at most 30s"},
		{HTTPConfig{URL: "https://m.example/", Timeout: -1}, "above zero"},
	}
	for _, tt := range tests {
		_, err := NewHTTP(tt.config)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want an error saying %q", tt.config, err, tt.want)
		}
	}
}

func TestClaimsBelieveTheToken(t *testing.T) {
	if !isMember(t, Claims{}, "i", "s", "t") {
		t.Error("no member")
	}
}
