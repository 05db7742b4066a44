// The catalog as one principal sees it, and what is hidden from it.

import { at, badge, block, facts, later, make, name, notice } from "./dom.js";
import { ago, clock, json, line, lines, many, number } from "./text.js";

const KINDS = [
	["tool", "tools", "Tools"],
	["prompt", "prompts", "Prompts"],
	["resource", "resources", "Resources"],
	["template", "templates", "Resource templates"],
	["method", "methods", "Methods that have a rule"],
];

const MAX_ROWS = 2500; // of one kind; endpoints list fewer by default
const LONG = 200; // rows, of which the browser lays out only those in sight

const DECISIONS = {
	allow: ["Shown", "good"],
	challenge: ["Shown, asks for scopes", "warn"],
	login: ["Shown, asks for a login", "warn"],
	hide: ["Hidden", "bad"],
	refuse: ["Refused", "bad"],
};

const HINTS = [
	["readOnlyHint", "read-only", true],
	["destructiveHint", "destructive", true],
	["openWorldHint", "open-world", true],
	["idempotentHint", "idempotent", false],
];

let shown = null; // the last answer
let groups = []; // of rows, for the filters

/** Takes away everything that was shown, and says why. */
export function clear(title, text) {
	shown = null;
	groups = [];
	at("summary").replaceChildren(notice("empty", title, text));
	at("catalog").replaceChildren();
	at("explained").replaceChildren();
	at("filters").hidden = at("explain").hidden = true;
}

/** Shows an answer of the admin API's catalog. */
export function show(catalog) {
	shown = catalog;
	at("explained").replaceChildren();
	at("explain").hidden = Boolean(catalog.refused);
	at("summary").replaceChildren(...summary(catalog));
	groups = catalog.refused || catalog.catalog_error ? [] : KINDS.map(([kind, list, title]) => group(catalog, kind, list, title)).filter(Boolean);
	at("filters").hidden = groups.every((g) => g.rows.length === 0);
	at("catalog").replaceChildren(...groups.map((g) => g.element), ...rest(catalog));
	filter();
}

/** What the last check says in one sentence. */
export function outcome(catalog) {
	if (catalog.refused) return "Checked: the principal is refused.";
	if (catalog.catalog_error) return "Checked: the server’s lists could not be had.";
	return "Checked: " + many(catalog.tools.length, "tool") + " shown, " + number(catalog.hidden.tool?.length ?? 0) + " hidden.";
}

/** Writes anew how long ago the server was asked. */
export function age() {
	const checked = at("checked-ago");
	if (shown?.server && checked) checked.textContent = ago(shown.server.checked_at);
}

/** Shows what was found out about one name. */
export function explain(answer) {
	const rows = answer.refused
		? [notice("bad", "The principal is refused", line(answer.refused.reason))]
		: answer.tools.map((tool) => row("tool", tool, true));
	at("explained").replaceChildren(...rows);
}

/** Narrows the rows to what the filters say. */
export function filter() {
	if (!shown) return;
	const wanted = at("search").value.trim().toLowerCase();
	const which = document.querySelector("input[name=which]:checked").value;
	const allowed = new Set(at("allowed").value.split(",").map((text) => text.trim()).filter(Boolean));
	let all = 0;
	let left = 0;
	for (const g of groups) {
		let visible = 0;
		for (const r of g.rows) {
			const fits = r.text.includes(wanted) && (which === "all" || r.visible === (which === "visible")) && (allowed.size === 0 || (g.kind === "tool" && allowed.has(r.name)));
			r.element.hidden = !fits;
			if (fits) visible++;
		}
		g.element.hidden = visible === 0 && g.rows.length > 0; // an empty list is news
		all += g.rows.length;
		left += visible;
	}
	at("matches").replaceChildren(left === all ? "" : number(left) + " of " + many(all, "name") + ". ", ...absent(allowed));
}

