// Lets the test look into a page.
{
	const tell = (problem) => parent.postMessage({ problem }, "*");
	addEventListener("error", ({ message }) => tell(message));
	addEventListener("unhandledrejection", ({ reason }) => tell(`unhandled ${reason}`));
	addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => tell(`${violatedDirective} ${blockedURI}`));

	const visible = (element) => element.checkVisibility();
	const deeds = {
		text: () => document.body.innerText,
		count: (selector) => document.querySelectorAll(selector).length,
		focused: () => document.activeElement.id,
		press: (text) => {
			const button = [...document.querySelectorAll("button")].find((one) => visible(one) && one.textContent === text);
			button?.click();
			return Boolean(button);
		},
		fill: (id, text) => { document.getElementById(id).value = text; },
		unlabelled: () => [...document.querySelectorAll("input, textarea, button")]
			.filter((one) => visible(one) && !one.labels?.length && !one.textContent.trim())
			.map((one) => `no name for ${one.outerHTML}`),
	};
	addEventListener("message", ({ source, data }) => {
		if (source !== parent || !data?.deed) return;
		parent.postMessage({ probe: data.probe, value: deeds[data.deed](...data.args) }, "*");
	});
}
