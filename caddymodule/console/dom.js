// Elements are made here and nowhere else, from tags, attributes and text. There
// is no way from a text to markup.

import { line } from "./text.js";

/** An element by its id in the page. */
export const at = (id) => document.getElementById(id);

/**
 * An element. Attributes beginning with "on" are listeners; children are
 * elements, texts, or nothing.
 */
export function make(tag, attributes = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
		else if (value === true) element.setAttribute(name, "");
		else if (value !== false && value !== undefined) element.setAttribute(name, value);
	}
	element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false && child !== ""));
	return element;
}

/** A name of a stranger, which reorders nothing around it. */
export const name = (text, limit) => make("bdi", { class: "name" }, line(text, limit));

/** A word that stands out; its meaning is in the word, not in the colour. */
export const badge = (word, kind = "") => make("span", { class: "badge " + kind }, line(word, 80));

/** Facts as a list of terms; empty ones are left out. */
export function facts(pairs) {
	const list = make("dl", { class: "facts" });
	for (const [term, value] of pairs) {
		if (value === undefined || value === null || value === false || value === "" || (Array.isArray(value) && value.length === 0)) continue;
		list.append(make("div", {}, make("dt", {}, term), make("dd", {}, value)));
	}
	return list;
}

/** A text of several lines that can be scrolled by keyboard. */
export const block = (text, label) => make("pre", { tabindex: "0", role: "region", "aria-label": label }, text);

/** Details whose content is made when they are first opened. */
export function later(summary, content, attributes = {}) {
	const details = make("details", attributes, make("summary", {}, summary));
	details.addEventListener("toggle", () => {
		if (details.open && details.childElementCount === 1) details.append(make("div", { class: "inside" }, content()));
	});
	return details;
}

/** A notice with a title. */
export const notice = (kind, title, ...rest) => make("div", { class: "notice " + kind }, make("strong", {}, title), ...rest.map((text) => make("p", {}, text)));
