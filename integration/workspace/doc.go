// Package workspace is the sample MCP app server that stands behind the proxy
// in the demo and in every end-to-end test.
//
// It is an ordinary app of the kind the proxy exists for, and nobody changed it
// for the proxy: it knows nothing of any host's extensions, of tokens or of
// scopes. It believes the identity headers of each HTTP request ([TenantHeader],
// [SubjectHeader]) and has no other access control, so a request that reaches it
// unchecked is served. That makes leaks visible: the two tenants it is born with,
// acme and globex, own different things.
//
// # What it does
//
// A team follows posts of other people in decks of up to six columns. An agent
// proposes what the team could post; people accept, reject or edit that, and what
// they decided outlives whatever is proposed later. Posts come over HTTP from a
// relay that speaks the Mastodon API; without one of your own, a recording plays.
//
// # How to read it
//
// Each operation has two doors, a tool and a route of the web API, and behind both
// the same schema, the same checks and the same method of the package store:
//
//	tools.go                     what an operation is, and the door for MCP
//	web.go                       the door for the web, and what status a refusal has
//	*tools.go                    the operations
//	changes.go                   GET /api/changes, a stream of what is committed
//	store/                       what happens: SQLite, revisions, one writer at a time
//	relay/                       where posts come from
//	pages/                       ui://workspace/home and ui://workspace/tray
//	eras.go                      one endpoint for both eras of the protocol
//	calls.go                     what reached the server, for tests to look at
//
// # Revisions
//
// Whoever changes what others may have changed names the revision that they read:
//
//	get_activity_context {}                        → {"revision":1, …}
//	publish_activities {"requestId":"r1", "expectedRevision":1, …}
//	                                               → {"revision":2, "created":["a"], …}
//	the same once more                             → the same receipt
//	publish_activities {"requestId":"r2", "expectedRevision":1, …}
//	                                               → {"code":"stale_revision", "revision":2, …}
//
// Through the web API that is GET and POST /api/activities, and the refusal comes
// with the status 409. Through MCP it is a result with isError whose text is the
// refusal as JSON.
//
// # Where the doors differ
//
// Deciding on a proposal is for people: POST /api/activities/{activityId}/decision,
// and the tool decide_activity, which is for the tray's own buttons (visibility
// "app") and not for models. admin.purge_deck, workspace.navigate and the tools
// that open pages have no route.
package workspace
