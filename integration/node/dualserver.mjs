// An MCP server of both eras on version 2 of the TypeScript SDK, as its guide
// builds one for a local port: Host and Origin must be those of this machine.
// It takes the port as its argument. The server of interop/goserver_test.go has
// the same catalog.
import { createServer } from 'node:http';
import { createMcpHandler, fromJsonSchema, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';

const text = value => ({ type: 'text', text: value });
const link = uri => ({ type: 'resource_link', uri, name: uri });
const note = uri => ({ contents: [{ uri: uri.href ?? uri, mimeType: 'text/plain', text: `This is ${uri.href ?? uri}.` }] });
const said = value => ({ messages: [{ role: 'user', content: text(value) }] });

const person = fromJsonSchema({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] });

function catalog() {
    const server = new McpServer({ name: 'dual', version: '1.0.0' }, { capabilities: { resources: { subscribe: true } } });

    server.registerTool('greet', { description: 'Greets in three steps.', inputSchema: person }, async ({ name }, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        for (let progress = 1; progressToken !== undefined && progress <= 3; progress++) {
            await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
        }
        return { content: [text(`Hello, ${name}!`), link('note://private'), link('note://public')] };
    });
    server.registerTool('announce', { description: 'Says that the notes changed.' }, async () => {
        handler.notify.resourceUpdated('note://private');
        handler.notify.resourceUpdated('note://public');
        return { content: [text('announced')] };
    });
    server.registerTool('vault', { description: 'Not for everybody.' }, async () => ({ content: [text('the vault is open')] }));

    for (const name of ['public', 'private']) {
        server.registerResource(name, `note://${name}`, { mimeType: 'text/plain' }, note);
        server.registerResource(`${name} pages`, new ResourceTemplate(`note://${name}/{page}`, { list: undefined }), {}, note);
    }
    server.registerPrompt('welcome', { description: 'Begins.' }, () => said('Welcome.'));
    server.registerPrompt('audit', { description: 'Not for everybody.' }, () => said('Audit.'));
    return server;
}

const handler = createMcpHandler(catalog);
const serve = toNodeHandler(handler);
const allowsHost = localhostHostValidation();
const allowsOrigin = localhostOriginValidation();

createServer((req, res) => {
    if (allowsHost(req, res) && allowsOrigin(req, res)) serve(req, res);
}).listen(Number(process.argv[2]), '127.0.0.1');
