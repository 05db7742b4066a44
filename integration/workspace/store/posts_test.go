package store

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
)

func TestPostsComeInPagesOfTwenty(t *testing.T) {
	st := open(t, "")
	home := relay.Source{Kind: relay.Home}
	seen := make(map[string]bool)
	last, cursor := "~", ""
	for pages := 1; ; pages++ {
		page := must[Posts](t)(st.Posts(t.Context(), ada, "acme-main", home, cursor))
		if page.NextCursor != "" && len(page.Posts) != MaxPosts || len(page.Posts) == 0 {
			t.Errorf("page %d holds %d posts", pages, len(page.Posts))
		}
		for _, p := range page.Posts {
			if seen[p.ID] || p.ID >= last || p.Text == "" || strings.ContainsAny(p.Text, "<>") || !strings.HasPrefix(p.Author.Handle, "@") {
				t.Errorf("post %+v after %s", p, last)
			}
			seen[p.ID], last = true, p.ID
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != 52 {
		t.Errorf("%d posts, want all 52", len(seen))
	}
}

// A cursor opens the list it came with and no other: not another source, another
// account, another tenant or another kind of list.
func TestCursorsServeTheirOwnListOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.db")
	st := open(t, path)
	home := relay.Source{Kind: relay.Home}
	if _, err := st.db.ExecContext(t.Context(), "UPDATE connections SET status = 'connected', credential = 'recorded-acme-main' WHERE id = 'acme-support'"); err != nil {
		t.Fatal(err)
	}
	cursor := must[Posts](t)(st.Posts(t.Context(), ada, "acme-main", home, "")).NextCursor
	if cursor == "" {
		t.Fatal("no cursor")
	}

	for name, try := range map[string]func() (any, error){
		"another source": func() (any, error) {
			return st.Posts(t.Context(), ada, "acme-main", relay.Source{Kind: relay.Public}, cursor)
		},
		"a list": func() (any, error) {
			return st.Posts(t.Context(), ada, "acme-main", relay.Source{Kind: relay.List, Value: "7"}, cursor)
		},
		"another account": func() (any, error) { return st.Posts(t.Context(), ada, "acme-support", home, cursor) },
		"another tenant":  func() (any, error) { return st.Posts(t.Context(), gus, "globex-main", home, cursor) },
		"activities":      func() (any, error) { return st.Activities(t.Context(), ada, Question{Cursor: cursor}) },
		"a changed one":   func() (any, error) { return st.Posts(t.Context(), ada, "acme-main", home, cursor[:len(cursor)-2]+"AA") },
		"an invented one": func() (any, error) { return st.Posts(t.Context(), ada, "acme-main", home, "MTE0") },
		"no base64":       func() (any, error) { return st.Posts(t.Context(), ada, "acme-main", home, "!") },
		"a long one":      func() (any, error) { return st.Posts(t.Context(), ada, "acme-main", home, strings.Repeat("A", 600)) },
	} {
		_, err := try()
		wantCode(t, name, err, BadCursor)
	}

	// It does survive a restart.
	if _, err := open(t, path).Posts(t.Context(), ada, "acme-main", home, cursor); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

func TestColumnsShowTheirSource(t *testing.T) {
	st := open(t, "")
	page := must[Posts](t)(st.ColumnPosts(t.Context(), ada, "rocket-skates", "skates", ""))
	if len(page.Posts) == 0 {
		t.Fatal("no posts")
	}
	for _, p := range page.Posts {
		if !strings.Contains(strings.Join(p.Hashtags, " "), "rocketskates") {
			t.Errorf("the column #rocketskates shows %+v", p)
		}
	}
	_, err := st.ColumnPosts(t.Context(), ada, "rocket-skates", "hammocks", "")
	wantCode(t, "an unknown column", err, Unknown)
	_, err = st.ColumnPosts(t.Context(), gus, "rocket-skates", "skates", "")
	wantCode(t, "another tenant's column", err, Unknown)

	// When the column shows something else, its old cursor is of no use.
	cursor := must[Posts](t)(st.ColumnPosts(t.Context(), ada, "roadmap", "home", "")).NextCursor
	must[Posts](t)(st.ColumnPosts(t.Context(), ada, "roadmap", "home", cursor))
	d := must[Deck](t)(st.Deck(t.Context(), ada, "roadmap"))
	change := ColumnChange(d.Columns[0])
	change.Source = relay.Source{Kind: relay.Public}
	must[Deck](t)(st.ReplaceDeck(t.Context(), ada, DeckChange{DeckID: "roadmap", ExpectedRevision: d.Revision, Title: d.Title, Columns: []ColumnChange{change}}))
	_, err = st.ColumnPosts(t.Context(), ada, "roadmap", "home", cursor)
	wantCode(t, "a cursor from before", err, BadCursor)
}

func TestConnectionsTellNoCredential(t *testing.T) {
	st := open(t, "")
	list := must[[]Connection](t)(st.Connections(t.Context(), ada))
	if len(list) != 2 || list[0].Status != "connected" || list[1].Status != "expired" || strings.Contains(encode(list), "recorded-") {
		t.Errorf("connections %s", encode(list))
	}
	lists := must[[]relay.NamedList](t)(st.Lists(t.Context(), ada, "acme-main"))
	if len(lists) != 2 || lists[0].ID != "7" {
		t.Errorf("lists %+v", lists)
	}
	_, err := st.Lists(t.Context(), ada, "acme-support")
	wantCode(t, "an expired connection", err, ConnectionDown)
	_, err = st.Posts(t.Context(), ada, "acme-support", relay.Source{Kind: relay.Home}, "")
	wantCode(t, "posts of an expired connection", err, ConnectionDown)
	_, err = st.Lists(t.Context(), ada, "globex-main")
	wantCode(t, "another tenant's connection", err, Unknown)
}

func TestTroubleOfTheRelayIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		code  Code
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, ConnectionDown},
		"failing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, RelayDown},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>secret.internal")) }, RelayDown},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
		}, RelayDown},
	} {
		server := httptest.NewServer(tt.serve)
		st, err := Open(t.Context(), "", relay.NewClient(server.URL))
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.Posts(t.Context(), ada, "acme-main", relay.Source{Kind: relay.Home}, "")
		if refusal := refusalOf(t, name, err, tt.code); strings.Contains(refusal.Message, "internal") || strings.Contains(refusal.Message, server.URL) {
			t.Errorf("%s: %q gives something away", name, refusal.Message)
		}
		server.Close()
		_ = st.Close()
	}
}

