// Decisions as they are made: a stream that is opened again when it breaks, with
// counters and the latest records.

import { listen } from "./ask.js";
import { badge, make, name, notice } from "./dom.js";
import { clock, line, number } from "./text.js";

const MAX_RECORDS = 200;
const LONGEST_PAUSE = 15_000; // milliseconds between two tries

const COLOURS = { allow: "good", challenge: "warn", login: "warn", hide: "bad", refuse: "bad", end: "" };
const ORDER = ["allow", "challenge", "login", "hide", "refuse", "end"];

/** Live decisions; told() gets "open", "ended" or a Fault. */
export class Live {
	#told;
	#records = [];
	#counts = new Map();
	#missed = 0;
	#paused = false;
	#due = false;
	#since = Date.now();
	#endpoint = "";
	#counters = make("dl", { class: "counters", "aria-label": "Counters" });
	#list = make("ol", { class: "rows live" });
	#hint = make("p", { class: "hint" });
	#none = notice("empty", "No decisions yet", "Each message that a client sends to this endpoint appears here when it is decided.");
	#pause = make("button", { type: "button", "aria-pressed": "false", onclick: () => this.#toggle() }, "Pause");

	constructor(panel, told) {
		this.#told = told;
		const empty = make("button", { type: "button", onclick: () => this.empty() }, "Clear");
		panel.append(make("div", { class: "heading" }, this.#counters, make("div", { class: "actions" }, this.#pause, empty)), this.#hint, this.#none, this.#list);
		this.#draw();
	}

	/** Only records of one endpoint's path are shown. Counting begins anew. */
	of(endpoint) {
		this.#endpoint = endpoint;
		this.empty();
	}

	/** Forgets what was seen. */
	empty() {
		this.#records = [];
		this.#counts.clear();
		this.#missed = 0;
		this.#since = Date.now();
		this.#later();
	}

	/** Listens for ever, also after the configuration was replaced. */
	async run() {
		for (let pause = 500; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
			let ended = false;
			try {
				let open = false;
				await listen("api/events", undefined, undefined, (event, data) => {
					if (!open) this.#told("open");
					open = true;
					pause = 500;
					if (event === "decision") this.#add(data);
					else if (event === "dropped") this.#missed += Number(data.count) || 0;
					else if (event === "end") ended = true;
					this.#later();
				});
				this.#told(ended ? "ended" : "broken");
			} catch (fault) {
				this.#told(fault);
			}
			await new Promise((done) => setTimeout(done, ended ? 100 : pause));
		}
	}

	#add(record) {
		if (this.#endpoint && record.endpoint !== this.#endpoint) return;
		const decision = ORDER.includes(record.decision) ? record.decision : "other";
		this.#counts.set(decision, (this.#counts.get(decision) ?? 0) + 1);
		this.#records.unshift(record);
		this.#records.length = Math.min(this.#records.length, MAX_RECORDS);
	}

	#toggle() {
		this.#paused = !this.#paused;
		this.#pause.setAttribute("aria-pressed", String(this.#paused));
		this.#pause.textContent = this.#paused ? "Go on" : "Pause";
		this.#later();
	}

	// Many records become one drawing.
	#later() {
		if (this.#due) return;
		this.#due = true;
		setTimeout(() => {
			this.#due = false;
			this.#draw();
		}, 100);
	}

	#draw() {
		this.#counters.replaceChildren(...[...ORDER.map((d) => [d, this.#counts.get(d) ?? 0]), ["missed", this.#missed]]
			.filter(([word, n]) => n > 0 || ["allow", "hide", "refuse"].includes(word))
			.map(([word, n]) => make("div", {}, make("dt", {}, word), make("dd", {}, number(n)))));
		this.#hint.textContent = "Counted since " + clock(this.#since) + (this.#paused ? ". The list stands still; counting goes on." : ". The latest " + MAX_RECORDS + " are listed.");
		if (this.#paused) return;
		this.#list.replaceChildren(...this.#records.map(row));
		this.#none.hidden = !(this.#list.hidden = this.#records.length === 0);
	}
}

function row(record) {
	const what = [record.mcp_method, record.mcp_name].filter(Boolean);
	const who = record.subject ? [name(record.subject, 120), record.tenant ? [" of ", name(record.tenant, 80)] : ""].flat() : ["nobody who has logged in"];
	return make("li", { class: "plain" },
		make("span", { class: "what" },
			make("time", { datetime: line(record.time) }, clock(record.time)),
			badge(record.decision, COLOURS[record.decision] ?? ""),
			what.length > 0 ? what.map((text) => name(text, 120)) : line(record.http_method, 20)),
		make("span", { class: "why" }, who,
			record.rule ? [", rule ", name(record.rule, 120)] : "",
			record.cause ? ", " + line(record.cause, 40) : "",
			record.reason ? ": " + line(record.reason) : ""));
}
