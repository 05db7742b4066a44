package discovery

import "strings"

// Class is a kind of failure. Its word is stable: programs may rely on it.
type Class string

// The classes.
const (
	BadTarget      Class = "bad-target"        // nothing was asked
	Unreachable    Class = "unreachable"       // no connection
	Untrusted      Class = "untrusted"         // no trusted TLS connection
	Timeout        Class = "timeout"           // the deadline passed
	Canceled       Class = "canceled"          // whoever asked gave up
	Authentication Class = "authentication"    // 401
	Forbidden      Class = "forbidden"         // 403
	RateLimited    Class = "rate-limited"      // 429
	Redirect       Class = "redirect"          // 3xx
	Unavailable    Class = "unavailable"       // 502, 503, 504
	ServerFault    Class = "server-error"      // another 5xx, or a JSON-RPC error
	NotMCP         Class = "not-mcp"           // something else answers there
	Malformed      Class = "malformed-catalog" // MCP, but not a catalog to rely on
	TooLarge       Class = "too-large"         // beyond a bound
	Protocol       Class = "protocol"          // the connection or the rules of HTTP or MCP broke
)

// Classes of a question that goes through OpenAI, see package mcp/openai/hosted.
const (
	Connector      Class = "connector"       // OpenAI could not list the server's tools
	OpenAIKey      Class = "openai-key"      // the API key is not accepted
	OpenAIRequest  Class = "openai-request"  // the request, its model or a schema is not accepted
	NoResult       Class = "no-result"       // an answer without a catalog, which is not an empty catalog
	UnexpectedCall Class = "unexpected-call" // something else was begun than listing
)

// advice says what to do about each class.
var advice = map[Class]string{
	BadTarget:      "Correct the command line.",
	Unreachable:    "Check the address and the port, that the server runs, and that this machine may connect to it.",
	Untrusted:      "Use the name the certificate was made for, and a certificate that ends in a public authority; ChatGPT accepts no other.",
	Timeout:        "Look whether the server hangs, or a proxy before it holds back event streams until they end.",
	Canceled:       "Ask again.",
	Authentication: "Give a token (--token-file, MCP_APP_TOKEN) or the API key (--header); if you gave one, it is expired, for another audience, or from another issuer.",
	Forbidden:      "The token is good but not enough: look at its scopes and tenant. Without a token, the server or a firewall refuses this client.",
	RateLimited:    "Wait a while; nothing was asked a second time.",
	Redirect:       "Ask the address that is redirected to (a slash at the end and http:// are the usual reasons); clients must not follow with a token.",
	Unavailable:    "The gateway answers, the server behind it does not: look whether it runs.",
	ServerFault:    "Look into the server's own log.",
	NotMCP:         "Check the path, which often is /mcp; a web page, a file or an older transport (/sse) answers here.",
	Malformed:      "Correct the declaration; hosts drop the tool or the whole list.",
	TooLarge:       "Offer less, or shorter descriptions and schemas; hosts have bounds of their own.",
	Protocol:       "Look whether the server and what stands before it speak Streamable HTTP.",
	Connector:      "Make sure that the address can be reached from the internet with a public certificate, then run discover without --openai: it says more.",
	OpenAIKey:      "Give a valid key in OPENAI_API_KEY or by --openai-key; this is not about the server's token.",
	OpenAIRequest:  "Look at what OpenAI names: a model this key may not use (--model), or a tool schema it cannot read.",
	NoResult:       "Ask again; if it stays so, OpenAI did not finish listing.",
	UnexpectedCall: "Nothing was approved. Check the base URL: OpenAI does not do this for the request that was sent.",
}

// Advice says in a sentence what to do about a failure of this class.
func (c Class) Advice() string { return advice[c] }

// Error is a failure in words of our own, fit to be shown to anybody who knows
// the target.
type Error struct {
	Class  Class
	During string // the method that was asked, empty if none
	Status int    // HTTP, 0 if there was no answer
	Code   int    // JSON-RPC, 0 if there was none
	Detail string // what is the case
	Remote string // what the server says, cleaned; untrusted
	cause  error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	if e.During != "" {
		b.WriteString(e.During + ": ")
	}
	b.WriteString(string(e.Class))
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Remote != "" {
		b.WriteString(" (the server says: " + e.Remote + ")")
	}
	return b.String()
}

// Unwrap returns what the failure was made of, whose text may hold anything.
func (e *Error) Unwrap() error { return e.cause }
