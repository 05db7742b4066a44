// Whom the client listens to, and how it begins and ends.
import { App, Refusal, check, equal, extended, held, link, pause, until } from "/host/host.js";

const navigating = { connect: { navigate: "open" }, callbacks: true };
const spoof = (url) => ({ jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: link(url) });
const arrivals = (app) => app.saw("arrival").map(({ url }) => url);

async function open(opened, more = {}) {
	const app = App.open(opened, "import", { settings: navigating, ...more });
	await app.until(async () => app.of("ui/notifications/initialized").length && (await app.ask("state")).host, "handshake");
	return app;
}

export default {
	async "only the host's own messages count, whoever copies them"(opened) {
		const app = await open(opened);
		const other = await open(opened);
		await app.ask("spoofSelf", spoof("/self"));
		await app.ask("spoofChild", spoof("/child"));
		await app.ask("spoofEvent", spoof("/event"), location.origin);
		await other.ask("spoofSiblings", spoof("/sibling"));
		// A frame of the host's own site has its origin, and is not the host.
		const neighbour = document.createElement("iframe");
		document.body.append(neighbour);
		neighbour.contentWindow.eval("(target, message) => target.postMessage(message, '*')")(app.frame.contentWindow, spoof("/neighbour"));
		neighbour.remove();
		// An answer to the handshake counts as little.
		const welcome = { jsonrpc: "2.0", id: 1, result: { protocolVersion: "2026-01-26", hostCapabilities: {}, hostContext: link("/welcome") } };
		await other.ask("spoofSiblings", welcome);
		await app.quiet();
		equal(app.routes(), [], "routes");
		app.change(link("/host"));
		await app.until(() => arrivals(app).length, "the host's own link");
		equal(app.routes(), ["/host"], "routes");
	},

	async "a host of an origin that is not listed is not listened to"(opened) {
		const settings = { connect: { navigate: "open", hosts: ["https://chatgpt.com", "https://host.example"] }, callbacks: true };
		const app = App.open(opened, "import", { settings, context: link("/a") });
		await app.until(() => app.of("ui/initialize").length, "handshake");
		app.change(link("/b"));
		await app.quiet();
		equal([app.of("ui/notifications/initialized"), app.routes(), arrivals(app)], [[], [], []], "what followed");
	},

	async "nothing is sent to a host of another origin than the one listed"(opened) {
		const expect = ["postMessage"]; // the browser's own complaint is none of the page
		const app = App.open(opened, "import", { settings: { connect: { navigate: "open", hosts: ["https://chatgpt.com"] } }, expect });
		await app.loaded;
		await app.quiet();
		equal(app.received, [], "messages");
	},

	async "a host of a listed origin is listened to"(opened) {
		const settings = { connect: { navigate: "open", hosts: ["https://chatgpt.com", location.origin] }, callbacks: true };
		const app = App.open(opened, "import", { settings, context: link("/a") });
		await app.until(() => arrivals(app).length, "arrival");
	},

	async "messages that are no JSON-RPC are passed over"(opened) {
		const app = await open(opened);
		const method = "ui/notifications/host-context-changed";
		const window = app.frame.contentWindow;
		for (const odd of [null, 7, "x", [], { method, params: link("/no") }, { jsonrpc: "1.0", method, params: link("/no") },
			{ jsonrpc: "2.0" }, { jsonrpc: "2.0", id: {}, result: {} }, { jsonrpc: "2.0", method: 7 }, { jsonrpc: "2.0", method, params: [link("/no")] },
			{ jsonrpc: "2.0", method, params: "x" }, { jsonrpc: "2.0", id: "mcp-app-page:0:1", result: {} }, new Map([["jsonrpc", "2.0"]])]) {
			window.postMessage(odd, "*");
		}
		await app.quiet();
		equal(app.routes(), [], "routes");
		app.change(link("/yes"));
		await app.until(() => arrivals(app).length, "arrival after all of that");
	},

	async "a flood of other messages stops nothing"(opened) {
		const app = await open(opened);
		for (let i = 0; i < 20000; i++) {
			app.notify("ui/notifications/tool-input-partial", { arguments: { i } });
			if (i % 4 === 0) app.post({ id: `x${i}`, result: { i } });
		}
		app.change(link("/a"));
		await app.until(() => arrivals(app).length, "arrival");
	},

	async "where the handshake is the client's, it answers the host"(opened) {
		const app = await open(opened);
		app.post({ id: "p", method: "ping" });
		app.post({ id: 0, method: "tools/list" });
		await app.until(() => app.received.filter(({ method }) => !method).length === 2, "answers");
		equal(app.received.filter(({ method }) => !method).map(({ id, result, error }) => [id, result, error?.code]), [["p", {}, undefined], [0, undefined, -32601]], "answers");
		await app.until(() => app.of("ui/notifications/size-changed").length, "size");
		const { width, height } = app.of("ui/notifications/size-changed")[0].params;
		check(width > 0 && height > 0, `size is ${width} by ${height}`);
		app.post({ id: "t", method: "ui/resource-teardown", params: {} });
		await app.until(() => app.received.some(({ id }) => id === "t"), "answer to the teardown");
		app.change(link("/after"));
		await app.quiet();
		equal(app.routes(), [], "routes after the teardown");
	},

	async "the handshake tells what the page says of itself"(opened) {
		const app = App.open(opened, "import", { settings: { connect: { name: "deck app", displayModes: ["inline", "fullscreen"] } } });
		await app.until(() => app.of("ui/initialize").length, "handshake");
		const { params } = app.of("ui/initialize")[0];
		equal([params.protocolVersion, params.appInfo.name, params.appCapabilities], ["2026-01-26", "deck app", { availableDisplayModes: ["inline", "fullscreen"] }], "parameters");
	},

	async "disposing in the middle ends everything"(opened) {
		const app = await open(opened, { hostCapabilities: extended, handlers: { "tools/call": () => held, "ui/message": () => held } });
		await app.ask("listen", "ui/notifications/tool-result");
		app.change(link("/a"));
		const message = app.ask("call", "sendMessage", [{ text: "a" }]).catch(({ reason }) => reason);
		await app.until(() => app.routes().length && app.of("ui/message").length, "requests");
		await app.ask("dispose");
		equal(await message, "unavailable", "outcome of the message");
		equal(app.of("notifications/cancelled").length, 2, "cancelled requests");
		const count = app.received.length;
		app.answer(app.of("tools/call")[0], { content: [] });
		app.change(link("/b"));
		app.notify("ui/notifications/tool-result", { content: [] });
		app.post({ id: "p", method: "ping" });
		await app.quiet();
		equal(app.received.length, count, "messages afterwards");
		equal([arrivals(app), app.saw("refusal"), app.saw("heard ui/notifications/tool-result")], [[], [], []], "what the page heard");
		equal(await app.ask("call", "callTool", ["tool"]).catch(({ reason }) => reason), "unavailable", "a call afterwards");
		await app.ask("dispose");
	},

	async "disposing before a paced link has set out keeps it from doing so"(opened) {
		const app = await open(opened);
		app.change(link("/a"));
		await app.until(() => arrivals(app).length, "arrival");
		app.change(link("/b"));
		await app.ask("dispose");
		await app.quiet();
		equal(app.routes().filter((url) => url === "/b").length, 0, "calls for the second link");
	},

	async "a page hears notifications, within bounds, until it no longer wants to"(opened) {
		const app = await open(opened, { expect: ["bad listener"] });
		const method = "ui/notifications/tool-result";
		await app.ask("listenBadly", method);
		await app.ask("listen", method);
		app.notify(method, { structuredContent: { a: 1 } });
		await app.until(() => app.saw(`heard ${method}`).length, "notification");
		app.notify(method, { structuredContent: { a: "x".repeat(100000) } });
		app.notify("ui/notifications/tool-input", {});
		await app.quiet();
		equal(app.saw(`heard ${method}`), [{ structuredContent: { a: 1 } }], "heard");
		equal(app.saw("error").length, 1, "exceptions reported");
		await app.ask("abort", `listener ${method}`);
		app.notify(method, { structuredContent: { a: 2 } });
		await app.quiet();
		equal(app.saw(`heard ${method}`).length, 1, "heard after the end");
		equal(await app.ask("listenTooMuch").catch(({ reason }) => reason), "unavailable", "more than 32 listeners");
	},

	async "a handshake that is refused leaves the page alone"(opened) {
		const app = App.open(opened, "import", { settings: navigating, handlers: { "ui/initialize": () => { throw new Refusal("no"); } } });
		await app.until(() => app.of("ui/initialize").length, "handshake");
		await app.quiet();
		equal(app.received.map(({ method }) => method), ["ui/initialize"], "messages");
	},

	async "two apps of one host keep to themselves"(opened) {
		const [one, two] = [await open(opened), await open(opened)];
		one.change(link("/one"));
		two.change(link("/two"));
		await until(() => arrivals(one).length && arrivals(two).length, "arrivals");
		await pause(100);
		equal([one.routes(), two.routes()], [["/one"], ["/two"]], "routes");
		// An id of the other's is nobody's.
		one.post({ id: two.of("tools/call")[0].id, result: { content: [], structuredContent: "stolen" } });
		await one.ask("dispose");
		two.change(link("/still"));
		await until(() => arrivals(two).length === 2, "the other app after one has ended");
	},
};
