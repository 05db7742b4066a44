// What a page asks of the host: context, messages, display modes, tools.
import { App, Refusal, capabilities, check, equal, extended, held, pause, refused } from "/host/host.js";

const contexts = (app) => app.of("ui/update-model-context").map(({ params }) => params);
const messages = (app) => app.of("ui/message").map(({ params }) => params);
const icon = { src: "https://example.com/a.png", mimeType: "image/png", sizes: ["20x20"], theme: "dark" };

// open waits until the client has shaken hands.
async function open(opened, more = {}) {
	const app = App.open(opened, "import", { hostCapabilities: extended, ...more });
	await app.until(async () => app.of("ui/notifications/initialized").length && (await app.ask("state")).host, "handshake");
	return app;
}

export default {
	async "context goes out with title, thumbnail and audience where the host lists it"(opened) {
		const app = await open(opened, { handlers: { "ui/update-model-context": () => ({ _meta: { "openai/modelContext": { updateId: "u1" } } }) } });
		const context = { text: "Deck 1 is open", title: "Deck 1", thumbnail: icon, background: true, structuredContent: { deck: 1 } };
		equal(await app.ask("call", "updateModelContext", [context]), { updateId: "u1" }, "answer");
		equal(contexts(app), [{
			content: [{
				type: "text", text: "Deck 1 is open",
				annotations: { audience: ["assistant"] },
				_meta: { "openai/title": "Deck 1", "openai/thumbnail": icon },
			}],
			structuredContent: { deck: 1 },
		}], "requests");
	},

	async "context goes out in portable form where the host does not list it"(opened) {
		const app = await open(opened, { hostCapabilities: capabilities });
		equal(await app.ask("call", "updateModelContext", [{ text: "t", title: "T", thumbnail: icon, structuredContent: {} }]), {}, "answer");
		equal(contexts(app), [{ content: [{ type: "text", text: "t" }], structuredContent: {} }], "requests");
	},

	async "refused decoration falls back to the portable form, silence does not"(opened) {
		let refuse = ({ params }) => { if (params.content[0]._meta) throw new Refusal("no titles"); return {}; };
		const app = await open(opened, { settings: { connect: { timeout: 500 } }, handlers: { "ui/update-model-context": (message) => refuse(message) } });
		await app.ask("call", "updateModelContext", [{ text: "t", title: "T" }]);
		equal(contexts(app).map(({ content }) => "_meta" in content[0]), [true, false], "decorated");
		await app.ask("call", "updateModelContext", [{ text: "plain" }]);
		equal(contexts(app).length, 3, "requests");
		refuse = () => { throw new Refusal("never"); };
		await refused(app.ask("call", "updateModelContext", [{ text: "plain" }]), "denied", "a plain context");
		equal(contexts(app).length, 4, "requests after a refusal of the plain form");
		refuse = () => held;
		await refused(app.ask("call", "updateModelContext", [{ text: "t", title: "T" }]), "unavailable", "silence");
		equal(contexts(app).length, 5, "requests after silence");
	},

	async "an aborted context is not sent again in another form"(opened) {
		const app = await open(opened, { handlers: { "ui/update-model-context": () => held } });
		const outcome = app.ask("call", "updateModelContext", [{ text: "t", title: "T" }], "k").catch(({ name }) => name);
		await app.until(() => contexts(app).length, "request");
		await app.ask("abort", "k");
		equal(await outcome, "AbortError", "outcome");
		app.post({ id: app.of("ui/update-model-context")[0].id, error: { code: 1, message: "late" } });
		await app.quiet();
		equal(contexts(app).length, 1, "requests");
	},

	async "values of a context are bounded, and nothing is sent of others"(opened) {
		const app = await open(opened);
		const bad = [
			{}, { title: "T" }, { title: "T", structuredContent: {} }, { text: "" }, { text: " \n" }, { text: "x".repeat(16385) }, { text: 7 },
			{ text: "t", title: "" }, { text: "t", title: "x".repeat(513) }, { text: "t", thumbnail: "https://example.com/a.png" },
			{ text: "t", thumbnail: { src: "javascript:alert(1)" } }, { text: "t", thumbnail: { src: "http://example.com/a.png" } },
			{ text: "t", thumbnail: { src: `https://example.com/${"x".repeat(2048)}` } }, { text: "t", thumbnail: { ...icon, alt: "a" } },
			{ text: "t", thumbnail: { ...icon, sizes: Array(9).fill("1x1") } }, { text: "t", thumbnail: { ...icon, theme: "blue" } },
			{ structuredContent: [] }, { structuredContent: "x" }, { structuredContent: { a: "x".repeat(50000) } },
		];
		for (const context of bad) {
			await refused(app.ask("call", "updateModelContext", [context]), "invalid", JSON.stringify(context).slice(0, 80));
		}
		equal(contexts(app), [], "requests");
		await app.ask("call", "updateModelContext", [{ text: "x".repeat(16384), title: "x".repeat(512), thumbnail: { src: "data:image/png;base64,AA==" } }]);
		equal(contexts(app).length, 1, "requests at the limits");
	},

	async "context of a kind that the host does not take is left out"(opened) {
		const app = await open(opened, { hostCapabilities: { updateModelContext: { text: {} } } });
		await app.ask("call", "updateModelContext", [{ text: "t", structuredContent: { a: 1 } }]);
		equal(contexts(app), [{ content: [{ type: "text", text: "t" }] }], "requests");
		await refused(app.ask("call", "updateModelContext", [{ structuredContent: { a: 1 } }]), "unavailable", "nothing left");
		equal(contexts(app).length, 1, "requests");
	},

	async "a plain message carries nothing of an extension"(opened) {
		const app = await open(opened);
		await app.ask("call", "sendMessage", [{ text: "Hello" }]);
		await app.ask("call", "sendMessage", [{ text: "Hello", target: "active", send: true }]);
		const plain = { role: "user", content: [{ type: "text", text: "Hello" }] };
		equal(messages(app), [plain, plain], "messages");
	},

	async "messages for a new conversation and for the composer say so"(opened) {
		const app = await open(opened);
		await app.ask("call", "sendMessage", [{ text: "a", target: "new" }]);
		await app.ask("call", "sendMessage", [{ text: "b", send: false }]);
		await app.ask("call", "sendMessage", [{ text: "c", target: "new", send: false }]);
		equal(messages(app).map(({ _meta }) => _meta["openai/message"]),
			[{ target: "new", send: true }, { target: "active", send: false }, { target: "new", send: false }], "targets");
	},

	async "messages that the host does not know are refused before anything is sent"(opened) {
		const app = await open(opened, { hostCapabilities: capabilities });
		await refused(app.ask("call", "sendMessage", [{ text: "a", target: "new" }]), "unavailable", "target new");
		await refused(app.ask("call", "sendMessage", [{ text: "a", send: false }]), "unavailable", "send false");
		for (const bad of [{ text: "" }, { text: "x".repeat(16385) }, { text: "a", target: "old" }, { text: "a", send: 1 }, {}]) {
			await refused(app.ask("call", "sendMessage", [bad]), "invalid", JSON.stringify(bad).slice(0, 60));
		}
		equal(messages(app), [], "messages");
	},

	async "a message is sent once, whatever becomes of it"(opened) {
		let answer = () => { throw new Refusal("no"); };
		const app = await open(opened, { settings: { connect: { timeout: 500 } }, handlers: { "ui/message": () => answer() } });
		await refused(app.ask("call", "sendMessage", [{ text: "a" }]), "denied", "an error");
		answer = () => ({ isError: true });
		await refused(app.ask("call", "sendMessage", [{ text: "b", target: "new" }]), "denied", "isError");
		answer = () => held;
		await refused(app.ask("call", "sendMessage", [{ text: "c" }]), "unavailable", "silence");
		await app.quiet();
		equal(messages(app).map(({ content }) => content[0].text), ["a", "b", "c"], "messages");
	},

	async "abort is respected before and after sending"(opened) {
		const app = await open(opened, { handlers: { "ui/message": () => held } });
		await app.ask("abort", "before");
		equal(await app.ask("call", "sendMessage", [{ text: "a" }], "before").catch(({ name }) => name), "AbortError", "outcome");
		equal(messages(app), [], "messages");
		const outcome = app.ask("call", "sendMessage", [{ text: "b" }], "after").catch(({ name }) => name);
		await app.until(() => messages(app).length, "message");
		await app.ask("abort", "after");
		equal(await outcome, "AbortError", "outcome");
		equal(app.of("notifications/cancelled").map(({ params }) => params.requestId), [app.of("ui/message")[0].id], "cancelled");
		app.answer(app.of("ui/message")[0], {});
		await app.quiet();
		equal(app.saw("error"), [], "errors after the late answer");
	},

	async "display modes are asked for where the host has them, and inline otherwise"(opened) {
		let answer = ({ params }) => ({ mode: params.mode });
		const app = await open(opened, { settings: { connect: { timeout: 500 } }, handlers: { "ui/request-display-mode": (message) => answer(message) } });
		const ask = (mode) => app.ask("call", "requestDisplayMode", [mode]);
		const asked = () => app.of("ui/request-display-mode").map(({ params }) => params.mode);
		equal([await ask("fullscreen"), await ask("inline")], ["fullscreen", "inline"], "granted");
		equal([await ask("pip"), await ask("wide"), await ask(7)], ["inline", "inline", "inline"], "not offered");
		equal(asked(), ["fullscreen", "inline"], "requests");
		for (const odd of [() => ({ mode: "wide" }), () => ({}), () => "fullscreen", () => { throw new Refusal("no"); }, () => held]) {
			answer = odd;
			equal(await ask("fullscreen"), "inline", `answer for ${odd}`);
		}
		answer = () => ({ mode: "pip" });
		equal(await ask("fullscreen"), "pip", "another mode");
		app.change({ availableDisplayModes: ["inline"] });
		await app.quiet();
		const before = asked().length;
		equal([await ask("fullscreen"), asked().length], ["inline", before], "no longer offered");
	},

	async "a host that is not ready is not asked for display modes"(opened) {
		const app = App.open(opened, "import", { handlers: { "ui/initialize": () => held } });
		await app.until(() => app.of("ui/initialize").length, "handshake");
		equal(await app.ask("call", "requestDisplayMode", ["fullscreen"]), "inline", "mode");
		equal(app.of("ui/request-display-mode"), [], "requests");
		equal((await app.ask("state")).host, undefined, "host");
	},

	async "tools are called with plain data of a size that does no harm"(opened) {
		const app = await open(opened, { handlers: { "tools/call": ({ params }) => ({ content: [{ type: "text", text: "a" }, { type: "image", data: "", mimeType: "image/png" }], structuredContent: params }) } });
		equal(await app.ask("call", "callTool", ["a.b_c-D", { x: 1 }]),
			{ content: [{ type: "text", text: "a" }], structuredContent: { name: "a.b_c-D", arguments: { x: 1 } } }, "result");
		for (const name of ["", "a b", "x".repeat(129), "a/b", 7, null]) {
			await refused(app.ask("call", "callTool", [name]), "invalid", `tool ${name}`);
		}
		for (const kind of ["date", "map", "instance", "infinite", "deep", "long", "wide", "many", "proto", "constructor", "symbol"]) {
			await refused(app.ask("callWith", kind), "invalid", kind);
		}
		await app.ask("callWith", "fine");
		equal(app.of("tools/call").length, 2, "calls");
	},

	async "requests wait 15 seconds, and 32 of them at most"(opened) {
		const app = await open(opened, { handlers: { "tools/call": () => held } });
		const outcomes = Array.from({ length: 33 }, () => app.ask("call", "callTool", ["tool"]).then(() => "answered", ({ reason }) => reason));
		await app.until(() => app.of("tools/call").length === 32, "32 calls");
		equal(await outcomes[32], "unavailable", "the 33rd");
		check((await app.ask("timers")).filter((ms) => ms === 15000).length >= 33, "not every request waits 15 seconds");
		app.answer(app.of("tools/call")[0], { content: [] });
		equal(await outcomes[0], "answered", "the first");
		const next = app.ask("call", "callTool", ["tool"]).catch(() => {});
		await app.until(() => app.of("tools/call").length === 33, "a place that became free");
		await app.ask("dispose");
		equal([await outcomes[1], await outcomes[31]], ["unavailable", "unavailable"], "those that wait when the client ends");
		await next;
	},

	async "timeouts have a lower and an upper limit"(opened) {
		for (const [timeout, want] of [[0, 1], [1e9, 120000]]) {
			const app = App.open(opened, "import", { settings: { connect: { timeout } }, handlers: { "ui/initialize": () => held } });
			await app.until(() => app.of("ui/initialize").length, "handshake");
			await pause(20);
			check((await app.ask("timers")).includes(want), `timeout ${timeout} does not become ${want}`);
		}
	},
};
