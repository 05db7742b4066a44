// Compiled, never run: the declarations say what the module has, and what a page
// writes against them is checked.
import type * as declared from "./client.d.ts";
import * as module from "./client.mjs";

const implemented: typeof declared = module;
const complete: typeof module = implemented;

const client: declared.Client = complete.connect({
	navigate: "workspace.navigate",
	onNavigate: ({ url, result }) => console.log(url, result?.structuredContent),
	onRefuse: ({ reason, url }) => console.log(reason === "denied", url),
	route: "hash",
	handshake: "auto",
	host: { capabilities: {}, context: {} },
});

const { updateId } = await client.updateModelContext({ text: "t", thumbnail: { src: "data:image/png;base64,AA==", theme: "dark" } });
await client.sendMessage({ text: updateId ?? "", target: "new", send: false }, { signal: AbortSignal.timeout(1000) });
const mode: declared.DisplayMode = await client.requestDisplayMode("fullscreen");
addEventListener("mcp-app:navigate", (event) => event.detail.url.startsWith(mode) && event.preventDefault());
addEventListener("mcp-app:navigate-refused", ({ detail }) => detail.reason);
mcpApp?.dispose();

// @ts-expect-error no such target
client.sendMessage({ text: "t", target: "old" });
// @ts-expect-error no such option
complete.connect({ router: "hash" });
// @ts-expect-error read only
client.host = undefined;