func TestMentionsFindDecksAndPeople(t *testing.T) {
	st := open(t, "")
	for query, want := range map[string]string{
		"":         "deck://roadmap deck://rocket-skates deck://giant-magnet person://benno%40forge.example person://lucia%40canyon.example person://mira%40tidepool.example",
		"ROCKET":   "deck://rocket-skates",
		"lucía":    "person://lucia%40canyon.example",
		"forge":    "person://benno%40forge.example",
		"recall":   "", // archived
		"hank":     "", // another tenant's
		"%":        "",
		" magnet ": "deck://giant-magnet",
	} {
		var uris []string
		for _, m := range must[[]Mention](t)(st.Mentions(t.Context(), ada, query)) {
			uris = append(uris, m.URI)
			if m.Type != "resource_link" || m.Name == "" || m.Title == "" {
				t.Errorf("mention %+v", m)
			}
		}
		if got := strings.Join(uris, " "); got != want {
			t.Errorf("%q finds %s, want %s", query, got, want)
		}
	}
	for range 30 {
		must[Deck](t)(st.CreateDeck(t.Context(), ada, NewDeck{Title: "Plans"}))
	}
	if n := len(must[[]Mention](t)(st.Mentions(t.Context(), ada, "plans"))); n != maxMentions {
		t.Errorf("%d mentions, want %d", n, maxMentions)
	}
}
