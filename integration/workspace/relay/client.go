package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
)

const (
	patience   = 10 * time.Second
	maxAnswer  = 1 << 20 // bytes
	maxRelayed = 40      // posts in one answer
)

// Client reads over HTTP.
type Client struct {
	base string
	http *http.Client
}

// NewClient returns a client for the server at a base URL.
func NewClient(base string) *Client {
	return &Client{strings.TrimSuffix(base, "/"), &http.Client{
		Timeout: patience,
		// A credential goes to its own server only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Lists implements [Relay].
func (c *Client) Lists(ctx context.Context, credential string) ([]NamedList, error) {
	lists := []NamedList{}

	return lists, c.get(ctx, credential, "/api/v1/lists", nil, &lists)
}

// status is as much of a Mastodon status as is used.
type status struct {
	ID      string `json:"id"`
	Created string `json:"created_at"`
	Content string `json:"content"` // HTML
	Account struct {
		Acct string `json:"acct"`
		Name string `json:"display_name"`
	} `json:"account"`
	Tags []struct {
		Name string `json:"name"`
	} `json:"tags"`
	Replies    int `json:"replies_count"`
	Boosts     int `json:"reblogs_count"`
	Favourites int `json:"favourites_count"`
}

// Posts implements [Relay].
func (c *Client) Posts(ctx context.Context, credential string, s Source, before string, limit int) ([]Post, error) {
	path := "/api/v1/timelines/" + s.Kind
	switch s.Kind {
	case List:
		path += "/" + url.PathEscape(s.Value)
	case Hashtag:
		path = "/api/v1/timelines/tag/" + url.PathEscape(s.Value)
	}
	query := url.Values{"limit": {strconv.Itoa(min(limit, maxRelayed))}}
	if before != "" {
		query.Set("max_id", before)
	}

	var statuses []status
	if err := c.get(ctx, credential, path, query, &statuses); err != nil {
		return nil, err
	}

	posts := []Post{}
	for _, s := range statuses[:min(len(statuses), limit)] {
		post := Post{
			ID: s.ID, Author: Author{"@" + s.Account.Acct, s.Account.Name}, Created: s.Created, Text: plain(s.Content),
			Hashtags: []string{}, Replies: s.Replies, Boosts: s.Boosts, Favourites: s.Favourites,
		}
		for _, tag := range s.Tags {
			post.Hashtags = append(post.Hashtags, tag.Name)
		}
		posts = append(posts, post)
	}

	return posts, nil
}

func (c *Client) get(ctx context.Context, credential, path string, query url.Values, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+credential)
	r.Header.Set("Accept", "application/json")

	answer, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	defer answer.Body.Close()

	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrDenied
	case http.StatusNotFound:
		return nil // a list or hashtag that is not there has no posts
	default:
		return fmt.Errorf("relay: the server answers %s", answer.Status)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("relay: reading the answer: %w", err)
	}

	return nil
}

// plain makes text out of HTML: posts are shown as text, so no markup of
// strangers gets anywhere.
func plain(content string) string {
	var text strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(content))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(text.String())
		case html.TextToken:
			text.Write(tokens.Text())
		case html.EndTagToken, html.SelfClosingTagToken, html.StartTagToken:
			switch name, _ := tokens.TagName(); string(name) {
			case "p", "br":
				if text.Len() > 0 && !strings.HasSuffix(text.String(), "\n") {
					text.WriteByte('\n')
				}
			}
		}
	}
}
