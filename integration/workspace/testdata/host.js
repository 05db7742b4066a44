// A host of MCP Apps (2026-01-26) that opens one page, calls the server for it,
// and does with it what a scenario says.
const parameters = new URLSearchParams(location.search);
const tool = parameters.get("tool");
const frame = document.createElement("iframe");
const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function call(name, args = {}) {
	const answer = await fetch("/call", { method: "POST", body: JSON.stringify({ name, arguments: args }) });
	return answer.json();
}

const problems = [];
const asked = new Map();
let lastAsked = 0;

addEventListener("message", async ({ source, data }) => {
	if (source !== frame.contentWindow) return;
	if (data.problem) problems.push(data.problem);
	asked.get(data.probe)?.(data.value);
	if (data.jsonrpc !== "2.0" || data.id === undefined || data.method === undefined) {
		if (data.method === "ui/notifications/initialized") send({ method: "ui/notifications/tool-result", params: await call(tool) });
		return;
	}
	if (data.method === "ui/initialize") {
		const hostContext = { theme: parameters.get("theme") };
		send({ id: data.id, result: { protocolVersion: "2026-01-26", hostInfo: { name: "synthetic", version: "1" }, hostCapabilities: { serverTools: {} }, hostContext } });
	} else if (data.method === "tools/call") {
		send({ id: data.id, result: await call(data.params.name, data.params.arguments) });
	} else {
		send({ id: data.id, error: { code: -32601, message: "Method not found" } });
	}
});

// ask has the probe do something in the page.
function ask(deed, ...args) {
	return new Promise((resolve) => {
		asked.set(++lastAsked, resolve);
		frame.contentWindow.postMessage({ probe: lastAsked, deed, args }, "*");
	});
}

async function sees(...texts) {
	let seen = "";
	for (const start = performance.now(); performance.now() - start < 20000; await pause(20)) {
		seen = await ask("text");
		if (texts.every((text) => seen.includes(text))) return;
	}
	throw new Error(`in vain waited for ${JSON.stringify(texts)}, there is\n${seen}`);
}

const press = async (text) => { if (!await ask("press", text)) throw new Error(`there is no button ${text}`); };

const scenarios = {
	async home() {
		await sees("Decks of acme", "Acme rocket skates launch", "3 of 3 decks");
	},
	async deck() {
		await sees("3 of 3 decks");
		await press("Acme rocket skates launch");
		await sees("Test track", "#fieldwork", "Mira Okonkwo", "Older posts");
		const before = await ask("count", "section:first-of-type li");
		await press("Older posts");
		for (let n = before; n === before; await pause(20)) n = await ask("count", "section:first-of-type li");
		if (await ask("focused") !== "heading") throw new Error("the heading of the deck has no focus");
	},
	async create() {
		await sees("3 of 3 decks");
		await ask("fill", "title", "<b>Plans</b>");
		await press("Create");
		await sees("<b>Plans</b>", "4 of 4 decks");
		await press("<b>Plans</b>");
		await sees("Made on");
		await press("All decks");
		await sees("4 of 4 decks");
	},
	async decide() {
		await sees("2 of 2 wait for a decision", "Helmets on!", "Why: The crossing is booked", "Newest in acme");
		await press("Accept");
		await sees("1 of 2 wait for a decision", "Accepted by ada");
		await press("Edit");
		await ask("fill", "text-magnet-thanks", "Acme says thank you!");
		await press("Accept this text");
		await sees("0 of 2 wait for a decision", "Accepted with changes by ada", "Acme says thank you!");
		await press("Take back");
		await sees("1 of 2 wait for a decision");
	},
	async late() {
		await sees("2 of 2 wait for a decision");
		await call("decide_activity", { activityId: "launch-note", expectedRevision: 1, action: "reject" });
		await press("Accept");
		await sees("the activity is at revision 2 by now", "Rejected by ada");
	},
};

frame.setAttribute("sandbox", "allow-scripts allow-forms");
frame.src = parameters.get("page");
const loaded = new Promise((resolve) => { frame.onload = resolve; });
document.body.append(frame);
await loaded;
let failure = "";
try {
	await Promise.race([
		scenarios[parameters.get("scenario")](),
		pause(25000).then(() => { throw new Error("the scenario takes too long"); }),
	]);
	problems.push(...await ask("unlabelled"));
	if (problems.length > 0) failure = `the page has problems: ${problems.join("; ")}`;
} catch (error) {
	failure = `${error.message} ${problems.join("; ")}`;
}
await fetch("/done", { method: "POST", body: JSON.stringify(failure) });
