// How both pages show a deck. Text goes in as text, never as markup.
function listItem(deck, open) {
	const item = document.createElement("li");
	const button = document.createElement("button");
	button.type = "button";
	button.textContent = deck.title;
	button.addEventListener("click", () => open(deck));
	item.append(button);
	if (deck.archived) {
		const note = document.createElement("small");
		note.textContent = "archived";
		item.append(note);
	}
	return item;
}

function describe({ archived, created }) {
	const day = new Date(created).toLocaleDateString(undefined, { dateStyle: "long" });
	return archived ? `Archived deck, made on ${day}` : `Made on ${day}`;
}