// What a host that is told to use some tools only would miss.
function absent(allowed) {
	const tools = groups.find((g) => g.kind === "tool")?.rows ?? [];
	const visible = new Set(tools.filter((r) => r.visible).map((r) => r.name));
	const missing = [...allowed].filter((wanted) => !visible.has(wanted));
	if (missing.length === 0) return [];
	const known = new Set(tools.map((r) => r.name));
	return ["Not offered to this principal: ", ...missing.slice(0, 20).flatMap((wanted, i) => [i > 0 ? ", " : "", name(wanted, 80), known.has(wanted) ? " (hidden)" : " (not listed by the server)"])];
}

function summary(catalog) {
	const p = catalog.principal;
	const principal = facts([
		["Principal", p.subject ? name(p.subject) : { anonymous: "Nobody who has logged in", none: "Anybody, the endpoint wants no login" }[p.by] ?? "Not known"],
		["By", { token: "a token", claims: "given claims, which nobody has signed", anonymous: "no token", none: "no token" }[p.by] ?? line(p.by)],
		["Tenant", p.tenant && name(p.tenant)],
		["Issuer", p.issuer && name(p.issuer)],
		["Client", p.client_id && name(p.client_id)],
		["Scopes", words(p.scopes)],
		["Roles", words(p.roles)],
		["Expires", p.expires && clock(p.expires) + ", " + new Date(p.expires).toLocaleDateString("en-GB")],
		["Address", name(catalog.address)],
		["Server", catalog.server && [name([catalog.server.name, catalog.server.version].filter(Boolean).join(" ") || "without a name"), " (" + line(catalog.server.era) + ", " + line(catalog.server.protocol_version) + ")"]],
		["Server asked", catalog.server && [clock(catalog.server.checked_at) + ", ", make("span", { id: "checked-ago" }, ago(catalog.server.checked_at))]],
		["Rules decided", clock(Date.now())],
	]);
	const parts = [principal];
	if (catalog.refused) {
		parts.unshift(notice("bad", "This principal is not let in", "A client gets " + line(catalog.refused.status) + ". Reason: " + line(catalog.refused.reason || catalog.refused.decision) + (catalog.refused.cause ? " (" + line(catalog.refused.cause) + ")" : "")));
	} else if (catalog.catalog_error) {
		parts.unshift(notice("bad", "The server’s lists could not be had", line(catalog.catalog_error), ...(catalog.catalog_advice ? [line(catalog.catalog_advice)] : []), "Nothing is known of what it lists."));
	}
	for (const note of catalog.notes) parts.push(notice("note", "Note", line(note, 600)));
	return parts;
}

const words = (list) => list.length > 0 && list.slice(0, 100).flatMap((word, i) => [i > 0 ? " " : "", badge(word)]);

function group(catalog, kind, list, title) {
	// Shown first, as hosts have them; hidden names behind.
	const names = [...catalog[list], ...(catalog.hidden[kind] ?? [])];
	if (kind === "method") names.splice(0, names.length, ...catalog.methods);
	if (names.length === 0 && kind !== "tool") return null;
	const rows = names.slice(0, MAX_ROWS).map((entry) => ({
		element: make("li", {}, row(kind, entry)),
		name: entry.name,
		visible: entry.visible,
		text: [entry.name, entry.title, entry.description, entry.rule?.pattern].filter(Boolean).join("\n").toLowerCase(),
	}));
	const visible = names.filter((entry) => entry.visible).length;
	const element = make("section", { class: "group" },
		make("h3", {}, title, make("small", {}, number(visible) + " shown, " + number(names.length - visible) + " hidden")),
		names.length === 0 && notice("empty", "The server lists no tools to this principal", "It was asked and answered with an empty list."),
		names.length > MAX_ROWS && notice("note", "Note", "Only the first " + number(MAX_ROWS) + " are shown."),
		make("ul", { class: names.length > LONG ? "rows long" : "rows" }, rows.map((r) => r.element)));
	return { kind, rows, element };
}

