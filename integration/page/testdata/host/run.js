// Runs the scenarios of one suite, one after the other, and reports. With the
// parameter keep the apps stay open, to be looked at.
const parameters = new URLSearchParams(location.search);
const { default: scenarios } = await import(`/suite/${parameters.get("suite")}.js`);

const send = (path, body) => fetch(path, { method: "POST", body: JSON.stringify(body) });

for (const [name, scenario] of Object.entries(scenarios)) {
	let failure = "";
	const opened = [];
	await send("/begin", name);
	try {
		await scenario(opened, parameters);
		for (const app of opened) app.checkClean();
	} catch (error) {
		failure = `${error.stack}\n${opened.map((app) => app.log()).join("\n")}`;
	}
	if (!parameters.has("keep")) for (const app of opened) app.close();
	await send("/result", { name, failure });
}
await send("/done", null);
