// A host of MCP Apps (2026-01-26) that does as a test tells it: it opens an app
// in a sandboxed frame of another origin, answers its requests, and keeps what
// it hears.

const limit = 10000; // milliseconds in which anything that should happen does
const apps = new Map(); // window of a frame -> its App

addEventListener("message", (event) => apps.get(event.source)?.receive(event));

export const capabilities = { serverTools: {}, updateModelContext: { text: {}, structuredContent: {} } };
export const extended = { ...capabilities, experimental: { "openai/modelContext": {}, "openai/message": {} } };
export const link = (url) => ({ "openai/deepLink": { url } });

// Held is what a handler returns that answers later, or never.
export const held = Symbol("held");

// Refusal is thrown by a handler that answers with an error.
export class Refusal extends Error {}

export class App {
	received = []; // JSON-RPC messages
	reports = []; // what the probe in the app saw
	handlers = {
		"ui/initialize": () => this.welcome,
		"tools/call": ({ params }) => ({ content: [], structuredContent: { opened: params.arguments.url } }),
		"ui/update-model-context": () => ({}),
		"ui/message": () => ({}),
	};

	#answers = new Map();
	#lastId = 0;

	// open shows a page of testdata/apps. Options are those of the gateway's
	// configuration, and null where it puts nothing in. A page comes with an address
	// and the default policy, or in srcdoc with neither.
	static open(opened, name, { options = null, settings = {}, context = {}, hostCapabilities = capabilities, handlers = {}, expect = [], srcdoc = false, scripts = "" } = {}) {
		const app = new App();
		opened.push(app);
		app.expect = expect; // problems that belong to the scenario
		app.welcome = {
			protocolVersion: "2026-01-26",
			hostInfo: { name: "synthetic", version: "1.0.0" },
			hostCapabilities,
			hostContext: { theme: "light", availableDisplayModes: ["inline", "fullscreen"], ...context },
		};
		Object.assign(app.handlers, handlers);
		app.frame = document.createElement("iframe");
		app.frame.setAttribute("sandbox", "allow-scripts");
		const address = new URL(`/app/${name}`, document.documentElement.dataset.apps);
		if (options) address.searchParams.set("options", JSON.stringify(options));
		if (scripts) address.searchParams.set("scripts", scripts);
		address.searchParams.set("settings", JSON.stringify(settings));
		if (srcdoc) fetch(address).then((answer) => answer.text()).then((text) => { app.frame.srcdoc = text; });
		else app.frame.src = address;
		app.loaded = new Promise((resolve) => app.frame.addEventListener("load", resolve, { once: true }));
		document.body.append(app.frame);
		apps.set(app.frame.contentWindow, app);
		return app;
	}

	close() {
		apps.delete(this.frame.contentWindow);
		this.frame.remove();
	}

	async receive({ data, origin }) {
		if (data.probe !== undefined) {
			this.reports.push(data);
			this.#answers.get(data.answer)?.(data.detail);
			return;
		}
		this.received.push(data);
		if (origin !== "null") throw new Error("the app is not sandboxed");
		if (data.id === undefined || data.method === undefined) return;
		const handler = this.handlers[data.method];
		try {
			if (!handler) throw new Refusal("Method not found");
			const result = await handler(data);
			if (result !== held) this.answer(data, result);
		} catch (error) {
			this.post({ id: data.id, error: { code: -32000, message: error.message } });
		}
	}

	post(message) {
		this.frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
	}

	answer({ id }, result) {
		this.post({ id, result });
	}

	notify(method, params = {}) {
		this.post({ method, params });
	}

	change(context) {
		this.notify("ui/notifications/host-context-changed", context);
	}

	// of returns what was received of a method.
	of(method) {
		return this.received.filter((message) => message.method === method);
	}

	// routes returns the URLs that the navigate tool was called with.
	routes() {
		return this.of("tools/call").map(({ params }) => params.arguments.url);
	}

	// saw returns what the probe reported of a kind.
	saw(kind) {
		return this.reports.filter(({ probe }) => probe === kind).map(({ detail }) => detail);
	}

	// ask has the probe do something in the app and returns the outcome.
	async ask(what, ...args) {
		await this.loaded;
		const id = ++this.#lastId;
		this.frame.contentWindow.postMessage({ ask: what, id, args }, "*");
		return new Promise((resolve, reject) => {
			setTimeout(reject, limit, new Error(`the probe does not answer ${what}`));
			this.#answers.set(id, ({ value, error }) => (error ? reject(Object.assign(new Error(error.message), error)) : resolve(value)));
		});
	}

	until(condition, what) {
		return until(condition, `${what}`);
	}

	// quiet waits as long as anything that was set off would take to happen: past
	// the pace of routes, and there and back again.
	async quiet() {
		await pause(150);
		await this.ask("state");
		await pause(20);
	}

	// checkClean fails for what no app may cause: exceptions, policy violations.
	checkClean() {
		for (const kind of ["error", "violation"]) {
			const bad = this.saw(kind).filter((text) => !this.expect.some((known) => text.includes(known)));
			check(bad.length === 0, `the app reports ${kind}: ${bad}`);
		}
	}

	log() {
		return JSON.stringify({ received: this.received, reports: this.reports }).slice(0, 4000);
	}
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(condition, what) {
	for (const start = performance.now(); performance.now() - start < limit; await pause(5)) {
		if (await condition()) return;
	}
	throw new Error(`in vain waited for: ${what}`);
}

export function check(ok, what) {
	if (!ok) throw new Error(what);
}

export function equal(got, want, what) {
	const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
	if (a !== b) throw new Error(`${what}: got ${a}, want ${b}`);
}

// refused awaits a rejection and checks why.
export async function refused(promise, reason, what) {
	const outcome = await promise.then((value) => ({ value }), (error) => error);
	if (outcome.reason !== reason) throw new Error(`${what}: got ${JSON.stringify(outcome.value ?? `${outcome.name} ${outcome.reason} ${outcome.message}`)}, want ${reason}`);
}