function row(kind, entry, open = false) {
	const [word, colour] = DECISIONS[entry.decision] ?? [line(entry.decision), ""];
	const label = entry.listed ? word : word.replace("Shown", "Would be shown");
	const title = entry.title && entry.title !== entry.name ? make("bdi", { class: "title" }, line(entry.title, 120)) : "";
	const summary = [
		make("span", { class: "what" }, name(entry.name, 160), title),
		make("span", { class: "badges" }, entry.visible && kind === "tool" && hints(entry.hints), points(entry.entrypoints).map((text) => badge(text, "mark")), badge(label, colour)),
		entry.decision !== "allow" && make("span", { class: "why" }, decided(entry)),
	];
	const details = later(summary, () => inside(kind, entry), { class: "row", "data-name": line(entry.name, 160) });
	details.open = open;
	return details;
}

// The deciding rule in a line.
function decided(entry) {
	const reason = entry.reason ? ": " + line(entry.reason) : "";
	if (entry.decided_by === "rule") return [make("bdi", { class: "name" }, "rule " + line(entry.rule.kind) + " " + line(entry.rule.pattern, 120)), reason];
	if (entry.decided_by === "tools") return ["no rule of its own; decided by the tools that name it", reason];
	return [line(entry.reason) || "no rule fits, the default decides"];
}

function inside(kind, entry) {
	const parts = [];
	if (entry.name.length > 160) parts.push(make("p", { class: "lines" }, name(entry.name, 5000)));
	if (entry.description) parts.push(make("p", { class: "lines", dir: "auto" }, lines(entry.description)));
	parts.push(facts([
		["Decided by", decided(entry)],
		["Missing", words(entry.missing)],
		["At the call", entry.at_call.map((text) => make("div", {}, line(text, 600)))],
		["Listed", entry.listed ? "" : "The server does not list it to this principal."],
		["Rule stands at", entry.rule?.source && name(entry.rule.source)],
		["Entrypoints", points(entry.entrypoints).join(", ")],
		["Pages", [...new Set(entry.ui_resources)].slice(0, 20).map((uri) => make("div", {}, name(uri)))],
	]));
	if (entry.rule?.caddyfile) parts.push(block(lines(entry.rule.caddyfile), "The rule"));
	if (entry.hints) parts.push(section("Hints", entry.hints));
	if (entry.input_schema) parts.push(section("Input schema", entry.input_schema));
	if (entry.output_schema) parts.push(section("Output schema", entry.output_schema));
	if (entry.declaration) parts.push(section("Whole declaration", entry.declaration));
	return parts;
}

const section = (title, value) => later(title, () => block(json(value), title), { class: "more" });

function hints(annotations) {
	const badges = [];
	let missing = 0;
	for (const [member, word, needed] of HINTS) {
		const value = annotations?.[member];
		if (value === true) badges.push(badge(word));
		else if (needed && typeof value !== "boolean") missing++;
	}
	if (missing > 0) badges.push(badge(many(missing, "hint") + " missing", "warn"));
	return badges;
}

function points(entrypoints) {
	if (!Array.isArray(entrypoints)) return [];
	return entrypoints.filter((e) => typeof e?.type === "string").slice(0, 10).map((e) => ["entrypoint", line(e.type, 40), ...(Array.isArray(e.extensions) ? e.extensions.slice(0, 10).map((x) => line(x, 20)) : [])].join(" "));
}

function rest(catalog) {
	const parts = [];
	const titled = (title, items) => items.length > 0 && parts.push(make("section", { class: "group" }, make("h3", {}, title), make("ul", { class: "rows" }, items.map((item) => make("li", { class: "plain" }, item)))));
	titled("Capabilities", catalog.capabilities.map((c) => [make("span", { class: "what" }, name(c.name), badge(c.advertised ? "Advertised" : "Not advertised", c.advertised ? "good" : "bad")), c.reason && make("span", { class: "why" }, line(c.reason, 600))]));
	titled("Rules that fit nothing the server lists", catalog.unused_rules.map((rule) => [name(rule.kind + " " + rule.pattern), rule.source && make("span", { class: "why" }, name(rule.source))]));
	return parts;
}
