// What servers and tokens say is shown as text, and only as text: what cannot be
// seen or would reorder a line is written as its code, secrets are left out, and
// everything is bounded.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/gu;
const UNSEEN_BUT_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

const SHORTEST_SECRET = 8; // shorter ones would tear other words apart

let secret = "";

/** The token of the last check, which is shown nowhere, whoever repeats it. */
export function hide(token) {
	secret = token.length < SHORTEST_SECRET ? "" : token;
}

const withoutSecret = (text) => (secret ? text.replaceAll(secret, "[redacted]") : text);

const code = (character) => "\\u{" + character.codePointAt(0).toString(16) + "}";

// In JSON, so that it stays JSON.
const jsonCode = (characters) => Array.from({ length: characters.length }, (_, i) => "\\u" + characters.charCodeAt(i).toString(16).padStart(4, "0")).join("");

function cut(text, limit) {
	if (text.length <= limit) return text;
	// Not through the middle of a character.
	const end = /[\ud800-\udbff]/.test(text[limit - 1]) ? limit - 1 : limit;
	return text.slice(0, end) + "… (" + many(text.length - end, "character") + " more)";
}

/** One line. */
export const line = (value, limit = 300) => cut(withoutSecret(String(value ?? "")), limit).replace(UNSEEN, code);

/** Several lines. */
export const lines = (value, limit = 20_000) => cut(withoutSecret(String(value ?? "").replaceAll("\r\n", "\n")), limit).replace(UNSEEN_BUT_LINES, code);

/** A JSON value, indented. */
export const json = (value, limit = 200_000) => cut(withoutSecret(JSON.stringify(value, null, 2) ?? ""), limit).replace(UNSEEN_BUT_LINES, jsonCode);

export const number = (n) => n.toLocaleString("en");

export const many = (n, one, more = one + "s") => number(n) + " " + (n === 1 ? one : more);

export const clock = (time) => new Date(time).toLocaleTimeString("en-GB");

/** How long ago, in words. */
export function ago(time) {
	const seconds = Math.max(0, Math.round((Date.now() - new Date(time)) / 1000));
	if (seconds < 5) return "just now";
	if (seconds < 60) return many(seconds, "second") + " ago";
	if (seconds < 3600) return many(Math.floor(seconds / 60), "minute") + " ago";
	return many(Math.floor(seconds / 3600), "hour") + " ago";
}
