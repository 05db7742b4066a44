// Package relay reads posts from servers that speak the Mastodon API, and plays
// such a server with recorded posts.
package relay

import (
	"context"
	"errors"
)

// The kinds of sources.
const (
	Home    = "home"    // whom the account follows
	Public  = "public"  // everybody on the server
	List    = "list"    // a list of the account, by id
	Hashtag = "hashtag" // by name, without the #
)

// ErrDenied means that the server does not accept the credential any more.
var ErrDenied = errors.New("relay: the credential was refused")

// Source says which posts.
type Source struct {
	Kind  string `json:"kind"`
	Value string `json:"value,omitempty"` // of lists and hashtags
}

// Post is one post, as text.
type Post struct {
	ID         string   `json:"id"`
	Author     Author   `json:"author"`
	Created    string   `json:"created"` // RFC 3339
	Text       string   `json:"text"`
	Hashtags   []string `json:"hashtags"`
	Replies    int      `json:"replies"`
	Boosts     int      `json:"boosts"`
	Favourites int      `json:"favourites"`
}

// Author is who wrote a post.
type Author struct {
	Handle string `json:"handle"`
	Name   string `json:"name"`
}

// NamedList is a list of an account.
type NamedList struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Relay reads as the account that a credential belongs to.
type Relay interface {
	// Lists returns the account's lists.
	Lists(ctx context.Context, credential string) ([]NamedList, error)

	// Posts returns up to limit (1 to 40) posts of a source, newest first: those
	// before the post with the id before, or the newest if it is empty.
	Posts(ctx context.Context, credential string, s Source, before string, limit int) ([]Post, error)
}
