// What both pages are made of. Text goes in as text, never as markup.
const byId = (id) => document.getElementById(id);

// element makes an element: strings among the parts become text.
function element(name, attributes = {}, ...parts) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
	made.append(...parts);
	return made;
}

function button(text, act, kind = "") {
	const made = element("button", { type: "button", class: kind }, text);
	made.addEventListener("click", act);
	return made;
}

// deckItem shows one deck. It opens by a button and not by a link: in a frame
// without an address of its own a link would lead to that of the host.
function deckItem(deck, open) {
	const item = element("li", {}, button(deck.title, () => open(deck), "link"));
	if (deck.archived) item.append(element("small", {}, "archived"));
	return item;
}

function describe({ archived, created }) {
	const day = new Date(created).toLocaleDateString(undefined, { dateStyle: "long" });
	return archived ? `Archived deck, made on ${day}` : `Made on ${day}`;
}

// useSettings makes the page look as the person likes it.
function useSettings({ density, theme }) {
	document.documentElement.dataset.density = density;
	if (theme !== "system") document.documentElement.dataset.theme = theme;
}

// refusal is the message in a tool error, which the server writes as JSON.
function refusal(text) {
	try {
		return JSON.parse(text).message ?? text;
	} catch {
		return text;
	}
}
