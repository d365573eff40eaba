// Module sso signs a person in through the company's identity provider: the authorization code flow with PKCE. The browser reads
// it when somebody asks for that.
//
// The way to the provider leaves the page. What must come back to it is in the session storage of the tab, from the start until
// the provider's answer: the verifier, the state and the place that the person wanted. A session of before ends with the start.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/h.js';
import { Problem, exchange, forgetKept, leads, root, session } from '../lib/api.js';
import { replace, route } from '../lib/route.js';
import { Trouble } from '../ui/parts.js';

const name = 'orgops.sign-in';

/** take returns what start kept, and removes it. */
function take() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name));
    sessionStorage.removeItem(name);
    return kept;
  } catch { return null; }
}

const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const secret = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** start leaves the page for the company's provider. It asks first whether the start leads there, so that a refusal is shown
 * in the page. */
async function start(company, to) {
  if (!crypto.subtle) throw new Problem({ title: 'Single sign-on needs https', detail: 'Open the console at its address with https.' });
  const verifier = secret(), state = secret();
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)));
  const url = new URL(`auth/sso/${encodeURIComponent(company)}/start`, root);
  url.search = new URLSearchParams({ code_challenge: base64url(digest), code_challenge_method: 'S256', state });
  await leads(url.href);
  try { sessionStorage.setItem(name, JSON.stringify({ verifier, state, to })); } catch {
    throw new Problem({ title: 'The browser keeps nothing for this page', detail: 'Allow it to store data for this site, then try again.' });
  }
  forgetKept(); // the page that comes back asks for a session of its own
  location.assign(url.href);
}

/** finish exchanges the code, if this tab began the sign-in, and goes on at the place that the person wanted. */
async function finish({ code, state }) {
  const kept = take();
  if (!kept || kept.state !== state) throw new Problem({ title: 'This sign-in did not begin here', detail: 'Another tab began it, or it was used before. Start it again.' });
  await exchange(code, kept.verifier);
  replace(kept.to);
}

/** refusals says in words why the service refused a sign-in. The codes are the service's own; any other text is not shown. */
const refusals = {
  again: 'The sign-in took too long, was used before or began in another browser. Start it again.', refused: 'The answer of your company\'s provider could not be trusted. Start again; if it happens again, tell your administrator.',
  forbidden: 'The provider knows you, but you may not sign in: your account has no role, is disabled, or its e-mail address is not verified or has another login. Ask your administrator.',
  plan: 'Your company\'s plan does not include single sign-on. Log in with a password.', suspended: 'Your company is suspended.', unavailable: 'Your company\'s provider cannot be reached now. Try again in a minute.',
};
const refusal = (code) => code && new Problem({ title: 'You are not signed in', detail: (Object.hasOwn(refusals, code) && refusals[code]) || 'The sign-in failed. Start it again.' });

/** wanted returns a place of the console that is not a login. */
const wanted = (to) => (/^#\/(?!sso|invitation)/.test(to ?? '') ? to : '#/');

/** useStart returns what a form needs to start a sign-in. */
function useStart() {
  const [problem, setProblem] = useState(null), [busy, setBusy] = useState(false);
  const run = (company, to) => async (e) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    try { await start(company, to); } catch (p) { setProblem(p); }
    setBusy(false); // who comes back with the browser's own button can start again
  };
  return { problem, setProblem, busy, setBusy, run };
}

/** SignOn asks for the company, and takes the provider's answer. */
export function SignOn() {
  const { code, state, to, company: named, refused } = route.value.query;
  const [company, setCompany] = useState(named ?? ''), first = useRef(null), { problem, setProblem, busy, setBusy, run } = useStart();
  useLayoutEffect(() => { first.current?.focus(); }, [code]);
  useEffect(() => {
    if (!code) { take(); return; } // a sign-in that the person gave up
    setBusy(true);
    finish({ code, state }).catch((p) => { setProblem(p); setBusy(false); });
  }, [code]);
  return html`<form class="stack" onSubmit=${run(company.trim(), wanted(to))}>
    <div class="field"><label for="company">Company id</label><input ref=${first} id="company" autocomplete="organization" spellcheck=${false} required maxlength="64" value=${company} onInput=${(e) => setCompany(e.currentTarget.value)} /></div>
    <${Trouble} problem=${problem ?? (busy ? null : refusal(refused))} /><button class="primary wide" disabled=${busy}>${busy ? 'Signing in…' : 'Sign in with your company'}</button></form>
    <p><a href=${wanted(to)}>Log in with a password</a></p>`;
}

/** Again signs in once more when the token has ended, and comes back to this place. */
export function Again() {
  const { problem, busy, run } = useStart(), button = useRef(null);
  useLayoutEffect(() => { button.current?.focus(); }, []);
  return html`<form class="stack" onSubmit=${run(session.value.company, wanted(location.hash))}><p>Your company's provider signs you in again, and leads back to this place. What you typed on the page is lost.</p>
    <${Trouble} problem=${problem} /><button ref=${button} class="primary wide" disabled=${busy}>${busy ? 'Signing in…' : 'Sign in with your company'}</button></form>`;
}
