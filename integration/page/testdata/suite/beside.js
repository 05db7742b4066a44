// Injected clients, beside whatever the page has itself.
import { App, check, equal, link, pause } from "/host/host.js";

const options = { navigate: "open" };
const methods = (app) => app.received.map(({ method }) => method).filter((method) => method && !method.includes("size"));

export default {
	async "the injected client hears the handshake of the page and makes none"(opened) {
		const app = App.open(opened, "bridge", { options, context: link("/a") });
		await app.until(() => app.saw("mcp-app:navigate").length && app.saw("page ready").length, "both");
		equal(app.saw("mcp-app:navigate")[0].url, "/a", "link");
		await pause(2300); // longer than a page without a bridge is given
		equal(methods(app).filter((method) => method.startsWith("ui/")), ["ui/initialize", "ui/notifications/initialized"], "handshake");
		check(methods(app).indexOf("ui/notifications/initialized") < methods(app).indexOf("tools/call"), "a call came before the handshake was over");
		equal(app.of("tools/call").map(({ id, params }) => [typeof id, params.name]).sort(), [["number", "own"], ["string", "open"]], "calls");
		app.change(link("/b"));
		await app.until(() => app.saw("mcp-app:navigate").length === 2, "second link");
	},

	async "the page's bridge hears all of the host, but no answers to the client"(opened) {
		const app = App.open(opened, "bridge", { options, context: link("/a") });
		await app.until(() => app.saw("mcp-app:navigate").length && app.saw("page ready").length, "both");
		app.change({ theme: "dark" });
		app.post({ id: 7, method: "ping" });
		app.post({ id: 8, method: "something/else" });
		await app.until(() => app.saw("page heard").length === 3, "what the page hears");
		equal(app.received.filter(({ method }) => !method).map(({ id }) => id), [7, 8], "answers to the host, one each");
		equal(app.saw("error"), [], "answers that the page did not ask for");
	},

	async "the injected script leaves no trace in the document"(opened) {
		const app = App.open(opened, "bridge", { options });
		await app.until(() => app.saw("page ready").length, "page");
		const { scripts, head } = await app.ask("state");
		equal([scripts, head], [0, "meta"], "scripts, and first element of the head");
		equal(app.frame.contentWindow.length, 0, "frames");
	},

	async "a page without a bridge is greeted for"(opened) {
		const app = App.open(opened, "bare", { options: { ...options, route: "hash" }, context: link("/a") });
		await app.loaded;
		equal(methods(app), [], "messages before the page had its time");
		await app.until(() => app.saw("hashchange").length, "link");
		equal(methods(app), ["ui/initialize", "ui/notifications/initialized", "tools/call"], "messages");
		app.post({ id: "p", method: "ping" });
		await app.until(() => app.received.some(({ id, result }) => id === "p" && result), "pong");
	},

	async "a page that is late with its bridge takes the host over"(opened) {
		const app = App.open(opened, "bridge", { options: { ...options, handshake: "always" }, settings: { delay: 300 }, context: link("/a") });
		await app.until(() => app.saw("page ready").length && app.saw("mcp-app:navigate").length, "both");
		app.post({ id: 7, method: "ping" });
		await app.until(() => app.received.some(({ id, method }) => id === 7 && !method), "pong");
		await app.quiet();
		equal(app.received.filter(({ id, method }) => id === 7 && !method).length, 1, "answers to one ping");
		equal(app.routes().filter((url) => url === "/a").length, 1, "calls for one link");
	},

	async "told never to, the client makes no handshake"(opened) {
		const app = App.open(opened, "bare", { options: { ...options, handshake: "never" } });
		await app.loaded;
		await pause(2300);
		equal(methods(app), [], "messages");
	},

	async "a page with @modelcontextprotocol/ext-apps works as before, and has deep links"(opened) {
		// Its schema library tries whether it may compile code; it may not.
		const app = App.open(opened, "extapps", { options, context: link("/a"), expect: ["script-src eval"] });
		await app.until(() => app.saw("page ready").length && app.saw("mcp-app:navigate").length, "both");
		app.notify("ui/notifications/tool-result", { content: [{ type: "text", text: "hello" }] });
		app.change({ theme: "dark", ...link("/b") });
		await app.until(() => app.saw("tool result").length && app.saw("context").length && app.saw("mcp-app:navigate").length === 2, "what follows");
		await app.ask("take");
		equal(app.saw("own again")[0].structuredContent, { opened: "again" }, "the page's own call");
		equal([app.of("ui/initialize").length, app.of("ui/notifications/initialized").length], [1, 1], "handshakes");
		equal(app.routes(), ["own", "/a", "/b", "again"].filter((url) => app.routes().includes(url)), "routes");
		equal(app.saw("error"), [], "errors of ext-apps");
	},

	async "a page that brings the client gets no other, and the last one takes over"(opened) {
		const app = App.open(opened, "import", { options: { ...options, handshake: "always" }, settings: { late: true, callbacks: true, connect: { navigate: "mine" } }, context: link("/a") });
		await app.loaded;
		// Its text is in the page, so the gateway put nothing in.
		equal((await app.ask("state")).host, undefined, "injected client");
		await app.ask("take");
		await app.until(() => app.saw("arrival").length, "arrival");
		await app.ask("take");
		await app.until(() => app.saw("arrival").length === 2, "arrival at the next client");
		app.change(link("/b"));
		await app.until(() => app.saw("arrival").length === 3, "second link");
		await app.quiet();
		equal(app.saw("arrival").map(({ url }) => url), ["/a", "/a", "/b"], "arrivals");
		equal(app.of("ui/initialize").length, 1, "handshakes");
		app.post({ id: "p", method: "ping" });
		await app.until(() => app.received.some(({ id }) => id === "p"), "pong of the next client");
		const sizes = app.of("ui/notifications/size-changed").length;
		app.frame.style.width = "300px";
		await app.until(() => app.of("ui/notifications/size-changed").length > sizes, "size from the next client");
	},

	async "a client that begins when the host is talking makes no handshake"(opened) {
		const app = App.open(opened, "import", { settings: { late: true, callbacks: true, connect: { navigate: "open" } } });
		await app.ask("take");
		app.notify("ui/notifications/tool-input", { arguments: {} });
		await pause(2300);
		equal(methods(app), [], "messages");
		// What it does not know of the host, it takes for absent.
		app.change(link("/a"));
		await app.until(() => app.saw("refusal").length, "refusal");
		equal(app.saw("refusal")[0].reason, "unavailable", "reason");
	},

	async "a client that begins late can be told of the host"(opened) {
		const app = App.open(opened, "import", {
			settings: { late: true, callbacks: true, connect: { navigate: "open", host: { capabilities: { serverTools: {} }, context: link("/a") } } },
		});
		await app.ask("take");
		await app.until(() => app.saw("arrival").length, "arrival");
		equal(methods(app), ["tools/call"], "messages");
	},

	async "the page can use the injected client"(opened) {
		const app = App.open(opened, "bridge", { options });
		await app.until(() => app.saw("page ready").length, "page");
		await app.ask("call", "updateModelContext", [{ text: "t" }]);
		equal(app.of("ui/update-model-context")[0].params, { content: [{ type: "text", text: "t" }] }, "context");
	},

	async "the hash allows the client where inline scripts are forbidden"(opened) {
		const always = { ...options, handshake: "always" };
		const allowed = App.open(opened, "bare", { options: always, context: link("/a"), scripts: "{{hash}}" });
		await allowed.until(() => allowed.routes().length, "call");
		const forbidden = App.open(opened, "bare", { options: always, context: link("/a"), scripts: "'self'" });
		await forbidden.loaded;
		await pause(300);
		equal(forbidden.received, [], "messages without the hash");
	},

	async "the client stands before a policy of the page's own"(opened) {
		const app = App.open(opened, "strict", { options: { ...options, handshake: "always" }, context: link("/a") });
		await app.until(() => app.routes().length, "call");
	},
};
