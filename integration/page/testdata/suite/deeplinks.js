// How deep links get from the host to the page.
import { App, Refusal, check, equal, held, link, pause } from "/host/host.js";

const connect = { navigate: "open" };
const withCallbacks = { connect, callbacks: true };
const arrivals = (app) => app.saw("arrival").map(({ url }) => url);
const reasons = (app) => app.saw("refusal").map(({ reason }) => reason);

export default {
	async "a link of the handshake goes to the navigate tool and then to the page"(opened) {
		const app = App.open(opened, "import", { settings: withCallbacks, context: link("/decks/1?tab=2") });
		await app.until(() => app.saw("arrival").length, "arrival");
		equal(app.of("tools/call").map(({ params }) => params), [{ name: "open", arguments: { url: "/decks/1?tab=2" } }], "calls");
		equal(app.saw("arrival"), [{ url: "/decks/1?tab=2", result: { content: [], structuredContent: { opened: "/decks/1?tab=2" } } }], "arrivals");
		const order = app.received.map(({ method }) => method).filter((method) => !method?.includes("size"));
		equal(order, ["ui/initialize", "ui/notifications/initialized", "tools/call"], "order of messages");
	},

	async "a link that changes is followed, other changes of the context are not"(opened) {
		const app = App.open(opened, "import", { settings: withCallbacks });
		await app.until(() => app.of("ui/notifications/initialized").length, "handshake");
		app.change({ theme: "dark" });
		app.change({ ...link("/a"), theme: "light" });
		await app.until(() => arrivals(app).length, "arrival");
		app.change({ theme: "dark" });
		await app.quiet();
		equal(app.routes(), ["/a"], "routes");
		equal((await app.ask("state")).host.context.theme, "dark", "theme");
	},

	async "the same link again is not followed again"(opened) {
		const app = App.open(opened, "import", { settings: withCallbacks, context: link("/a") });
		await app.until(() => arrivals(app).length, "arrival");
		app.change(link("/a"));
		app.change(link("/a"));
		await app.quiet();
		app.change(link("/b"));
		await app.until(() => arrivals(app).length === 2, "second arrival");
		app.change(link("/a"));
		await app.until(() => arrivals(app).length === 3, "third arrival");
		equal(app.routes(), ["/a", "/b", "/a"], "routes");
	},

	async "a link is followed again after one that is not valid"(opened) {
		const app = App.open(opened, "import", { settings: withCallbacks, context: link("/a") });
		await app.until(() => arrivals(app).length, "arrival");
		app.change(link("//evil.example"));
		app.change(link("//evil.example"));
		app.change(link("/a"));
		await app.until(() => arrivals(app).length === 2, "second arrival");
		equal(app.routes(), ["/a", "/a"], "routes");
		equal(app.saw("refusal"), [{ reason: "invalid", message: "the deep link is not valid" }], "refusals");
	},

	async "every form that is not a closed object with a valid URL is invalid"(opened) {
		const app = App.open(opened, "import", { settings: withCallbacks });
		await app.until(() => app.of("ui/notifications/initialized").length, "handshake");
		const bad = [null, "/a", ["/a"], {}, { url: 7 }, { url: "/a", tenant: "b" }, { URL: "/a" }, { url: "/a#b" }, { url: "/../a" }];
		for (const [i, value] of bad.entries()) {
			app.change({ "openai/deepLink": value });
			await app.until(() => reasons(app).length === i + 1, `refusal of ${JSON.stringify(value)}`);
			app.change(link(`/between/${i}`));
			await app.until(() => arrivals(app).length === i + 1, "arrival in between");
		}
		equal(reasons(app), bad.map(() => "invalid"), "reasons");
	},

	async "a new link cancels the old one, and the late answer to that is ignored"(opened) {
		const calls = [];
		const app = App.open(opened, "import", {
			settings: withCallbacks, context: link("/slow"),
			handlers: { "tools/call": (message) => { calls.push(message); return held; } },
		});
		await app.until(() => calls.length === 1, "first call");
		app.change(link("/quick"));
		await app.until(() => calls.length === 2, "second call");
		equal(app.of("notifications/cancelled").map(({ params }) => params.requestId), [calls[0].id], "cancelled");
		app.answer(calls[0], { content: [], structuredContent: { late: true } });
		app.answer(calls[1], { content: [], structuredContent: { late: false } });
		app.answer(calls[1], { content: [], structuredContent: { twice: true } });
		await app.until(() => arrivals(app).length, "arrival");
		await app.quiet();
		equal(app.saw("arrival").map(({ result }) => result.structuredContent), [{ late: false }], "arrivals");
		equal(reasons(app), [], "refusals");
	},

	async "a link that is not valid cancels the one on its way"(opened) {
		const app = App.open(opened, "import", { settings: withCallbacks, context: link("/slow"), handlers: { "tools/call": () => held } });
		await app.until(() => app.routes().length, "call");
		app.change(link("nowhere"));
		await app.until(() => reasons(app).length, "refusal");
		app.answer(app.of("tools/call")[0], { content: [] });
		await app.quiet();
		equal([arrivals(app), reasons(app)], [[], ["invalid"]], "arrivals and refusals");
	},

	async "denied, invalid and unavailable are told apart"(opened) {
		const app = App.open(opened, "import", {
			settings: { connect: { ...connect, timeout: 500 }, callbacks: true },
			handlers: {
				"tools/call": ({ params }) => {
					switch (params.arguments.url) {
						case "/error": throw new Refusal("unknown tool");
						case "/isError": return { isError: true, content: [{ type: "text", text: "not yours" }] };
						case "/silence": return held;
						case "/odd": return "done";
						case "/large": return { content: [], structuredContent: { a: "x".repeat(50000) } };
						case "/long": return { content: [{ type: "text", text: "x".repeat(32769) }] };
						case "/parts": return { content: Array(129).fill({ type: "text", text: "" }) };
					}
				},
			},
		});
		await app.until(() => app.of("ui/notifications/initialized").length, "handshake");
		const cases = {
			"/error": "denied", "/isError": "denied", "/silence": "unavailable", "/odd": "unavailable",
			"/large": "unavailable", "/long": "unavailable", "/parts": "unavailable", "/in valid": "invalid",
		};
		for (const [i, url] of Object.keys(cases).entries()) {
			app.change(link(url));
			await app.until(() => reasons(app).length === i + 1, `refusal of ${url}`);
		}
		equal(reasons(app), Object.values(cases), "reasons");
		equal(app.saw("refusal").slice(0, 2).map(({ message, url }) => [url, message]), [["/error", "unknown tool"], ["/isError", "not yours"]], "messages");
		equal(arrivals(app), [], "arrivals");
		equal(app.routes().length, 7, "number of calls, none of them repeated");
	},

	async "a host that calls no tools makes links unavailable"(opened) {
		const app = App.open(opened, "import", { settings: withCallbacks, context: link("/a"), hostCapabilities: {} });
		await app.until(() => reasons(app).length, "refusal");
		equal([app.saw("refusal")[0].reason, app.saw("refusal")[0].url, app.routes()], ["unavailable", "/a", []], "refusal");
	},

	async "exceptions of the page's callbacks are the page's, and no refusals"(opened) {
		const app = App.open(opened, "import", {
			settings: { ...withCallbacks, throwAt: "/a" }, context: link("/a"), expect: ["the page's own mistake"],
		});
		await app.until(() => app.saw("error").length, "exception");
		app.change(link("/b"));
		await app.until(() => arrivals(app).length === 2, "next arrival");
		equal([arrivals(app), reasons(app)], [["/a", "/b"], []], "arrivals and refusals");
		app.handlers["tools/call"] = () => { throw new Refusal("no"); };
		app.change(link("/a"));
		await app.until(() => app.saw("error").length === 2, "second exception");
		equal(app.saw("error"), Array(2).fill("Uncaught Error: the page's own mistake"), "reports of exceptions");
		equal(reasons(app), ["denied"], "refusals");
	},

	async "without a navigate tool a link goes to the page as it is"(opened) {
		const app = App.open(opened, "import", { settings: { callbacks: true }, context: link("/a"), hostCapabilities: {} });
		await app.until(() => arrivals(app).length, "arrival");
		equal([app.saw("arrival"), app.routes()], [[{ url: "/a" }], []], "arrival");
	},

	async "a flood of links makes few calls, and the last one wins"(opened) {
		const app = App.open(opened, "import", { settings: withCallbacks });
		await app.until(() => app.of("ui/notifications/initialized").length, "handshake");
		const start = performance.now();
		for (let i = 0; i < 3000; i++) {
			app.change(link(`/flood/${i}`));
			if (i % 20 === 0) await pause(2); // as fast as it goes, but not all at once
		}
		app.change(link("/last"));
		await app.until(() => arrivals(app).includes("/last"), "last link");
		const most = Math.ceil((performance.now() - start) / 100) + 1;
		check(app.routes().length <= most, `${app.routes().length} calls, want at most ${most}`);
		equal(arrivals(app).at(-1), "/last", "last arrival");
		for (let i = 0; i < 3000; i++) app.change(link("not valid"));
		await app.quiet();
		equal(reasons(app), ["invalid"], "refusals");
	},

	async "what else is in the context cannot cost the page its link"(opened) {
		const app = App.open(opened, "import", {
			settings: withCallbacks,
			context: { styles: { css: { fonts: "x".repeat(200000) } }, ...link("/a"), when: new Date(0), userAgent: "synthetic" },
		});
		await app.until(() => arrivals(app).length, "arrival");
		const { context } = (await app.ask("state")).host;
		equal([context.styles, context.when, context.userAgent], [undefined, undefined, "synthetic"], "context");
	},
};
