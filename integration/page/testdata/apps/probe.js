// Lets a test look into an app, beside the bridge.
{
	const report = (probe, detail, answer) => parent.postMessage({ probe, detail, answer }, "*");
	const client = () => window.client ?? window.mcpApp;
	const signals = new Map();
	const settings = JSON.parse(document.documentElement.dataset.settings || "{}");

	addEventListener("error", ({ message }) => report("error", message));
	addEventListener("unhandledrejection", ({ reason }) => report("error", `unhandled ${reason}`));
	addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => report("violation", `${violatedDirective} ${blockedURI}`));
	for (const name of ["mcp-app:navigate", "mcp-app:navigate-refused"]) {
		addEventListener(name, (event) => {
			report(name, event.detail);
			if (settings.cancel) event.preventDefault();
		});
	}
	addEventListener("hashchange", () => report("hashchange", location.hash));
	addEventListener("popstate", ({ state }) => report("popstate", state));

	const deeds = {
		state: () => ({
			hash: location.hash,
			state: history.state,
			text: document.body.innerText,
			alerts: document.querySelectorAll("[role=alert]").length,
			scripts: [...document.scripts].filter((script) => Object.keys(script.dataset).length).length,
			host: client()?.host,
			head: document.head.firstElementChild?.localName,
		}),
		// call calls a method of the client; a key names the signal to abort it by.
		call: (method, args, key) => {
			if (!key) return client()[method](...args);
			signals.set(key, signals.get(key) ?? new AbortController());
			return client()[method](...args, { signal: signals.get(key).signal });
		},
		abort: (key) => {
			signals.set(key, signals.get(key) ?? new AbortController());
			signals.get(key).abort();
		},
		dispose: () => client().dispose(),
		// Values that are no plain data cannot come in a message.
		callWith: (kind) => {
			let deep = null;
			for (let i = 0; i < 30; i++) deep = { a: deep };
			const values = {
				date: new Date(), map: new Map(), instance: new (class A {})(), infinite: 1 / 0, deep,
				long: "x".repeat(50000), wide: Array(5000).fill(0), many: Object.fromEntries(Array.from({ length: 1100 }, (_, i) => [`k${i}`, 0])),
				proto: JSON.parse('{"__proto__":{"a":1}}'), constructor: { constructor: 1 }, symbol: Symbol("s"), fine: { a: [1, "x", null, true] },
			};
			return client().callTool("tool", { value: values[kind] });
		},
		listen: (method) => {
			const off = client().on(method, (params) => report(`heard ${method}`, params));
			signals.set(`listener ${method}`, { abort: off });
		},
		listenBadly: (method) => void client().on(method, () => { throw new Error("bad listener"); }),
		listenTooMuch: () => {
			for (let i = 0; i < 40; i++) client().on("x", () => {});
		},
		spoofSelf: (message) => window.postMessage(message, "*"),
		spoofEvent: (message, origin) => void dispatchEvent(new MessageEvent("message", { data: message, source: parent, origin })),
		spoofChild: (message) => {
			const frame = document.createElement("iframe");
			frame.srcdoc = `<script>parent.postMessage(${JSON.stringify(message)}, "*")</scr` + "ipt>";
			document.body.append(frame);
			return new Promise((resolve) => { frame.onload = () => setTimeout(resolve, 50); });
		},
		// spoofSiblings sends to every other frame of the host.
		spoofSiblings: (message) => {
			for (let i = 0; i < parent.length; i++) if (parent[i] !== window) parent[i].postMessage(message, "*");
		},
		timers: () => window.timers,
		take: () => window.take(),
	};

	addEventListener("message", async ({ source, data }) => {
		if (source !== parent || typeof data?.ask !== "string") return;
		let detail;
		try {
			detail = { value: await deeds[data.ask](...data.args) };
		} catch (error) {
			detail = { error: { name: error.name, message: error.message, reason: error.reason } };
		}
		report("answer", detail, data.id);
	});
}
