// An MCP client of the TypeScript SDKs. It walks through what clients do and
// prints what it saw as JSON; walk() in interop/goclient_test.go does the same
// with the Go SDK. Its argument is a JSON object:
//
//   sdk      1 (@modelcontextprotocol/sdk) or 2 (@modelcontextprotocol/client)
//   mode     with sdk 2: legacy, auto, or {pin: revision}
//   url, token
//   plan     what to call, read and wait for
const { sdk, mode, url, token, plan } = JSON.parse(process.argv[2]);

let client, call, onUpdated, StreamableHTTPClientTransport;
const info = { name: 'interop', version: '1.0.0' };
if (sdk === 1) {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    ({ StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js'));
    const { ResourceUpdatedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
    client = new Client(info);
    call = (params, options) => client.callTool(params, undefined, options);
    onUpdated = handle => client.setNotificationHandler(ResourceUpdatedNotificationSchema, handle);
} else {
    const { Client, ...rest } = await import('@modelcontextprotocol/client');
    ({ StreamableHTTPClientTransport } = rest);
    client = new Client(info, { versionNegotiation: { mode } });
    call = (params, options) => client.callTool(params, options);
    onUpdated = handle => client.setNotificationHandler('notifications/resources/updated', handle);
}

// The connection breaks once, when the list of tools is on its way: what comes
// through is the first event only, although the server has sent everything.
let breakNext = false;
let resumed = 0;
let listening;
const opened = new Promise(resolve => (listening = resolve)); // the stream on which the server talks first
async function faultyFetch(input, init) {
    const headers = new Headers(init?.headers);
    const response = await fetch(input, init);
    if (init?.method === 'GET') {
        if (headers.has('last-event-id')) resumed++;
        listening(response.status);
    }
    if (breakNext && init?.method === 'POST' && String(init.body).includes('"tools/list"')) {
        breakNext = false;
        const body = await response.text();
        const end = body.indexOf('\n\n') + 2;
        return new Response(body.slice(0, end), { status: response.status, headers: response.headers });
    }
    return response;
}

const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: faultyFetch,
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
    reconnectionOptions: { initialReconnectionDelay: 20, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 1.5, maxRetries: 5 }
});

// all reads every page of a listing.
async function all(list, member, name) {
    const names = [];
    let cursor;
    do {
        const page = await list(cursor === undefined ? undefined : { cursor });
        names.push(...page[member].map(name));
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return names.sort();
}

// outcome puts an answer, of whatever kind, into words.
async function outcome(promise) {
    try {
        return 'result ' + JSON.stringify(await promise);
    } catch (error) {
        return `error ${error.code} ${error.message}`;
    }
}

const words = content => content.filter(item => item.type === 'text').map(item => item.text).join('\n');
const seen = {};

const updated = [];
let arrived;
const waited = new Promise(resolve => (arrived = resolve));
onUpdated(({ params }) => {
    updated.push(params.uri);
    if (params.uri === plan.updated) arrived();
});

await client.connect(transport);
const modern = sdk === 2 && client.getProtocolEra() === 'modern';
seen.revision = modern ? client.getNegotiatedProtocolVersion() : transport.protocolVersion;
if (!modern) seen.stream = await opened;

const listTools = () => all(params => client.listTools(params), 'tools', tool => tool.name);
seen.tools = await listTools();
seen.prompts = await all(params => client.listPrompts(params), 'prompts', prompt => prompt.name);
seen.resources = await all(params => client.listResources(params), 'resources', resource => resource.uri);
seen.templates = await all(params => client.listResourceTemplates(params), 'resourceTemplates', template => template.uriTemplate);

let progress = 0;
const called = await call(plan.call, { onprogress: () => progress++ });
seen.called = words(called.content);
seen.progress = progress;
seen.links = (await call(plan.linking)).content.filter(item => item.type === 'resource_link').map(item => item.uri);
seen.hiddenCall = await outcome(call({ name: plan.hiddenTool, arguments: {} }));
seen.unknownCall = await outcome(call({ name: plan.unknownTool, arguments: {} }));

seen.read = (await client.readResource({ uri: plan.read })).contents[0].text;
seen.hiddenRead = await outcome(client.readResource({ uri: plan.hiddenResource }));
seen.unknownRead = await outcome(client.readResource({ uri: plan.unknownResource }));

seen.prompt = words((await client.getPrompt({ name: plan.prompt })).messages.map(message => message.content));
seen.hiddenPrompt = await outcome(client.getPrompt({ name: plan.hiddenPrompt }));
seen.unknownPrompt = await outcome(client.getPrompt({ name: plan.unknownPrompt }));

if (plan.updated) {
    const uris = [plan.hiddenResource, plan.updated];
    if (modern) {
        await client.listen({ resourceSubscriptions: uris });
    } else {
        for (const uri of uris) await outcome(client.subscribeResource({ uri }));
    }
    await call({ name: plan.announce, arguments: {} });
    await waited;
    seen.updated = updated;
}
if (plan.resume) {
    breakNext = true;
    seen.resumedTools = await listTools();
    seen.resumed = resumed;
}

const session = transport.sessionId;
if (session !== undefined) {
    await transport.terminateSession();
    const ping = await fetch(url, {
        method: 'POST',
        headers: {
            Authorization: `Bearer ${token}`,
            'Content-Type': 'application/json',
            Accept: 'application/json, text/event-stream',
            'Mcp-Session-Id': session,
            'MCP-Protocol-Version': seen.revision
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    });
    seen.afterClose = ping.status;
}
await client.close();
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
