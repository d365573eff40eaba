// Module api calls the service. The token lives in this module's memory, and in the tab's session storage for a reload.
import { signal, computed } from './h.js';
import { curl } from './format.js';

/** root is the address of the API: the parent of the page's folder, below whatever base path there is. */
export const root = new URL('../', document.baseURI.split('#')[0]);

/** session holds who is logged in: the company, the person's companies, the scopes, the token's end, whether the company's provider signed
 * the person in, and whether the person must enrol a second factor first; null before the login. */
export const session = signal(null);

/** lapsed says why the page asks for the password again; '' while it does not. */
export const lapsed = signal('');

/** written counts the writes of this page. */
export const written = signal(0);

let token = '', email = '', waiting = [], offset = 0;

/** name is the name under which the tab's session storage holds the session. */
const name = 'orgops.session';

/** keep stores the session for a reload of this tab. Session storage belongs to one tab and one origin: no request carries it,
 * no other origin reads it, and it ends with the tab. */
function keep() {
  try { sessionStorage.setItem(name, JSON.stringify({ token, email, offset, ...session.value, scopes: [...session.value.scopes] })); } catch { /* a browser may forbid it: then a reload asks for the password */ }
}

/** forgetKept removes the stored session, so that a reload asks for the password. */
export function forgetKept() {
  try { sessionStorage.removeItem(name); } catch { /* nothing was stored then */ }
}

/** resume returns to the session that a reload of this tab interrupted, until its token ends by the service's time. */
export function resume() {
  try {
    const { scopes, ...kept } = JSON.parse(sessionStorage.getItem(name));
    offset = kept.offset;
    if (kept.until <= now()) return forgetKept();
    ({ token, email } = kept);
    session.value = { company: kept.company, companies: kept.companies ?? [], provider: kept.provider, enrol: kept.enrol, scopes: new Set(scopes), until: kept.until };
  } catch { /* nothing usable is stored */ }
}

/** now returns the service's time in milliseconds, from the Date header of its answers. */
export const now = () => Date.now() + offset;

/** may reports whether the session has a scope. */
export const may = (scope) => session.value?.scopes.has(scope) ?? false;

/** userEmail returns the e-mail of the session, for the dialog that asks for the password again. */
export const userEmail = () => email;

