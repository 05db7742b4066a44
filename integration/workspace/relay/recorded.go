package relay

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

//go:embed recorded.json
var recording []byte

// record is what was recorded: accounts by credential, and posts, newest first.
type record struct {
	Accounts map[string]struct {
		Name  string      `json:"name"`
		Lists []NamedList `json:"lists"`
	} `json:"accounts"`
	Posts []recordedPost `json:"posts"`
}

// recordedPost is a status together with where it can be seen.
type recordedPost struct {
	Home   []string        `json:"home"`  // names of accounts
	Lists  []string        `json:"lists"` // ids
	Status json.RawMessage `json:"status"`

	id   string
	tags []string
}

// Recorded is a server of the Mastodon API that answers from a recording of
// invented people: lists, and the timelines home, public, tag and list with
// max_id and limit. It asks for the credential of a recorded account.
func Recorded() http.Handler {
	var rec record
	if err := json.Unmarshal(recording, &rec); err != nil {
		panic("relay: the recording: " + err.Error())
	}
	for i, post := range rec.Posts {
		var s status
		if err := json.Unmarshal(post.Status, &s); err != nil {
			panic("relay: a recorded post: " + err.Error())
		}
		rec.Posts[i].id = s.ID
		for _, tag := range s.Tags {
			rec.Posts[i].tags = append(rec.Posts[i].tags, tag.Name)
		}
	}

	mux := http.NewServeMux()
	handle := func(pattern string, serve func(account string, r *http.Request) any) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			account, ok := rec.Accounts[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
			if !ok {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte(`{"error":"The access token is invalid"}`))

				return
			}
			_ = json.NewEncoder(w).Encode(serve(account.Name, r)) // fails if the client is gone
		})
	}
	timeline := func(pattern string, shows func(p recordedPost, account, value string) bool) {
		handle("/api/v1/timelines/"+pattern, func(account string, r *http.Request) any {
			return rec.timeline(r, func(p recordedPost) bool { return shows(p, account, r.PathValue("value")) })
		})
	}

	handle("/api/v1/lists", func(account string, _ *http.Request) any {
		for _, a := range rec.Accounts {
			if a.Name == account {
				return a.Lists
			}
		}

		return []NamedList{}
	})
	timeline("home", func(p recordedPost, account, _ string) bool { return slices.Contains(p.Home, account) })
	timeline("public", func(recordedPost, string, string) bool { return true })
	timeline("tag/{value}", func(p recordedPost, _, tag string) bool {
		return slices.ContainsFunc(p.tags, func(t string) bool { return strings.EqualFold(t, tag) })
	})
	timeline("list/{value}", func(p recordedPost, account, list string) bool {
		return slices.Contains(p.Home, account) && slices.Contains(p.Lists, list)
	})

	return mux
}

// timeline returns a page of what is shown. Ids are numbers of one length, so
// they compare as texts.
func (rec *record) timeline(r *http.Request, shows func(recordedPost) bool) []json.RawMessage {
	limit, err := strconv.Atoi(r.FormValue("limit"))
	if err != nil || limit < 1 || limit > maxRelayed {
		limit = 20
	}
	before := r.FormValue("max_id")

	page := []json.RawMessage{}
	for _, post := range rec.Posts {
		if len(page) < limit && (before == "" || post.id < before) && shows(post) {
			page = append(page, post.Status)
		}
	}

	return page
}
