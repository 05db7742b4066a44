// From a link that somebody clicks to what the page shows, with the real gateway
// and the sample server behind the synthetic host.
import { App, Refusal, check, equal, extended, link } from "/host/host.js";

// open shows a page as a host does after its entrypoint was opened.
async function open(opened, name, url, parameters) {
	const call = async ({ params }) => {
		const answer = await fetch("/tools", { method: "POST", body: JSON.stringify(params) });
		if (!answer.ok) throw new Refusal(await answer.text());
		return answer.json();
	};
	const theme = parameters.get("theme") ?? "light";
	const app = App.open(opened, name, { context: { theme, ...link(url) }, hostCapabilities: extended, handlers: { "tools/call": call } });
	await app.until(() => app.of("ui/notifications/initialized").length, "handshake");
	app.notify("ui/notifications/tool-result", await call({ params: { name: `workspace.${name}`, arguments: {} } }));
	return app;
}

const routed = (app) => app.of("tools/call").filter(({ params }) => params.name === "workspace.navigate").map(({ params }) => params.arguments.url);
const shows = (app, text) => app.until(async () => (await app.ask("state")).text.includes(text), text);

export default {
	async "a link to a deck shows the deck"(opened, parameters) {
		const app = await open(opened, "home", parameters.get("own"), parameters);
		await shows(app, "Acme rocket skates launch\n");
		await shows(app, "All decks");
		const { alerts, hash, text } = await app.ask("state");
		equal([alerts, hash, routed(app)], [0, "#/decks/rocket-skates", ["/decks/rocket-skates"]], "notices, hash and routes");
		check(text.startsWith("Acme rocket skates launch"), `the page shows ${text}`);
		equal(app.of("ui/initialize").map(({ params }) => params.appInfo.name), ["workspace-home"], "handshakes, the page's own");
	},

	async "a link to another tenant's deck is refused, and the page says so"(opened, parameters) {
		const app = await open(opened, "home", parameters.get("foreign"), parameters);
		await app.until(async () => (await app.ask("state")).alerts === 1, "notice");
		await shows(app, "Decks of acme");
		const { text, hash } = await app.ask("state");
		equal([text.split("\n")[0], hash, routed(app)], ["This link cannot be opened here.", "", ["/decks/hammock-district"]], "notice, hash and routes");
		equal(app.saw("mcp-app:navigate-refused").map(({ reason, url }) => [reason, url]), [["denied", "/decks/hammock-district"]], "refusals");
		check(!text.includes("hammock") && !text.includes("Hammock"), `the page shows ${text}`);
	},

	async "a link to a deck reaches a page that brings the client, and the model"(opened, parameters) {
		const app = await open(opened, "tray", parameters.get("own"), parameters);
		await shows(app, "Acme rocket skates launch. Made on");
		await shows(app, "Newest in acme");
		await app.until(() => app.of("ui/update-model-context").length, "model context");
		const [{ params }] = app.of("ui/update-model-context");
		equal(params.content, [{ type: "text", text: "The deck \"Acme rocket skates launch\" (id rocket-skates) is open.", _meta: { "openai/title": "Acme rocket skates launch" } }], "context");
		equal([routed(app), (await app.ask("state")).alerts], [["/decks/rocket-skates"], 0], "routes and notices");
		equal(app.of("ui/initialize").map(({ params }) => params.appInfo.name), ["workspace-tray"], "handshakes, the client's");
	},

	async "a link to another tenant's deck is refused there too"(opened, parameters) {
		const app = await open(opened, "tray", parameters.get("foreign"), parameters);
		await shows(app, "The link leads to nothing that you may see.");
		await shows(app, "Newest in acme");
		const { text } = await app.ask("state");
		equal([routed(app), app.of("ui/update-model-context")], [["/decks/hammock-district"], []], "routes and contexts");
		check(!text.includes("hammock") && !text.includes("Hammock"), `the page shows ${text}`);
	},
};
