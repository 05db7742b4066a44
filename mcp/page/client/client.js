// The page's side of deep links, model context, messages and display modes for
// an MCP App, spoken to the host over postMessage (MCP Apps, 2026-01-26).
//
// It works in three ways: put into a page by the gateway, copied into a page, or
// imported. It lives beside the page's own bridge: it reads the handshake of
// that as it passes, uses request ids of its own, and takes the answers to them
// off the page. Only in a page that has no bridge does it shake hands itself.
//
// Everything that comes in is checked for its source, its origin and its size;
// nothing is ever evaluated, loaded or sent twice.
//
// @ts-check
/** @import * as API from "./client.d.ts" */

const VERSION = "1.0.0";
const KEY = Symbol.for("mcp-app-page"); // where a document keeps its client
const ATTRIBUTE = "data-mcp-app-page"; // on the script that the gateway puts in
const DEEP_LINK = "openai/deepLink";
const MODEL_CONTEXT = "openai/modelContext";
const MESSAGE = "openai/message";

const MODES = ["inline", "fullscreen", "pip"];
const MAX_PENDING = 32;
const MAX_LISTENERS = 32;
const MAX_TEXT = 16384;
const PACE = 100; // milliseconds from one route to the next
const PATIENCE = 2000; // milliseconds that a loaded page gets to shake hands

/** Errors carry a reason: invalid, denied or unavailable. */
export class PageError extends Error {
	name = "PageError";

	/** @param {API.Reason} reason @param {string} message */
	constructor(reason, message) {
		super(message);
		this.reason = reason;
	}
}

/** @returns {never} */
const fail = (/** @type {API.Reason} */ reason, /** @type {string} */ message) => {
	throw new PageError(reason, message);
};

// ---- Checks -----------------------------------------------------------------

