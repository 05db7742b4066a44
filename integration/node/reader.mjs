// Reads answers as a client in JavaScript would, and prints the names it finds
// in lists. Each line of the input is {status, header, body in base64}, each
// line of the output the array of names.
import { createParser } from 'eventsource-parser';
import { createInterface } from 'node:readline';

const lists = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' };

function namesIn(text) {
    let parsed;
    try {
        parsed = JSON.parse(text);
    } catch {
        return [];
    }
    const names = [];
    for (const message of Array.isArray(parsed) ? parsed : [parsed]) {
        for (const [list, name] of Object.entries(lists)) {
            const elements = message?.result?.[list];
            if (Array.isArray(elements)) names.push(...elements.map(element => element?.[name]).filter(found => typeof found === 'string'));
        }
    }
    return names;
}

for await (const line of createInterface({ input: process.stdin })) {
    const { status, body } = JSON.parse(line);
    const text = new TextDecoder().decode(Buffer.from(body, 'base64'));
    const names = namesIn(text);
    if (status >= 200 && status < 300) {
        const parser = createParser({ onEvent: event => names.push(...namesIn(event.data)) });
        parser.feed(text);
        parser.reset({ consume: true }); // and what a broken connection left
        parser.feed('\n\n');
    }
    console.log(JSON.stringify(names));
}
