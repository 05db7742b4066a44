// What a page without callbacks notices of a deep link.
import { App, Refusal, equal, link } from "/host/host.js";

export default {
	async "without callbacks the window gets an event, and nothing else happens"(opened) {
		const app = App.open(opened, "import", { settings: { connect: { navigate: "open" } }, context: link("/a") });
		await app.until(() => app.saw("mcp-app:navigate").length, "event");
		app.handlers["tools/call"] = () => { throw new Refusal("no"); };
		app.change(link("/b"));
		await app.until(() => app.saw("mcp-app:navigate-refused").length, "second event");
		equal(app.saw("mcp-app:navigate-refused"), [{ reason: "denied", message: "no", url: "/b" }], "refusal");
		const { hash, state, alerts } = await app.ask("state");
		equal([hash, state, alerts], ["", null, 0], "state of the page");
	},

	async "an ordinary router hears of links by the hash"(opened) {
		const app = App.open(opened, "bare", { options: { navigate: "open", route: "hash", handshake: "always" }, context: link("/decks/caf%C3%A9?a=b&c=%23") });
		await app.until(() => app.saw("hashchange").length, "hashchange");
		const { hash, text } = await app.ask("state");
		equal([hash, text], ["#/decks/caf%C3%A9?a=b&c=%23", "At /decks/caf%C3%A9?a=b&c=%23"], "hash and text");
	},

	async "an ordinary router hears of links by the history"(opened) {
		const app = App.open(opened, "bare", { options: { navigate: "open", route: "history", handshake: "always" }, context: link("/decks/1") });
		await app.until(() => app.saw("popstate").length, "popstate");
		const { state, text } = await app.ask("state");
		equal([state, text, app.saw("popstate")], [{ url: "/decks/1" }, "Back at /decks/1", [{ url: "/decks/1" }]], "state and text");
	},

	async "a document without an address has hash and history too"(opened) {
		for (const [route, heard] of [["hash", "hashchange"], ["history", "popstate"]]) {
			const app = App.open(opened, "bare", { options: { navigate: "open", route, handshake: "always" }, context: link("/decks/1"), srcdoc: true });
			await app.until(() => app.saw(heard).length, heard);
			const { hash, state } = await app.ask("state");
			equal([hash, state], route === "hash" ? ["#/decks/1", null] : ["", { url: "/decks/1" }], `state with route ${route}`);
		}
	},

	async "cancelling the event keeps hash and history as they are"(opened) {
		for (const route of ["hash", "history"]) {
			const app = App.open(opened, "bare", { options: { navigate: "open", route, handshake: "always" }, settings: { cancel: true }, context: link("/a") });
			await app.until(() => app.saw("mcp-app:navigate").length, "event");
			await app.quiet();
			const { hash, state } = await app.ask("state");
			equal([hash, state], ["", null], `state with route ${route}`);
		}
	},

	async "a notice says that a link cannot be opened, until one can"(opened) {
		const notice = "Cannot open <b>this</b>.";
		const app = App.open(opened, "bare", {
			options: { navigate: "open", route: "hash", notice, handshake: "always" }, context: link("/theirs"),
			handlers: { "tools/call": ({ params }) => ({ isError: params.arguments.url === "/theirs", content: [] }) },
		});
		await app.until(async () => (await app.ask("state")).alerts === 1, "notice");
		const { text, hash } = await app.ask("state");
		equal([text.split("\n")[0], hash], [notice, ""], "text and hash");
		app.change(link("//x"));
		await app.quiet();
		equal((await app.ask("state")).alerts, 1, "notices after another refusal");
		app.change(link("/mine"));
		await app.until(async () => (await app.ask("state")).alerts === 0, "notice to go");
	},

	async "no notice where the page cancels the event"(opened) {
		const app = App.open(opened, "bare", { options: { notice: "No.", handshake: "always" }, settings: { cancel: true }, context: link("x") });
		await app.until(() => app.saw("mcp-app:navigate-refused").length, "event");
		equal((await app.ask("state")).alerts, 0, "notices");
	},

	async "a notice is shown by a page that has no body yet"(opened) {
		const app = App.open(opened, "slow", { options: { notice: "No." }, context: link("x") });
		await app.until(() => app.saw("mcp-app:navigate-refused").length, "event");
		equal((await app.ask("state")).alerts, 1, "notices");
		app.change(link("/a"));
		await app.until(() => app.saw("mcp-app:navigate").length, "a link afterwards");
		equal((await app.ask("state")).alerts, 0, "notices after a good link");
	},
};