/** userId returns the id of the user of the session: the subject of its token (RFC 9068). */
export const userId = () => JSON.parse(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/'))).sub;

/** Problem is an answer that reports an error (RFC 9457), or the lack of an answer. */
export class Problem extends Error {
  constructor(body, status, requestId) {
    super(body.detail || body.title || 'The service did not answer');
    Object.assign(this, {
      title: body.title || 'The service did not answer', detail: body.detail || '', errors: body.errors || [], status,
      type: body.type || '', challenge: body.challenge, requestId: requestId || '',
    });
  }
}

/** addressOf returns the url of a path in an answer, or of a path below the company. */
export function addressOf(path) {
  if (path.startsWith('/')) return new URL(path, root.origin).href;
  if (path.startsWith('auth/')) return new URL(path, root).href;
  return new URL(`companies/${session.value.company}/${path}`, root).href;
}

/** commandOf returns a request as a curl command. */
export const commandOf = (method, path, body) => curl(method, addressOf(path), body);

async function send(method, url, { body, headers = {}, signal: abort, redirect = 'error', cookies = false } = {}) {
  const all = { Accept: 'application/json', ...headers };
  if (token) all.Authorization = `Bearer ${token}`;
  if (body !== undefined) all['Content-Type'] = 'application/json';
  let res, text;
  try {
    res = await fetch(url, {
      method, headers: all, body: body === undefined ? undefined : JSON.stringify(body), signal: abort,
      credentials: cookies ? 'same-origin' : 'omit', cache: 'no-store', redirect, referrerPolicy: 'no-referrer',
    });
    text = await res.text();
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new Problem({ title: 'The service cannot be reached', detail: 'Check the connection, then try again.' }, 0);
  }
  const date = Date.parse(res.headers.get('Date') ?? '');
  if (date) offset = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0;
  let content = null;
  try { content = text ? JSON.parse(text) : null; } catch { content = null; }
  if (!res.ok && res.status !== 304 && res.type !== 'opaqueredirect') {
    throw new Problem(content ?? { title: `The service answered ${res.status}` }, res.status, res.headers.get('X-Request-Id'));
  }
  if (method !== 'GET') written.value++;
  return { status: res.status, body: content, text, etag: res.headers.get('ETag') ?? '', link: res.headers.get('Link') ?? '' };
}

/** repeatable reports whether a request may be sent again after the token was renewed. */
const repeatable = (method, headers) => method === 'GET' || Boolean(headers?.['Idempotency-Key']);

/** call sends a request. A write with POST gets an Idempotency-Key. If the token has ended, call asks for the password once
 * and repeats the request if that is safe. */
export async function call(method, path, options = {}) {
  const headers = { ...options.headers };
  if (method === 'POST' && !options.once) headers['Idempotency-Key'] = crypto.randomUUID?.() ?? String(Math.random()).slice(2) + Date.now();
  const url = addressOf(path), company = session.value?.company;
  try {
    return await send(method, url, { ...options, headers });
  } catch (problem) {
    if (problem.status !== 401 || !session.value || path.startsWith('auth/')) throw problem; // there a 401 may mean the password
    await renewed();
    if (!repeatable(method, headers) || session.value?.company !== company) throw new Problem({ title: 'The session had ended', detail: 'Nothing was changed. Send it again.' }, 401);
    return send(method, url, { ...options, headers });
  }
}

/** renewed waits until the person has logged in again. */
function renewed(why = 'The session has ended') {
  lapsed.value = why;
  return new Promise((resolve) => waiting.push(resolve));
}

/** proven runs a request that needs a login of minutes ago, and asks for one if it is refused. */
export async function proven(run) {
  try { return await run(); } catch (problem) {
    if (problem.status !== 401) throw problem;
    await renewed('Log in again for this');
    return run();
  }
}

/** get returns the body of a GET. */
export const get = async (path, options) => (await call('GET', path, options)).body;

/** logIn exchanges an e-mail and a password for a token, of a company if one is named. A Problem with a challenge asks for a second factor. */
export const logIn = (withEmail, password, company) => enter('auth/login', { email: withEmail, password, company }, withEmail);

/** prove ends such a login with a code, or with what a passkey has signed. */
export const prove = (challenge, answer, withEmail) => enter('auth/challenge', { challenge, ...answer }, withEmail);

/** accept exchanges an invitation and a new password for a token. */
export const accept = (invitation, password) => enter('auth/invitation', { token: invitation, password }, '');

/** postPublic sends what needs no token. */
export const postPublic = (path, body) => send('POST', new URL(path, root).href, { body });

/** exchange exchanges the code of a sign-in through the company's provider for a token. */
export const exchange = (code, verifier) => enter('auth/token', { grant_type: 'authorization_code', code, code_verifier: verifier }, '');

/** leads fails with the answer of an address that leads nowhere else. It does not follow. */
export const leads = (url) => send('GET', url, { redirect: 'manual' });

async function enter(path, credentials, withEmail) {
  token = '';
  const { body } = await send('POST', new URL(path, root).href, { body: credentials });
  begin(body, withEmail, path === 'auth/token');
}

const accessToken = 'urn:ietf:params:oauth:token-type:access_token';

/** change goes to another company of the person, at a place there. The page begins again, so that nothing of this company stays. */
export async function change(company, to = '#/') {
  const { body } = await send('POST', new URL('auth/token', root).href, { body: { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: token, subject_token_type: accessToken, audience: company } });
  again(body, to);
}

/** join accepts an invitation to another company, as the person of the session. */
export async function join(invitation) {
  again((await send('POST', new URL('auth/invitation', root).href, { body: { token: invitation } })).body, '#/');
}

function again(answer, to) {
  begin(answer);
  history.replaceState(null, '', to);
  location.reload();
}

/** begin begins a session with the answer to a login. */
export function begin(body, withEmail = email, provider = false) {
  token = body.access_token;
  email = withEmail;
  session.value = {
    company: body.company_id, companies: body.companies ?? [], provider, enrol: body.enrolment_required === true, scopes: new Set((body.scope ?? '').split(' ')), until: now() + body.expires_in * 1000,
  };
  lapsed.value = '';
  keep();
  const all = waiting;
  waiting = [];
  for (const go of all) go();
}

/** logOut forgets the token and all that was read with it. */
export function logOut() {
  forgetKept();
  token = email = '';
  waiting = [];
  lapsed.value = '';
  session.value = null;
}

export const signedIn = computed(() => session.value !== null);
