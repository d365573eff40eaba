// oauth4webapi, which checks each answer against the RFCs, gets tokens in every way that the service gives them.
import * as oauth from 'oauth4webapi';
import { allow } from './person.mjs';

const { BASE, ENDPOINT, FOUNDER, PARTY, CALLBACK } = process.env;
const { MACHINE_ID, MACHINE_SECRET, SIGNER_ID, SIGNER_KEY, EXECUTIVE_ID, EXECUTIVE_SECRET } = process.env;
const http = { [oauth.allowInsecureRequests]: true };
const accessToken = 'urn:ietf:params:oauth:token-type:access_token';

const resource = new URL(ENDPOINT);
const guarded = await oauth.processResourceDiscoveryResponse(resource, await oauth.resourceDiscoveryRequest(resource, http));
const issuer = new URL(guarded.authorization_servers[0]);
let as;
for (const algorithm of ['oidc', 'oauth2']) {
  as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm, ...http }));
}
console.log('discovered', as.issuer === BASE);

// claims checks an access token as a resource server does (RFC 9068).
const claims = (token, audience) => oauth.validateJwtAccessToken(
  as, new Request(ENDPOINT, { headers: { Authorization: `Bearer ${token}` } }), audience, http);
// read calls the API with a token, and returns the status.
const read = async (token) => {
  try {
    return (await oauth.protectedResourceRequest(token, 'GET', new URL(`${ENDPOINT}/../mission-control/health`), undefined, undefined, http)).status;
  } catch (e) {
    if (!(e instanceof oauth.WWWAuthenticateChallengeError)) throw e;
    return `${e.status} ${e.cause.map((c) => `${c.scheme} ${c.parameters.error}`)}`;
  }
};

// The authorization code with PKCE, and what follows.
const party = { client_id: PARTY, token_endpoint_auth_method: 'none' };
const verifier = oauth.generateRandomCodeVerifier(), state = oauth.generateRandomState();
const request = new URL(as.authorization_endpoint);
request.search = new URLSearchParams({
  response_type: 'code', client_id: PARTY, redirect_uri: CALLBACK, scope: 'mission-control:read memory:read', state, resource: ENDPOINT,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
});
const answered = oauth.validateAuthResponse(as, party, await allow(request), state);
const exchange = () => oauth.authorizationCodeGrantRequest(as, party, oauth.None(), answered, CALLBACK, verifier, { ...http, additionalParameters: { resource: ENDPOINT } });
const granted = await oauth.processAuthorizationCodeResponse(as, party, await exchange());
console.log('code', granted.token_type, granted.scope, (await claims(granted.access_token, ENDPOINT)).client_id !== undefined);
const renewed = await oauth.processRefreshTokenResponse(as, party, await oauth.refreshTokenGrantRequest(as, party, oauth.None(), granted.refresh_token, http));
console.log('refresh', renewed.refresh_token !== granted.refresh_token, await read(renewed.access_token));
try {
  await oauth.processAuthorizationCodeResponse(as, party, await exchange());
} catch (e) {
  console.log('code again', e.error);
}

// Clients with a secret, in the body or by HTTP Basic, and with a key.
const machine = { client_id: MACHINE_ID };
const key = await crypto.subtle.importKey('jwk', JSON.parse(SIGNER_KEY), { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
for (const [name, client, proof] of [
  ['post', machine, oauth.ClientSecretPost(MACHINE_SECRET)],
  ['basic', machine, oauth.ClientSecretBasic(MACHINE_SECRET)],
  ['key', { client_id: SIGNER_ID }, oauth.PrivateKeyJwt({ key, kid: 'one' })],
]) {
  const got = await oauth.processClientCredentialsResponse(as, client, await oauth.clientCredentialsGrantRequest(as, client, proof, { scope: 'mission-control:read' }, http));
  const { iss, client_id } = await claims(got.access_token, 'orgops');
  console.log(name, got.scope, iss === BASE && client_id.length > 0, await read(got.access_token));
  await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, proof, got.access_token, http));
}
try {
  await oauth.processClientCredentialsResponse(as, machine, await oauth.clientCredentialsGrantRequest(as, machine, oauth.ClientSecretBasic(`${MACHINE_SECRET}x`), {}, http));
} catch (e) {
  console.log('wrong secret', e.error ?? e.cause.map((c) => c.scheme).join());
}

// An executive acts for the founder (RFC 8693).
const executive = { client_id: EXECUTIVE_ID };
const proof = oauth.ClientSecretPost(EXECUTIVE_SECRET);
const own = await oauth.processClientCredentialsResponse(as, executive, await oauth.clientCredentialsGrantRequest(as, executive, proof, {}, http));
const acting = await oauth.processGenericTokenEndpointResponse(as, executive, await oauth.genericTokenEndpointRequest(
  as, executive, proof, 'urn:ietf:params:oauth:grant-type:token-exchange',
  { subject_token: FOUNDER, subject_token_type: accessToken, actor_token: own.access_token, actor_token_type: accessToken }, http));
console.log('exchange', acting.issued_token_type === accessToken, (await claims(acting.access_token, 'orgops')).act.sub.length > 0);
