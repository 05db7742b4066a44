// The page of caddy mcp-app console. It shows what a running Caddy knows, and
// nothing of it any longer than it is known to hold: with another endpoint,
// another principal or another configuration all that was shown goes away.

import { ask, listen } from "./ask.js";
import * as catalog from "./catalog.js";
import { at, facts, later, make, name, notice } from "./dom.js";
import * as findings from "./findings.js";
import { Live } from "./live.js";
import { hide, line, many } from "./text.js";

let endpoints = [];
let chosen = null; // one of them
let last = ""; // the id of the one that was chosen last, to choose it again
let running = null; // the check that is under way
let checked = null; // what the last check was about, and its answer

// ---- Endpoints --------------------------------------------------------------

async function loadEndpoints() {
	try {
		endpoints = (await ask("api/endpoints")).endpoints.map((e) => ({ ...e, id: e.resource || e.endpoint }));
	} catch (fault) {
		forget(fault.message);
		return;
	}
	at("endpoints").replaceChildren(...endpoints.map((e) => make("label", {},
		make("input", { type: "radio", name: "endpoint", onchange: () => choose(e) }),
		make("span", {}, name(e.endpoint), make("small", {}, name(e.resource || e.hosts.join(", ") || "any host"))))));
	if (endpoints.length === 0) at("endpoints").append(notice("empty", "No endpoints", "The running configuration has no mcp_app directive."));
	const index = Math.max(0, endpoints.findIndex((e) => e.id === last));
	const radio = at("endpoints").querySelectorAll("input")[index];
	if (radio) radio.checked = true;
	choose(endpoints[index] ?? null);
}

/** Without a connection nothing is known of the configuration either. */
function forget(why) {
	endpoints = [];
	choose(null);
	at("endpoints").replaceChildren(notice("bad", "Not connected", line(why)));
}

function choose(endpoint) {
	chosen = endpoint;
	last = endpoint?.id ?? last;
	clear("Nothing is shown yet", endpoint ? "Say who asks, and check." : "There is no endpoint to look at.");
	live.of(endpoint?.endpoint ?? "");
	for (const button of [at("check"), at("refresh")]) button.disabled = !endpoint;
	at("endpoint").replaceChildren(endpoint ? about(endpoint) : "");
	known = null;
	drawFindings();
	if (endpoint) loadFindings();
}

function about(e) {
	const listed = (list) => list.map((text) => make("div", {}, name(text)));
	const c = e.capabilities;
	const details = later("About this endpoint", () => facts([
		["Resource", e.resource && name(e.resource)],
		["Hosts", listed(e.hosts)],
		["Listens on", listed(e.listen)],
		["Server", e.upstreams.length > 0 ? listed(e.upstreams) : "the site’s next handler"],
		["Login", { strict: "needed by everybody (strict)", mixed: "for some (mixed)", none: "nobody (none)" }[e.mode] ?? line(e.mode)],
		["Issuers", listed(e.issuers)],
		["Scopes", e.scopes.map((s) => line(s)).join(" ")],
		["Tenants", e.tenant && ["claim ", name(e.tenant.claim), e.tenant.allow.length > 0 ? "; " + e.tenant.allow.map((t) => line(t, 80)).join(", ") : "; all", "; members by " + line(e.tenant.members)]],
		["Rules", many(e.rules, "rule") + ", default " + line(e.default)],
		["Entrypoints", listed(e.entrypoints)],
		["Settings", c.settings_read && name(c.settings_read + ", " + c.settings_update)],
		["Mentions", c.mentions_search && name(c.mentions_search)],
		["Links", c.plugin && name(c.plugin)],
	]), { class: "about" });
	details.open = matchMedia("(min-width: 56rem)").matches;
	return details;
}

// ---- Who asks ---------------------------------------------------------------

const by = () => document.querySelector("input[name=by]:checked").value;

