// From a link that somebody clicks to what the page shows, with the real gateway
// and the sample server behind the synthetic host.
import { App, Refusal, check, equal, link } from "/host/host.js";

// open shows the page as a host does after the entrypoint was opened.
async function open(opened, url) {
	const call = async ({ params }) => {
		const answer = await fetch("/tools", { method: "POST", body: JSON.stringify(params) });
		if (!answer.ok) throw new Refusal(await answer.text());
		return answer.json();
	};
	const app = App.open(opened, "home", { context: link(url), handlers: { "tools/call": call } });
	await app.until(() => app.of("ui/notifications/initialized").length, "handshake of the page");
	app.notify("ui/notifications/tool-result", await call({ params: { name: "workspace.home", arguments: {} } }));
	await app.until(async () => (await app.ask("state")).text.includes("decks"), "decks");
	return app;
}

const routed = (app) => app.of("tools/call").filter(({ params }) => params.name === "workspace.navigate").map(({ params }) => params.arguments.url);

export default {
	async "a link to a deck shows the deck"(opened, parameters) {
		const app = await open(opened, parameters.get("own"));
		await app.until(async () => (await app.ask("state")).text.startsWith("Acme rocket skates launch"), "the deck's title as heading");
		const { alerts, hash } = await app.ask("state");
		equal([alerts, hash, routed(app)], [0, "#/decks/rocket-skates", ["/decks/rocket-skates"]], "notices, hash and routes");
	},

	async "a link to another tenant's deck is refused, and the page says so"(opened, parameters) {
		const app = await open(opened, parameters.get("foreign"));
		await app.until(async () => (await app.ask("state")).alerts === 1, "notice");
		const { text, hash } = await app.ask("state");
		equal([text.split("\n")[0], hash, routed(app)], ["This link cannot be opened here.", "", ["/decks/hammock-district"]], "notice, hash and routes");
		check(text.includes("Decks of acme") && !text.includes("hammock"), `the page shows ${text}`);
	},
};
