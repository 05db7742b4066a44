/**
 * The page's side of deep links, model context, messages and display modes for
 * an MCP App.
 */

/**
 * Why something did not happen: it was not valid and nothing was sent; the host
 * or the server refused it; or there was nobody who could do it, in time.
 */
export type Reason = "invalid" | "denied" | "unavailable";

export type DisplayMode = "inline" | "fullscreen" | "pip";

export interface Host {
	/** The hostCapabilities of the handshake. */
	capabilities: Record<string, any>;
	/** The hostContext of the handshake with all changes since. */
	context: Record<string, any>;
}

/** A deep link that was followed. */
export interface Arrival {
	/** The app-relative URL, such as "/decks/42?tab=2". */
	url: string;
	/** What the navigate tool answered; undefined without such a tool. */
	result?: ToolResult;
}

/** A deep link that was not followed. */
export interface Refusal {
	reason: Reason;
	message: string;
	/** Absent if it was not valid: then it is not safe to show. */
	url?: string;
}

export interface ToolResult {
	/** The text blocks of the result. */
	content: { type: "text"; text: string }[];
	structuredContent?: any;
}

export interface Options {
	/**
	 * The tool that deep links are given to as {url}, before the page hears of
	 * them. Without one, links go to the page as they are.
	 */
	navigate?: string;

	/**
	 * Called with each deep link that was followed. Without it the window gets a
	 * cancelable event "mcp-app:navigate" with the same as its detail.
	 */
	onNavigate?: (arrival: Arrival) => void;

	/**
	 * Called with each deep link that was not. Without it the window gets a
	 * cancelable event "mcp-app:navigate-refused" with the same as its detail.
	 */
	onRefuse?: (refusal: Refusal) => void;

	/**
	 * What is done for a router when nobody cancels "mcp-app:navigate": nothing
	 * (default), set location.hash, or push a history entry and dispatch popstate.
	 */
	route?: "event" | "hash" | "history";

	/** Shown above the page when a link was refused and nobody cancelled the event. */
	notice?: string;

	/**
	 * Who shakes hands with the host: the page's own bridge, or if there is none
	 * within two seconds after loading, the client (auto, default); always the client;
	 * never the client.
	 */
	handshake?: "auto" | "always" | "never";

	/** The origins that may be the host. Default: any that embeds the page. */
	hosts?: string[];

	/** What is known of the host, for a client that begins after the handshake. */
	host?: { capabilities?: object; context?: object };

	/** The name told in a handshake of the client's own. */
	name?: string;

	/** The display modes told in a handshake of the client's own. */
	displayModes?: DisplayMode[];

	/** Milliseconds until a request fails, 1 to 120000. Default: 15000. */
	timeout?: number;

	/** Ends the client, as dispose does. */
	signal?: AbortSignal;
}

export interface RequestOptions {
	/** Gives the request up; it is then rejected with the signal's reason. */
	signal?: AbortSignal;
}

export interface Icon {
	/** An https or data:image address of up to 2048 characters. */
	src: string;
	mimeType?: string;
	sizes?: string[];
	theme?: "light" | "dark";
}

export interface ModelContext {
	/** 1 to 16384 characters. */
	text?: string;
	/** 1 to 512 characters; shown to users by hosts that can. */
	title?: string;
	/** Shown to users by hosts that can. */
	thumbnail?: Icon;
	/** Keeps the text from being shown to users. The model gets it all the same. */
	background?: boolean;
	structuredContent?: Record<string, unknown>;
}

export interface Message {
	/** 1 to 16384 characters. */
	text: string;
	/** The open conversation (default) or a new one, where the host has this. */
	target?: "active" | "new";
	/** false only puts the text into the composer, where the host has this. */
	send?: boolean;
}

export interface Client {
	/** Settles when the handshake has been seen or done. */
	readonly ready: Promise<Host>;

	/** What is known of the host; undefined before the handshake. */
	readonly host: Host | undefined;

	/**
	 * Listens to a notification of the host, up to about 40,000 characters in size,
	 * and returns the function that ends it. At most 32 listeners.
	 */
	on(method: string, listener: (params: any) => void): () => void;

	/** Calls a tool of the page's own server. */
	callTool(name: string, args?: Record<string, unknown>, options?: RequestOptions): Promise<ToolResult>;

	/**
	 * Replaces what the model knows of the page. Where the host refuses title and
	 * thumbnail or does not know them, it goes out without.
	 */
	updateModelContext(context: ModelContext, options?: RequestOptions): Promise<{ updateId?: string }>;

	/**
	 * Writes a message in the user's name. One for a new conversation or for the
	 * composer is refused before anything is sent where the host has neither.
	 */
	sendMessage(message: Message, options?: RequestOptions): Promise<void>;

	/** Asks for a display mode and returns the one that is; "inline" if in doubt. */
	requestDisplayMode(mode: DisplayMode, options?: RequestOptions): Promise<DisplayMode>;

	/** Ends everything: listeners, timers, requests and the client itself. */
	dispose(): void;
}

/** The error of this module. Given-up requests have the reason of their signal instead. */
export class PageError extends Error {
	constructor(reason: Reason, message: string);
	readonly reason: Reason;
}

/** Tells whether a text is an app-relative URL, as the gateway's links are. */
export function isAppURL(url: unknown): url is string;

/** Begins. A document has one client: a second one takes over from the first. */
export function connect(options?: Options): Client;

declare global {
	interface WindowEventMap {
		"mcp-app:navigate": CustomEvent<Arrival>;
		"mcp-app:navigate-refused": CustomEvent<Refusal>;
	}

	/** The client that the gateway put into the page. */
	var mcpApp: Client | undefined;
}
