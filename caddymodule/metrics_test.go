package caddymodule

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// seriesOf reads all series of a configuration: name, labels and value.
func seriesOf(t *testing.T, m *Handler) map[string]float64 {
	t.Helper()
	var registry *prometheus.Registry
	endpoints.mu.Lock()
	for config, handlers := range endpoints.byConfig {
		if slices.Contains(handlers, m) {
			registry = config
		}
	}
	endpoints.mu.Unlock()
	if registry == nil {
		t.Fatal("the handler is in no configuration")
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := make(map[string]float64)
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "caddy_mcp_app_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, pair := range metric.GetLabel() {
				labels = append(labels, pair.GetName()+"="+pair.GetValue())
			}
			name := family.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			series[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return series
}

// counted runs do and returns by how much each series rose.
func counted(t *testing.T, m *Handler, do func()) map[string]float64 {
	t.Helper()
	before := seriesOf(t, m)
	do()
	after := seriesOf(t, m)
	for name, value := range after {
		if after[name] = value - before[name]; after[name] == 0 {
			delete(after, name)
		}
	}
	return after
}

func TestMessagesAreCountedOnceByMethodEraAndDecision(t *testing.T) {
	m := mustLoad(t, "auth {\nmode none\n}\nmethods x/*\npolicy {\ntool visible.*\nmethod *\n}")
	reply := answering(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	legacy := func(method, params string) *http.Request {
		return post(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, nil)
	}
	for _, test := range []struct {
		name    string
		request *http.Request
		want    string
	}{
		{"a call", legacy("tools/call", `{"name":"visible.echo"}`), "{decision=allow,era=legacy,method=tools/call}"},
		{"a hidden one", legacy("tools/call", `{"name":"hidden"}`), "{decision=hide,era=legacy,method=tools/call}"},
		{"a method of the operator's", legacy("x/y", `{}`), "{decision=allow,era=legacy,method=other}"},
		{"a modern one", modernPost(t, "tools/list", "{}"), "{decision=allow,era=modern,method=tools/list}"},
	} {
		got := counted(t, m, func() { serve(t, m, test.request, reply) })
		total := 0.0
		for name, value := range got {
			if strings.HasPrefix(name, "caddy_mcp_app_messages_total") {
				total += value
			}
		}
		if total != 1 || got["caddy_mcp_app_messages_total"+test.want] != 1 {
			t.Errorf("%s: counted as %v, want one %s", test.name, got, test.want)
		}
	}
}

func TestAuthenticationsAreCountedByOutcome(t *testing.T) {
	issuer := newTokenIssuer(t)
	m := mustLoad(t, "resource https://acme.example.com/mcp\nauth {\nissuer "+issuer.URL+" {\njwks_url "+issuer.URL+"\n}\n}\ntenant {\nclaim org\n}\npolicy {\ntool *\n}")
	for _, test := range []struct{ name, authorization, want string }{
		{"a good token", "Bearer " + issuer.token(t, "alice"), "accepted"},
		{"no token", "", causeNoToken},
		{"a bad token", "Bearer x.y.z", causeToken},
	} {
		got := counted(t, m, func() {
			r := modernPost(t, "tools/list", "{}")
			if test.authorization != "" {
				r.Header.Set("Authorization", test.authorization)
			}
			serve(t, m, r, answering(http.StatusOK, nil, ""))
		})
		if got["caddy_mcp_app_authentications_total{outcome="+test.want+"}"] != 1 {
			t.Errorf("%s: counted as %v, want %s", test.name, got, test.want)
		}
		refused := got["caddy_mcp_app_refusals_total{cause="+test.want+"}"] == 1
		if refused != (test.want != "accepted") {
			t.Errorf("%s: counted as refused: %v", test.name, refused)
		}
	}
	got := seriesOf(t, m)
	for name, want := range map[string]float64{
		"caddy_mcp_app_keys_usable{issuer=" + issuer.URL + "}":                     1,
		"caddy_mcp_app_keys_fetches_total{issuer=" + issuer.URL + ",outcome=good}": 1,
		"caddy_mcp_app_revocations_known{endpoint=https://acme.example.com/mcp}":   1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// A client that tries to make series of its own: with methods, names, sessions,
// versions, tokens, paths and causes.
func TestHostileInputMakesNoSeries(t *testing.T) {
	issuer := newTokenIssuer(t)
	m := mustLoad(t, "resource https://acme.example.com/mcp\nmethods x/*\nauth {\nissuer "+issuer.URL+" {\njwks_url "+issuer.URL+"\n}\n}\ntenant {\nclaim org\n}\npolicy {\ntool visible.*\nmethod *\n}")
	next := func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"` + r.Header.Get("X-Turn") + `","inputSchema":7}]}}`))
		return err
	}
	token := issuer.token(t, "mallory")
	attack := func(turn int) {
		own := fmt.Sprintf("evil%d", turn)
		for _, method := range []string{own, "x/" + own, "tools/list", "tools/call", "initialize"} {
			for _, authorization := range []string{"", "Bearer " + token, "Bearer " + own, own} {
				legacy := post(t, `{"jsonrpc":"2.0","id":"`+own+`","method":"`+method+`","params":{"name":"`+own+`"}}`, map[string]string{
					"Mcp-Session-Id": own, "Origin": "https://" + own + ".example", "X-Turn": own,
				})
				modern := modernPost(t, method, "{}")
				modern.Header.Set("Mcp-Name", own)
				odd := post(t, `{"jsonrpc":"2.0"}`, map[string]string{"Mcp-Protocol-Version": own})
				odd.Method = strings.ToUpper(own)
				for _, r := range []*http.Request{legacy, modern, odd} {
					if authorization != "" {
						r.Header.Set("Authorization", authorization)
					}
					serve(t, m, r, next)
				}
			}
		}
		countFindings([]openai.Finding{{Code: own}})
		trailOf(post(t, "", nil)).countSettled(decided{decision: decisionRefuse, cause: own})
	}
	attack(0)
	want := len(seriesOf(t, m))
	for turn := 1; turn < 20; turn++ {
		attack(turn)
	}
	got := seriesOf(t, m)
	if len(got) != want {
		t.Errorf("%d series became %d", want, len(got))
	}
	for name := range got {
		if strings.Contains(strings.ToLower(name), "evil") {
			t.Errorf("a client made the series %s", name)
		}
	}
}

func TestWhatIsOnlyTriedOutIsNotCounted(t *testing.T) {
	m := mustLoad(t, open)
	got := counted(t, m, func() {
		tried := &trail{heard: func(auditRecord) {}, message: &mcp.Request{Era: mcp.Legacy, Method: "tools/list"}}
		m.deny(withTrail(prepared(post(t, "", nil), httptest.NewRecorder()), tried), causeToken, "only asked")
	})
	if len(got) > 0 {
		t.Errorf("counted: %v", got)
	}
}

func TestEveryCauseHasALabel(t *testing.T) {
	for _, cause := range []string{causeRate, causeExpired, string(policy.CauseConditionError)} {
		if causeLabel(cause) != cause {
			t.Errorf("%s becomes %s", cause, causeLabel(cause))
		}
	}
	if got := causeLabel("made up"); got != labelOther {
		t.Errorf("an unknown cause becomes %s", got)
	}
}

// Looking up a counter lies on the way of every message.
func TestCountingCostsNoMemory(t *testing.T) {
	msg := &mcp.Request{Era: mcp.Legacy, Method: "tools/call"}
	if n := testing.AllocsPerRun(100, func() {
		(&trail{message: msg}).countSettled(decided{decision: policy.Allowed.String()})
	}); n > 1 { // the trail itself
		t.Errorf("%v allocations", n)
	}
}
