package workspace

import (
	"context"
	"net/url"
	"strings"
)

// maxURL bounds an app-relative URL, in bytes.
const maxURL = 2048

const (
	errNotRelative = refusal("a url begins with exactly one slash and has no fragment")
	errUnknownPage = refusal("unknown page")
)

// place is what an app-relative URL stands for.
type place struct {
	URL  string `json:"url"`
	View string `json:"view"`
	Deck *deck  `json:"deck,omitempty"` // with view "deck"
}

// resolve finds the place of an app-relative URL in the caller's workspace. The
// query is the page's business and comes back untouched. Dots in the path mean
// nothing here: "/decks/.." is looked up as the deck "..", which cannot exist.
func (st *store) resolve(ctx context.Context, who caller, raw string) (place, error) {
	if len(raw) > maxURL || !strings.HasPrefix(raw, "/") || strings.HasPrefix(raw, "//") ||
		strings.ContainsAny(raw, "#\\") {
		return place{}, errNotRelative
	}

	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return place{}, errNotRelative
	}

	// The escaped path is split, so an escaped slash stays part of an id.
	segments := strings.Split(u.EscapedPath(), "/")[1:]
	switch {
	case len(segments) == 1 && segments[0] == "":
		return place{URL: raw, View: "home"}, nil
	case len(segments) == 2 && segments[0] == "decks":
		id, err := url.PathUnescape(segments[1])
		if err != nil {
			return place{}, errNotRelative
		}

		d, err := st.deck(ctx, who, id)
		if err != nil {
			return place{}, err
		}

		return place{URL: raw, View: "deck", Deck: &d}, nil
	}

	return place{}, errUnknownPage
}
