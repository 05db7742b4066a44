// Package store is what the workspace does, without any door to it: decks,
// proposals of activities with people's decisions on them, settings, posts from
// elsewhere, and a journal of what changed. MCP tools and the web API call the
// same methods, so both mean the same.
//
// Each method takes the [Caller] and touches rows of the caller's tenant only:
// every table has the tenant in its key. What belongs together is written in one
// transaction, and one at a time. Whoever changes what others may have changed
// names the revision they saw, and is told stale_revision if it is not the newest.
//
// A refusal is an *[Error] with a code; any other error is the store's own
// failure and not for the caller's eyes.
package store
