// What is wrong, from three sides: the running configuration, the last check,
// and a look from outside as caddy mcp-app doctor has it.

import { badge, block, facts, make, name, notice } from "./dom.js";
import { line, lines, many, number } from "./text.js";

const SEVERITIES = { error: ["Error", "bad"], warning: ["Warning", "warn"], note: ["Note", ""] };

/** A part of the panel with a title, and what is known. */
export function part(title, text, button, content) {
	return make("section", { class: "card" }, make("div", { class: "heading" }, make("h3", {}, title), button), make("p", { class: "hint" }, text), content);
}

/** A list of findings, of the doctor or of an explanation. */
export function list(findings, nothing) {
	if (findings.length === 0) return notice("good", nothing);
	return make("ul", { class: "rows" }, findings.slice(0, 1000).map((f) => make("li", { class: "plain" }, one(f))));
}

function one(f) {
	const [word, colour] = SEVERITIES[f.severity] ?? ["Finding", ""];
	return make("article", { class: "finding" },
		make("div", { class: "badges first" }, badge(word, colour), name(f.id ?? f.code)),
		make("p", {}, f.subject ? [name(f.subject), ": "] : "", line(f.detail, 800)),
		facts([["Why", f.why && line(f.why, 800)], ["Fix", f.fix && line(f.fix, 800)]]),
		f.line && block(lines(f.line), "What to write"));
}

/** A report of the doctor. */
export function report(r) {
	const errors = r.findings.filter((f) => f.severity === "error").length;
	return [
		facts([
			["Address", name(r.url)],
			["Server", r.server && [name(r.server), " (" + line(r.era) + ", " + line(r.protocol) + ")"]],
			["Login", r.login && line(r.login)],
			["Tools", number(r.tools)],
			["Found", many(r.findings.length, "finding") + ", " + many(errors, "error")],
			["Redirects", (r.redirects ?? []).length > 0 && ["The authorization server must let ChatGPT come back to:", ...r.redirects.map((u) => make("div", {}, name(u)))]],
			["Not checked", r.skipped.map((s) => make("div", {}, line(s.check) + ": " + line(s.reason)))],
		]),
		list(r.findings, "Nothing was found."),
	];
}
