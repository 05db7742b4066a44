// What the page asks its own server, which relays it.

const MAX_EVENT = 32 << 20; // characters

/** Why there is no answer: a class and a sentence. */
export class Fault extends Error {
	constructor(kind, text) {
		super(text);
		this.kind = kind;
	}
}

/** Asks for JSON. A body, which is JSON text, makes it a POST. */
export async function ask(path, body, signal) {
	const answer = await send(path, body, signal);
	try {
		return await answer.json();
	} catch (error) {
		throw given(error, signal);
	}
}

/** Calls on(event, data) for each event until the stream ends. */
export async function listen(path, body, signal, on) {
	const answer = await send(path, body, signal);
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	try {
		for (;;) {
			const { value, done } = await reader.read();
			if (done) return;
			const events = (rest + value).split("\n\n");
			rest = events.pop();
			if (rest.length > MAX_EVENT) throw new Fault("malformed", "An answer is too large to be shown.");
			for (const event of events) one(event, on);
		}
	} catch (error) {
		throw given(error, signal);
	} finally {
		reader.cancel().catch(() => {});
	}
}

function one(text, on) {
	let event = "message";
	const data = [];
	for (const line of text.split("\n")) {
		if (line.startsWith("event: ")) event = line.slice(7);
		else if (line.startsWith("data: ")) data.push(line.slice(6));
	}
	if (data.length > 0) on(event, JSON.parse(data.join("\n")));
	else on("alive");
}

async function send(path, body, signal) {
	let answer;
	try {
		answer = await fetch(path, body === undefined ? { signal } : { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
	} catch (error) {
		throw given(error, signal);
	}
	if (answer.ok) return answer;
	const text = await answer.text().catch(() => "");
	let said;
	try {
		said = JSON.parse(text);
	} catch {
		said = { class: "refused", text };
	}
	throw new Fault(said.class, said.text || "The console answered " + answer.status + ".");
}

/** What an error means to whoever looks at the page. */
function given(error, signal) {
	if (error instanceof Fault) return error;
	if (signal?.aborted) return new Fault("cancelled", "Cancelled.");
	if (error instanceof SyntaxError) return new Fault("malformed", "The answer cannot be read.");
	return new Fault("gone", "The console has ended. Start caddy mcp-app console again, and open the new link.");
}
