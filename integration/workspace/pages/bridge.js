// The page's side of MCP Apps: JSON-RPC with the host over postMessage.
const host = (() => {
	const waiting = new Map(); // id of our request -> its promise
	const listeners = new Map(); // method of a notification -> function
	let lastId = 0;

	// The host's origin differs per host and is not told, hence "*". A page
	// sends nothing that the host did not give it.
	const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

	function request(method, params) {
		const id = ++lastId;
		send({ id, method, params });
		return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
	}

	function answer({ id, method }) {
		if (method === "ping" || method === "ui/resource-teardown") {
			send({ id, result: {} });
		} else {
			send({ id, error: { code: -32601, message: "Method not found" } });
		}
	}

	window.addEventListener("message", ({ source, data }) => {
		if (source !== window.parent || data?.jsonrpc !== "2.0") return;
		if (data.method !== undefined) {
			if (data.id !== undefined) answer(data);
			else listeners.get(data.method)?.(data.params ?? {});
			return;
		}
		const promise = waiting.get(data.id);
		if (!promise) return;
		waiting.delete(data.id);
		if (data.error) promise.reject(new Error(data.error.message));
		else promise.resolve(data.result);
	});

	function reportSize() {
		const { scrollWidth: width, scrollHeight: height } = document.documentElement;
		send({ method: "ui/notifications/size-changed", params: { width, height } });
	}

	function useContext({ theme } = {}) {
		if (theme) document.documentElement.dataset.theme = theme;
	}

	return {
		// connect does the handshake; render gets the structured content of the
		// tool result that opened the page.
		async connect(name, render) {
			listeners.set("ui/notifications/tool-result", ({ structuredContent }) => {
				if (structuredContent) render(structuredContent);
			});
			listeners.set("ui/notifications/host-context-changed", useContext);
			const { hostContext } = await request("ui/initialize", {
				protocolVersion: "2026-01-26",
				appInfo: { name, version: "1.0.0" },
				appCapabilities: {},
			});
			useContext(hostContext);
			send({ method: "ui/notifications/initialized", params: {} });
			new ResizeObserver(reportSize).observe(document.documentElement);
		},

		// call calls a tool of this page's own server and returns its structured
		// content. A tool error is thrown with its text.
		async call(name, args = {}) {
			const result = await request("tools/call", { name, arguments: args });
			if (result.isError) throw new Error(refusal(result.content?.[0]?.text ?? "The tool failed."));
			return result.structuredContent;
		},
	};
})();
