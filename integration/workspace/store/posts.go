package store

import (
	"context"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
)

// MaxPosts is how many posts one page holds at most.
const MaxPosts = 20

// Posts is one page of posts, newest first.
type Posts struct {
	Posts      []relay.Post `json:"posts"`
	NextCursor string       `json:"nextCursor,omitempty"` // absent on the last page
}

// Posts returns a page of a source as a connection's account sees it. A cursor
// continues the page it came with, for the same source and account only.
func (st *Store) Posts(ctx context.Context, who Caller, connectionID string, s relay.Source, cursor string) (Posts, error) {
	if err := checkSource(s); err != nil {
		return Posts{}, err
	}
	credential, err := st.credential(ctx, who, connectionID)
	if err != nil {
		return Posts{}, err
	}

	purpose := []string{"posts", connectionID, s.Kind, s.Value}
	before, err := st.openCursor(ctx, who, cursor, purpose...)
	if err != nil {
		return Posts{}, err
	}

	// One more than fits tells whether there is another page.
	posts, err := st.relay.Posts(ctx, credential, s, before, MaxPosts+1)
	if err != nil {
		return Posts{}, relayed(ctx, err)
	}
	if len(posts) <= MaxPosts {
		return Posts{Posts: posts}, nil
	}
	posts = posts[:MaxPosts]
	next, err := st.sealCursor(ctx, who, posts[MaxPosts-1].ID, purpose...)

	return Posts{posts, next}, err
}

// ColumnPosts returns a page of what a column shows. When the column shows
// something else by now, its older cursors are of no use.
func (st *Store) ColumnPosts(ctx context.Context, who Caller, deckID, columnID, cursor string) (Posts, error) {
	d, err := st.Deck(ctx, who, deckID)
	if err != nil {
		return Posts{}, err
	}
	i := slices.IndexFunc(d.Columns, func(c Column) bool { return c.ID == columnID })
	if i < 0 {
		return Posts{}, unknown("column")
	}

	return st.Posts(ctx, who, d.Columns[i].ConnectionID, d.Columns[i].Source, cursor)
}
