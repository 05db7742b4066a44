// The same verdicts in the browser as in the gateway.
import { isAppURL } from "/client.js";
import { App, check, equal, link } from "/host/host.js";

const fetched = async (path) => (await fetch(path)).json();

// dump writes a document so that two of them can be compared.
function dump(text, takeScript) {
	const doc = new DOMParser().parseFromString(text, "text/html");
	if (takeScript) {
		const scripts = doc.querySelectorAll("script[data-mcp-app-page]");
		if (scripts.length !== 1) return `${scripts.length} scripts`;
		scripts[0].remove();
	}
	doc.normalize();
	const lines = [doc.compatMode];
	const walk = (node, indent) => {
		const attributes = [...node.attributes ?? []].map(({ name, value }) => `${name}=${value}`);
		lines.push(`${indent}${node.nodeName} ${JSON.stringify(node.nodeValue)} ${attributes}`);
		for (const child of (node.localName === "template" && node.content || node).childNodes) walk(child, `${indent} `);
	};
	walk(doc, "");
	return lines.join("\n");
}

export default {
	async "every URL is judged as package links judges it"() {
		const verdicts = await fetched("/verdicts");
		const wrong = verdicts.filter(({ url, ok }) => isAppURL(url) !== ok);
		equal(wrong.slice(0, 10), [], `verdicts, ${wrong.length} of ${verdicts.length} wrong`);
		check(verdicts.filter(({ ok }) => ok).length > 1000, "too few good URLs to mean anything");
	},

	async "what no text can be is no URL"() {
		for (const value of ["/\ud800", "/a?\udc00", "/\ud83d%DE", undefined, null, 7, {}, ["/"], new String("/")]) {
			check(!isAppURL(value), `accepted ${JSON.stringify(value)}`);
		}
	},

	async "every host context is judged as package links judges it"(opened) {
		const app = App.open(opened, "import", { settings: { callbacks: true } });
		await app.until(() => app.of("ui/notifications/initialized").length, "handshake");
		for (const { name, context, outcome } of await fetched("/contexts")) {
			const before = app.reports.length;
			app.change(link(`/reset/${before}`));
			await app.until(() => app.reports.length > before, "arrival in between");
			app.change(context);
			await app.quiet();
			const after = app.reports.slice(before + 1).map(({ probe }) => probe).filter((probe) => probe !== "answer");
			equal(after, outcome ? [outcome] : [], `outcome of "${name}"`);
		}
	},

	async "an injected page is to the browser the same page and one script"() {
		const { script, docs } = await fetched("/documents");
		check(docs.length > 500, `only ${docs.length} documents`);
		for (const { doc, at } of docs) {
			equal(dump(doc.slice(0, at) + script + doc.slice(at), true), dump(doc, false), `document ${JSON.stringify(doc)} with the script at ${at}`);
		}
	},
};