/** The request as JSON text, or null after saying what is wrong with it. */
function request(more) {
	const fields = { endpoint: chosen.id, ...more };
	let claims = "";
	let wrong = "";
	hide("");
	if (by() === "token") {
		const token = at("token").value.trim().replace(/^bearer\s+/i, "");
		if (!token) wrong = "Paste a token, or choose another principal.";
		else if (/[^!-~]/.test(token)) wrong = "There are blanks or other characters in it that do not belong into a token.";
		fields.token = token;
		hide(token);
	} else if (by() === "claims") {
		claims = at("claims").value.trim();
		if (!claims) wrong = "Write claims as a JSON object, or choose another principal.";
		else try {
			const value = JSON.parse(claims);
			if (typeof value !== "object" || value === null || Array.isArray(value)) wrong = "The claims must be a JSON object.";
		} catch (error) {
			wrong = "The claims are not JSON: " + error.message;
		}
	}
	for (const field of ["tenant", "host"]) if (at(field).value.trim()) fields[field] = at(field).value.trim();
	at("who-error").textContent = line(wrong);
	at("who-error").hidden = !wrong;
	if (wrong) {
		at(by() === "claims" ? "claims" : "token").focus();
		return null;
	}
	const text = JSON.stringify(fields);
	// As they were written: numbers may be longer than JavaScript's.
	return claims ? text.slice(0, -1) + ',"claims":' + claims + "}" : text;
}

function clear(title, text) {
	running?.abort();
	running = null;
	checked = null;
	outside = null;
	at("who-error").hidden = true;
	say("");
	catalog.clear(title, text);
	drawFindings();
}

// ---- Checks -----------------------------------------------------------------

const say = (text) => {
	at("progress").textContent = text;
};

/**
 * Runs one check at a time, with its progress in the page and a way to end it.
 * failed is told why it did not succeed.
 */
async function check(what, run, failed) {
	running?.abort();
	const mine = (running = new AbortController());
	const began = Date.now();
	const tick = () => {
		at("elapsed").textContent = Math.floor((Date.now() - began) / 1000) + " s";
	};
	const timer = setInterval(tick, 1000);
	at("cancel").hidden = false;
	document.body.dataset.busy = "";
	say(what);
	tick();
	try {
		const outcome = await run(mine.signal);
		if (running === mine) say(outcome);
	} catch (fault) {
		if (running === mine && fault.kind === "cancelled") {
			say("Cancelled.");
			failed("Cancelled", "Nothing was learned.");
		} else if (running === mine) {
			say("The check did not succeed.");
			failed("The check did not succeed", line(fault.message, 600));
		}
	} finally {
		clearInterval(timer);
		if (running === mine || running === null) {
			running = null;
			at("elapsed").textContent = "";
			at("cancel").hidden = true;
			delete document.body.dataset.busy;
		}
	}
}

function checkCatalog(refresh) {
	if (!chosen) return;
	clear("Checking…", "The server is asked for what it lists to this principal. No tool is called.");
	const body = request(refresh ? { refresh: true } : {});
	if (body === null) {
		catalog.clear("Nothing is shown yet", "Say who asks, and check.");
		return;
	}
	check(refresh ? "Asking the server again, for 35 s at most…" : "Checking, for 35 s at most…", async (signal) => {
		const answer = await ask("api/catalog", body, signal);
		checked = answer;
		catalog.show(answer);
		drawFindings();
		return catalog.outcome(answer);
	}, catalog.clear);
}

function explainName(wanted) {
	if (!wanted || !checked) return;
	const body = request({ tool: wanted });
	if (body === null) return;
	check("Explaining…", async (signal) => {
		const answer = await ask("api/explain", body, signal);
		catalog.explain(answer);
		return "Explained.";
	}, (title, text) => at("explained").replaceChildren(notice("bad", title, text)));
}

// ---- Findings ---------------------------------------------------------------

let known = null; // findings of the running configuration, or a Fault
let outside = null; // the doctor's report, a Fault, or null
const doctorButton = make("button", { type: "button", onclick: () => examine() }, "Check from outside");
const againButton = make("button", { type: "button", onclick: () => loadFindings() }, "Look again");

async function loadFindings() {
	const about = chosen;
	try {
		const answer = await ask("api/findings?endpoint=" + encodeURIComponent(about.id));
		if (about === chosen) known = answer.endpoints.flatMap((e) => e.findings);
	} catch (fault) {
		if (about === chosen) known = fault;
	}
	drawFindings();
}

