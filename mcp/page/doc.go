// Package page brings a client for deep links, model context, messages and
// display modes into the pages of an MCP app server that has none.
//
// What a host says to a page goes over postMessage, where no gateway sees it.
// The page itself does come through the gateway, though, as a content item of a
// resources/read result. An [Injector], made once from the operator's words by
// [Compile], puts one script into such a page: the client, written for this
// package (client/client.js), with its options on the script element. It goes in
// front of everything of the page's own, so that it hears the page's handshake
// with the host. All other bytes stay, and injecting twice is injecting once.
//
// The package knows no HTTP and no policy. The client asks for nothing that the
// page could not ask for itself: every tool call it makes comes back through the
// gateway and is decided there.
//
// # Three ways to use the client
//
// Injected, into pages that nobody changes. The operator writes
//
//	openai {
//		page ui://workspace/home {
//			navigate workspace.navigate hash
//		}
//	}
//
// and a page with a router follows deep links. One without can listen:
//
//	addEventListener("mcp-app:navigate", ({ detail }) => show(detail.result.structuredContent));
//	addEventListener("mcp-app:navigate-refused", ({ detail }) => explain(detail.reason));
//	mcpApp?.updateModelContext({ text: "The deck Rocket is open." });
//
// Imported, where pages are put together from modules. [Module] serves it, and
// [Declarations] its types; a bundler takes client/client.js as it is:
//
//	import { connect } from "./client.js";
//
//	const client = connect({
//		navigate: "workspace.navigate",
//		onNavigate: ({ url, result }) => show(url, result.structuredContent),
//		onRefuse: ({ reason }) => explain(reason),
//	});
//	const { context } = await client.ready;
//
// Copied, into a page that is one file: the text of client/client.js goes into a
// script of type module, and the code that uses it behind it, in the same
// script. No build is needed, and no network.
//
// A page has one client. The gateway puts none into a page that brings its own,
// and if there come to be two, the later one takes over. A page opts out with
//
//	<meta name="mcp-app-page" content="off">
//
// # Guarantees
//
// The script goes in at one place, at the start of the head; no other byte of the
// page changes, and injecting twice is injecting once. It needs no network and no
// eval, holds every link to the rules of package links before the page hears of
// it, and posts to the host alone.
//
// # Trade-offs
//
// A page whose own policy forbids the script keeps its policy and does without the
// client: loosening a policy is the operator's to decide, and the [Finding] says
// what to write. The client is in each page, a few kilobytes, because pages in
// sandboxed frames can share nothing.
//
// # What is proven, and what is not
//
// The tests in integration/page run the client in Chromium, in sandboxed frames
// without a network, against a synthetic host. It keeps to the bridge as MCP Apps
// 2026-01-26 specifies it. A synthetic host is no proof of how the real ChatGPT,
// or any other host, behaves.
package page
