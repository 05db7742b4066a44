// Package doctor finds out why a host such as ChatGPT does not show what a
// server offers. It asks the address as hosts, browsers and tunnels do, judges
// what comes back, and says for each finding what is wrong, why that matters
// and what to write.
//
// Only documents, handshakes, lists and pages are asked for. No tool is ever
// called. What a server says is cleaned before it stands in a finding.
//
// Every code is a [Rule]: those of this package are about the address and its
// login, those of package openai about tools and pages. The checks stand in one
// file for each group, in the order in which they run.
//
// # Guarantees
//
// Every finding has a rule with a reason and a fix. No secret that was given to a
// check stands in its report, and no text of a server can be taken for anything but
// text. Everything that is asked is bounded in time and size.
//
// # Trade-offs
//
// It says what hosts are known to do, not what one does today, and it sees what one
// token sees.
package doctor
