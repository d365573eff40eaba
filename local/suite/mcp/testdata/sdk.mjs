// The official TypeScript SDK finds out from a refused request how to get in, and lists and calls tools.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { allow } from './person.mjs';

const { ENDPOINT, PARTY, CALLBACK } = process.env;
const kept = {};
let ended;
const authProvider = {
  redirectUrl: CALLBACK,
  clientMetadataUrl: PARTY,
  clientMetadata: { client_name: 'Agent', redirect_uris: [CALLBACK] },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  redirectToAuthorization: async (request) => { ended = await allow(request); },
};

const transport = () => new StreamableHTTPClientTransport(new URL(ENDPOINT), { authProvider });
const first = transport();
try {
  await new Client({ name: 'test', version: '1' }).connect(first);
  throw new Error('connected without a token');
} catch (e) {
  if (!(e instanceof UnauthorizedError)) throw e;
}
await first.finishAuth(ended.searchParams.get('code'));

kept.tokens.access_token = 'expired'; // the SDK gets a new one with the refresh token
const client = new Client({ name: 'test', version: '1' });
await client.connect(transport());
console.log('connected to', client.getServerVersion().name);
const { tools } = await client.listTools();
console.log('listed', tools.map((t) => t.name).filter((name) => name === 'get-brief').join());
const called = tools.filter((t) => t.annotations.readOnlyHint && !t.inputSchema.required?.length);
for (const { name } of called) { // the SDK checks each answer against the schema of the tool
  const { isError } = await client.callTool({ name, arguments: {} });
  if (isError) throw new Error(`${name} answers an error`);
}
console.log('called', called.length > 5);
await client.close();