const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029]/u;
const NOT_IN_PATH = /[\p{Cc}\p{Cs}\u2028\u2029\p{Bidi_C}\\#]/u;
const TWICE_ENCODED = /%([\da-f]{2}|u[\da-f]{4})/i;
const HOST_IN_PATH = /^\/(\/|;[^/]*\/)/;
const DOT_SEGMENT = /\/\p{White_Space}*\.\.?\p{White_Space}*([;?/]|$)/u;

/**
 * Tells whether a text is an app-relative URL: the rules of the gateway's
 * package links, proven on the same cases.
 * @type {typeof API.isAppURL}
 */
export function isAppURL(url) {
	if (typeof url !== "string" || url[0] !== "/" || new TextEncoder().encode(url).length > 2048) return false;
	const [path, ...rest] = url.split("?");
	const query = rest.join("?");
	if (/[ #]/.test(url) || NOT_IN_PATH.test(path) || CONTROL.test(query)) return false;
	try {
		const place = decodeURIComponent(path);
		return !CONTROL.test(decodeURIComponent(query)) && !NOT_IN_PATH.test(place) &&
			!TWICE_ENCODED.test(place) && !HOST_IN_PATH.test(place) && !DOT_SEGMENT.test(place);
	} catch {
		return false; // broken percent encoding
	}
}

/** @returns {value is Record<string, any>} */
const isObject = (/** @type {any} */ value) => {
	const proto = typeof value === "object" && value && !Array.isArray(value) ? Object.getPrototypeOf(value) : 0;
	return proto === null || proto === Object.prototype;
};

// bounded tells whether a value is plain data of a size that does no harm.
const bounded = (/** @type {unknown} */ value) => {
	let budget = 131072;
	/** @type {(v: any, depth: number) => boolean} */
	const walk = (v, depth) => {
		if (--budget < 0 || depth > 24) return false;
		if (typeof v === "string") return (budget -= 3 * v.length) >= 0; // a unit takes up to three bytes
		if (typeof v === "number") return Number.isFinite(v);
		if (v == null || typeof v === "boolean") return true;
		if (Array.isArray(v)) return v.length <= 4096 && v.every((item) => walk(item, depth + 1));
		if (!isObject(v)) return false;
		const names = Object.keys(v);
		return names.length <= 1024 && names.every((name) => isName(name) && walk(name, depth) && walk(v[name], depth + 1));
	};
	return walk(value, 0);
};

// isName keeps out what would change an object instead of adding to it.
const isName = (/** @type {string} */ name) => !["__proto__", "constructor", "prototype"].includes(name);

const isText = (/** @type {unknown} */ text, /** @type {number} */ most) =>
	typeof text === "string" && text.length <= most && text.trim() !== "";

const isIcon = (/** @type {any} */ icon) => isObject(icon) &&
	Object.keys(icon).every((name) => ["src", "mimeType", "sizes", "theme"].includes(name)) &&
	isText(icon.src, 2048) && /^(https:\/\/|data:image\/)/i.test(icon.src) &&
	(icon.mimeType === undefined || isText(icon.mimeType, 128)) &&
	(icon.sizes === undefined || Array.isArray(icon.sizes) && icon.sizes.length <= 8 && icon.sizes.every((size) => isText(size, 32))) &&
	[undefined, "light", "dark"].includes(icon.theme);

// textsOf returns the text blocks of a tool result, which are all it may keep.
/** @returns {API.ToolResult["content"]} */
const textsOf = (/** @type {any} */ result) => {
	/** @type {any[]} */
	const blocks = result.content ?? [];
	if (!Array.isArray(blocks) || blocks.length > 128) fail("unavailable", "the result has too many parts");
	/** @type {string[]} */
	const texts = blocks.filter((block) => block?.type === "text" && typeof block.text === "string").map(({ text }) => text);
	if (texts.some((text) => text.length > 32768)) fail("unavailable", "the result is too long");
	return texts.map((text) => ({ type: "text", text }));
};

// ---- The client -------------------------------------------------------------

/** @type {typeof API.connect} */
export function connect(options = {}) {
	const { parent } = window;
	const { navigate: tool, hosts, handshake = "auto" } = options;
	const timeout = Math.min(Math.max(options.timeout ?? 15000, 1), 120000);
	const prefix = `mcp-app-page:${Math.random().toString(36).slice(2)}:`;
	const over = new AbortController(); // aborted by dispose
	/** @type {Map<string, (answer: any) => void>} */
	const pending = new Map();
	/** @type {[string, (params: any) => void][]} */
	const listeners = [];
	/** @type {API.Host | undefined} */
	let host;
	/** @type {string | undefined} */
	let origin; // of the first message accepted, from which all others must come
	let lastId = 0;
	let heard = false; // the host talks to a bridge of the page
	let owner = false; // the handshake is ours, and so is answering the host
	/** @type {ResizeObserver | undefined} */
	let resize;
	/** @type {(host: API.Host) => void} */
	let getReady;
	/** @type {(error: unknown) => void} */
	let giveUp;
	/** @type {Promise<API.Host>} */
	const ready = new Promise((resolve, reject) => { [getReady, giveUp] = [resolve, reject]; });
	ready.catch(() => {}); // nobody has to wait for it

	// -- Messages --

	const post = (/** @type {object} */ message) => {
		const target = origin ?? (hosts?.length === 1 ? hosts[0] : "*");
		parent.postMessage({ jsonrpc: "2.0", ...message }, target === "null" ? "*" : target);
	};

	/** @returns {Promise<any>} */
	const request = (/** @type {string} */ method, /** @type {object} */ params, /** @type {AbortSignal | undefined} */ signal) =>
		new Promise((resolve, reject) => {
			const stop = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
			stop.throwIfAborted();
			if (parent === window) fail("unavailable", "the page has no host");
			if (pending.size >= MAX_PENDING) fail("unavailable", "too many requests wait for an answer");
			if (!bounded(params)) fail("invalid", "the request is too large or no plain data");
			const id = prefix + ++lastId;
			const end = () => {
				pending.delete(id);
				clearTimeout(timer);
				stop.removeEventListener("abort", abort);
			};
			const leave = (/** @type {unknown} */ error) => {
				end();
				post({ method: "notifications/cancelled", params: { requestId: id } });
				reject(error);
			};
			const abort = () => leave(stop.reason);
			const timer = setTimeout(() => leave(new PageError("unavailable", "the host did not answer in time")), timeout);
			stop.addEventListener("abort", abort);
			pending.set(id, ({ error, result }) => {
				end();
				if (isObject(result) && result.isError !== true) return resolve(result);
				const why = error?.message ?? result?.content?.[0]?.text;
				reject(isObject(error) || isObject(result)
					? new PageError("denied", isText(why, 4096) ? why : "the host refused the request")
					: new PageError("unavailable", "the host gave no proper answer"));
			});
			post({ id, method, params });
		});

	const receive = (/** @type {MessageEvent} */ event) => {
		const { data } = event;
		if (!event.isTrusted || event.source !== parent || parent === window || data?.jsonrpc !== "2.0") return;
		if (origin ? event.origin !== origin : hosts?.length && !hosts.includes(event.origin)) return;
		origin = event.origin;
		const { id, method } = data;
		if (typeof method !== "string") {
			if (typeof id === "string" && id.startsWith(prefix)) {
				event.stopImmediatePropagation(); // the page's bridge knows no such id
				pending.get(id)?.(data); // an answer that comes late has no taker
			} else {
				heard = true;
				overhear(data.result);
			}
			return;
		}
		const params = isObject(data.params) ? data.params : {};
		if (id === undefined) {
			heard ||= !owner;
			if (method === "ui/notifications/host-context-changed") learnContext(params);
			notify(method, params);
			return;
		}
		if (owner) {
			const known = method === "ping" || method === "ui/resource-teardown";
			post(known ? { id, result: {} } : { id, error: { code: -32601, message: "Method not found" } });
		}
		if (method === "ui/resource-teardown") client.dispose();
	};

	// A listener's own exception is its own: it is reported as such, and no other
	// part of the client takes notice.
	const notify = (/** @type {string} */ method, /** @type {object} */ params) => {
		const known = listeners.filter(([name]) => name === method);
		if (known.length && bounded(params)) known.forEach(([, listener]) => queueMicrotask(() => listener(params)));
	};

	// -- What the host is and can --

	// overhear takes the answer to the handshake of the page's own bridge, which
	// no other answer looks like: a tool result has content.
	const overhear = (/** @type {any} */ result) => {
		if (!isObject(result) || typeof result.protocolVersion !== "string" || !isObject(result.hostCapabilities) || result.content) return;
		owner = false;
		resize?.disconnect();
		learn({ capabilities: result.hostCapabilities, context: result.hostContext });
	};

	const learn = (/** @type {any} */ { capabilities, context }) => {
		if (host) return;
		host = { capabilities: isObject(capabilities) && bounded(capabilities) ? capabilities : {}, context: {} };
		learnContext(isObject(context) ? context : {});
		getReady(host);
	};

	// Each member is bounded by itself: fonts that are too large for us must not
	// cost the page its deep link.
	const learnContext = (/** @type {Record<string, any>} */ update) => {
		for (const name of Object.keys(update).slice(0, 1024)) {
			if (host && isName(name) && bounded(update[name])) host.context[name] = update[name];
		}
		if (Object.hasOwn(update, DEEP_LINK)) navigate(update[DEEP_LINK]);
	};

	const lists = (/** @type {string} */ extension) => isObject(host?.capabilities.experimental?.[extension]);

	const reportSize = () => {
		const { documentElement } = document;
		resize = new ResizeObserver(() => post({
			method: "ui/notifications/size-changed",
			params: { width: documentElement.scrollWidth, height: documentElement.scrollHeight },
		}));
		resize.observe(documentElement);
	};

	const shakeHands = async () => {
		if (host || over.signal.aborted || heard && handshake === "auto") return;
		owner = true;
		try {
			const { displayModes: availableDisplayModes } = options;
			const result = await request("ui/initialize", {
				protocolVersion: "2026-01-26",
				appInfo: { name: options.name ?? "mcp-app-page", version: VERSION },
				appCapabilities: availableDisplayModes ? { availableDisplayModes } : {},
			}, undefined);
			if (!owner) return; // the page's bridge was faster
			post({ method: "ui/notifications/initialized", params: {} });
			learn({ capabilities: result.hostCapabilities, context: result.hostContext });
			reportSize();
		} catch (error) {
			owner = false;
			giveUp(error);
		}
	};

	// -- Deep links --

	/** @type {string | undefined} */
	let route; // the last one; empty if it was not valid
	let following = new AbortController();
	let waiting = 0; // timer of the route that has not set out yet
	let setOut = -PACE;

	const navigate = (/** @type {any} */ link) => {
		const url = isObject(link) && Object.keys(link).length === 1 && isAppURL(link.url) ? link.url : "";
		if (url === route) return;
		following.abort();
		clearTimeout(waiting);
		route = url;
		if (!url) return refuse({ reason: "invalid", message: "the deep link is not valid" });
		const { signal } = following = new AbortController();
		// Never at once: a bridge that shakes hands must be done with it first. And
		// never faster than a server can bear, however fast links come.
		waiting = setTimeout(() => follow(url, signal), Math.max(0, setOut + PACE - performance.now()));
	};

	const follow = async (/** @type {string} */ url, /** @type {AbortSignal} */ signal) => {
		setOut = performance.now();
		let result;
		try {
			if (tool) {
				if (!isObject(host?.capabilities.serverTools)) fail("unavailable", "the host calls no tools for pages");
				result = await client.callTool(tool, { url }, { signal });
			}
		} catch (error) {
			const { reason = "unavailable", message } = /** @type {PageError} */ (error);
			if (!signal.aborted) refuse({ reason, message, url });
			return;
		}
		if (!signal.aborted) arrive({ url, result });
	};

	// Both call back from a task of their own, so that an exception of the page's
	// is the page's.
	const arrive = (/** @type {API.Arrival} */ detail) => {
		notice?.remove();
		const { onNavigate } = options;
		if (onNavigate) return queueMicrotask(() => onNavigate(detail));
		if (!dispatchEvent(new CustomEvent("mcp-app:navigate", { cancelable: true, detail }))) return;
		const { url } = detail;
		if (options.route === "hash") location.hash = url;
		if (options.route !== "history") return;
		const state = { url };
		try {
			history.pushState(state, "", url);
		} catch {
			history.pushState(state, ""); // a sandboxed page cannot change its address
		}
		dispatchEvent(new PopStateEvent("popstate", { state }));
	};

	const refuse = (/** @type {API.Refusal} */ detail) => {
		notice?.remove();
		const { onRefuse } = options;
		if (onRefuse) return queueMicrotask(() => onRefuse(detail));
		if (!dispatchEvent(new CustomEvent("mcp-app:navigate-refused", { cancelable: true, detail })) || !options.notice) return;
		notice = document.createElement("p");
		notice.setAttribute("role", "alert");
		notice.style.cssText = "margin:0 0 1rem;padding:.5rem 1rem;border:1px solid;border-radius:.25rem;font:1rem/1.5 system-ui,sans-serif";
		notice.textContent = options.notice;
		(document.body ?? document.documentElement).prepend(notice); // it may come before the body
	};

	/** @type {HTMLElement | undefined} */
	let notice;

	/** @type {API.Client} */
	const client = {
		ready,

		get host() {
			return host;
		},

		on(method, listener) {
			if (listeners.length >= MAX_LISTENERS) fail("unavailable", "too many listeners");
			/** @type {[string, (params: any) => void]} */
			const entry = [method, listener];
			listeners.push(entry);
			return () => {
				const at = listeners.indexOf(entry);
				if (at >= 0) listeners.splice(at, 1);
			};
		},

		async callTool(name, args = {}, { signal } = {}) {
			if (typeof name !== "string" || !/^[\w.-]{1,128}$/.test(name)) fail("invalid", "no proper tool name");
			const result = await request("tools/call", { name, arguments: args }, signal);
			const content = textsOf(result);
			const { structuredContent } = result;
			if (!bounded(structuredContent)) fail("unavailable", "the result is too large");
			return { content, structuredContent };
		},

		async updateModelContext({ text, title, thumbnail, background = false, structuredContent }, { signal } = {}) {
			if (text === undefined && structuredContent === undefined || text === undefined && (title ?? thumbnail) !== undefined) {
				fail("invalid", "a context needs text or structured content, and a title or thumbnail needs text");
			}
			if (text !== undefined && !isText(text, MAX_TEXT)) fail("invalid", `text must have 1 to ${MAX_TEXT} characters`);
			if (title !== undefined && !isText(title, 512)) fail("invalid", "a title must have 1 to 512 characters");
			if (thumbnail !== undefined && !isIcon(thumbnail)) fail("invalid", "no proper thumbnail");
			if (structuredContent !== undefined && !isObject(structuredContent)) fail("invalid", "structured content must be an object");
			const kinds = host?.capabilities.updateModelContext;
			const takes = (/** @type {string} */ kind) => !isObject(kinds) || !Object.keys(kinds).length || kind in kinds;
			const send = (/** @type {object | undefined} */ _meta) => {
				/** @type {any} */
				const params = {};
				if (text !== undefined && takes("text")) {
					const annotations = background ? { audience: ["assistant"] } : undefined;
					params.content = [{ type: "text", text, ...annotations && { annotations }, ..._meta && { _meta } }];
				}
				if (structuredContent !== undefined && takes("structuredContent")) params.structuredContent = structuredContent;
				if (!Object.keys(params).length) fail("unavailable", "the host takes no such context");
				return request("ui/update-model-context", params, signal);
			};
			const decorated = title !== undefined || thumbnail !== undefined;
			if (lists(MODEL_CONTEXT) && decorated) {
				try {
					const id = await send({
						...title !== undefined && { "openai/title": title },
						...thumbnail !== undefined && { "openai/thumbnail": thumbnail },
					});
					return updateOf(id);
				} catch (error) {
					// Refused, and so not done: the portable form is another request.
					if (!(error instanceof PageError) || error.reason !== "denied") throw error;
				}
			}
			return updateOf(await send(undefined));
		},

		async sendMessage({ text, target = "active", send = true }, { signal } = {}) {
			if (!isText(text, MAX_TEXT)) fail("invalid", `text must have 1 to ${MAX_TEXT} characters`);
			if (target !== "active" && target !== "new" || typeof send !== "boolean") fail("invalid", "no proper target");
			const special = target === "new" || !send;
			if (special && !lists(MESSAGE)) fail("unavailable", "the host only sends messages to the open conversation");
			const _meta = { [MESSAGE]: { target, send } };
			await request("ui/message", { role: "user", content: [{ type: "text", text }], ...special && { _meta } }, signal);
		},

		async requestDisplayMode(mode, { signal } = {}) {
			const offered = host?.context.availableDisplayModes;
			if (!MODES.includes(mode) || !Array.isArray(offered) || !offered.includes(mode)) return "inline";
			try {
				const result = await request("ui/request-display-mode", { mode }, signal);
				return MODES.includes(result.mode) ? result.mode : "inline";
			} catch (error) {
				if (signal?.aborted) throw error;
				return "inline";
			}
		},

		dispose() {
			if (over.signal.aborted) return;
			removeEventListener("message", receive, true);
			following.abort();
			clearTimeout(waiting);
			resize?.disconnect();
			notice?.remove();
			listeners.length = 0;
			over.abort(new PageError("unavailable", "the client was disposed of"));
			giveUp(over.signal.reason);
			if (own[KEY]?.client === client) delete own[KEY];
		},
	};

	const updateOf = (/** @type {any} */ result) => {
		const { updateId } = result._meta?.[MODEL_CONTEXT] ?? {};
		return isText(updateId, 1024) ? { updateId } : {};
	};

	// -- Begin --

	// A document has one client. A page that brings its own takes over from the
	// one that the gateway put in, with all that is known.
	/** @type {any} */
	const own = window;
	const before = own[KEY]?.state();
	own[KEY]?.client.dispose();
	if (before) ({ owner, heard } = before);
	own[KEY] = { client, state: () => ({ host, owner, heard }) };
	options.signal?.addEventListener("abort", client.dispose);
	if (options.signal?.aborted) client.dispose();
	// Before the page's own listeners, so that answers to us can be taken away.
	else addEventListener("message", receive, true);
	const given = options.host ?? before?.host;
	if (given) {
		learn(given);
		if (owner) reportSize(); // the client before did
	} else if (handshake !== "never") {
		const soon = () => setTimeout(shakeHands, handshake === "always" ? 0 : PATIENCE);
		if (document.readyState === "complete") soon();
		else addEventListener("load", soon, { once: true, signal: over.signal });
	}
	return client;
}

// The gateway writes the options on the script that it puts into a page.
const script = globalThis.document?.currentScript;
const written = script?.getAttribute(ATTRIBUTE);
if (script && written) {
	script.remove(); // the page finds its document as it was
	const client = connect(JSON.parse(written));
	/** @type {any} */ (window).mcpApp ??= client;
}