function examine() {
	if (!chosen) return;
	at("host").value = "";
	const body = request({});
	if (body === null) return;
	outside = null;
	drawFindings();
	check("Asking the address from outside…", async (signal) => {
		let found = new Error("The check broke off.");
		await listen("api/doctor", body, signal, (event, data) => {
			if (event === "progress") say("Checking from outside: " + line(data.what, 120));
			else if (event === "report") found = data;
			else if (event === "failure") found = new Error(data.text);
		});
		if (found instanceof Error) throw found;
		outside = found;
		drawFindings();
		return "Checked from outside: " + many(outside.findings.length, "finding") + ".";
	}, (title, text) => {
		outside = new Error(title + ". " + text);
		drawFindings();
	});
}

function drawFindings() {
	const or = (value, content, nothing) => value === null ? notice("empty", nothing) : value instanceof Error ? notice("bad", "Not known", line(value.message, 600)) : content();
	at("findings").replaceChildren(
		findings.part("Running configuration", "What it gives away by itself, and what answers have shown since it was loaded.", againButton,
			or(known, () => findings.list(known, "Nothing was found."), "Not known yet.")),
		findings.part("As this principal", "What the last check says about the tools that the principal sees.", null,
			or(checked && !checked.refused && !checked.catalog_error ? checked : null, () => findings.list(checked.findings, "Nothing was found."), "Check in the form above first.")),
		findings.part("From outside", "Asks the public address as hosts and browsers do, with the token above if there is one. No tool is called.", doctorButton,
			or(outside, () => findings.report(outside), "Not checked yet.")));
}

// ---- Connection -------------------------------------------------------------

function connection(state, text) {
	at("connection").dataset.state = state;
	at("connection").textContent = text;
}

let connected = false;
let everConnected = false;

const live = new Live(at("live"), (news) => {
	const lost = connected;
	connected = news === "open";
	if (connected) {
		everConnected = true;
		connection("open", "Connected to Caddy");
		loadEndpoints();
	} else if (news === "ended") {
		connection("waiting", "The configuration was replaced");
		clear("The configuration was replaced", "What was shown is no longer known to hold.");
	} else {
		const text = news instanceof Error ? news.message : "The connection to Caddy broke off.";
		connection("lost", line(text));
		// Without it a new configuration would not be noticed.
		if (!lost && endpoints.length > 0) return;
		// Also when trying again has failed, which must not hide what happened.
		forget(text);
		if (everConnected) clear("The connection was lost", "What was shown is no longer known to hold.");
	}
});

// ---- Controls ---------------------------------------------------------------

at("who").addEventListener("submit", (event) => {
	event.preventDefault();
	checkCatalog(false);
});
at("who").addEventListener("input", (event) => {
	if (event.target.name === "by") for (const part of document.querySelectorAll("[data-by]")) part.hidden = part.dataset.by !== by();
	clear("Nothing is shown yet", "You have changed who asks: check again.");
});
at("refresh").addEventListener("click", () => checkCatalog(true));
at("cancel").addEventListener("click", () => {
	running?.abort();
	at("check").focus();
});
at("explain").addEventListener("submit", (event) => {
	event.preventDefault();
	explainName(at("explain-name").value.trim());
});
at("filters").addEventListener("input", () => catalog.filter());

const tabs = [...document.querySelectorAll("[role=tab]")];
function select(tab) {
	for (const other of tabs) {
		const on = other === tab;
		other.setAttribute("aria-selected", String(on));
		other.tabIndex = on ? 0 : -1;
		at(other.getAttribute("aria-controls")).hidden = !on;
	}
}
for (const [i, tab] of tabs.entries()) {
	tab.addEventListener("click", () => select(tab));
	tab.addEventListener("keydown", (event) => {
		const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
		if (to === undefined) return;
		event.preventDefault();
		const next = tabs[(to + tabs.length) % tabs.length];
		select(next);
		next.focus();
	});
}

// A page that the browser keeps for its back button keeps no token.
addEventListener("pagehide", () => {
	at("token").value = at("claims").value = "";
	hide("");
	clear("Nothing is shown yet", "Say who asks, and check.");
});
setInterval(() => catalog.age(), 5000);

clear("Nothing is shown yet", "Say who asks, and check.");
live.run();
