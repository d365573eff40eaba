// Module consent asks a person whether a third party may act (RFC 6749 §4.1). The service has checked the request before it led here, and
// checks it again with the decision.
import { html, useState } from '../lib/h.js';
import { call, logOut, session, userEmail } from '../lib/api.js';
import { useLive } from '../lib/live.js';
import { route } from '../lib/route.js';
import { Action, Await, Head } from '../ui/parts.js';

/** Authorize shows who asks, for which company, and what the person can give. */
export function Authorize() {
  const asked = route.value.query, live = useLive(`auth/consent?${new URLSearchParams(asked)}`, { poll: false });
  return html`<${Head} title="Give access" about="A program outside of this service asks to act in your company." />
    <${Await} of=${live}>${(c) => html`<${Decide} asked=${asked} of=${c} />`}<//>
    ${live.problem && html`<p class="muted">You are in the company <code>${session.value.company}</code>. Is the request for another one? <button type="button" class="quiet" onClick=${logOut}>Log in there</button></p>`}`;
}

/** Decide holds the choice. What only reads is chosen at first. */
function Decide({ asked, of }) {
  const [scopes, setScopes] = useState(new Set(asked.scope ? of.scopes : of.scopes.filter((s) => s.endsWith(':read')))), [as, setAs] = useState('');
  const toggle = (s) => { const next = new Set(scopes); next.delete(s) || next.add(s); setScopes(next); };
  const answer = (allow) => async () => {
    const body = { ...asked, allow, ...(as ? { executive: as } : { scopes: [...scopes] }) };
    location.assign((await call('POST', 'auth/consent', { body, once: true })).body.redirectTo);
  };
  const chosen = of.executives.find((e) => e.id === as);
  return html`<section class="card narrow"><p class="muted">The program of</p><p class="host">${of.clientHost}</p><p>calls itself “${of.clientName}” and asks for access to ${of.endpoint === 'mcp' ? 'the MCP endpoint' : 'the API'} of</p><p class="host">${of.companyName}</p>
      <p class="muted">You are ${userEmail() || 'logged in'}. Afterwards you are led to <strong>${of.redirectHost}</strong>. Go on only if you have just asked for this there.</p></section>
    ${of.executives.length > 0 && html`<fieldset class="card narrow"><legend>It acts</legend><div class="choices">
      ${[['', 'For you, with the rights that you choose'], ...of.executives.map((e) => [e.id, `As the executive ${e.name}`])].map(([id, label]) => html`<label key=${id}><input type="radio" name="as" checked=${as === id} onChange=${() => setAs(id)} /> ${label}</label>`)}</div></fieldset>`}
    ${chosen ? html`<section class="card narrow"><p>It may ask for the actions of ${chosen.name}, which the company's policies decide${chosen.reads.length > 0 ? ', and has' : '.'} ${chosen.reads.map((s) => html`<code key=${s}>${s}</code> `)}</p></section>`
    : html`<fieldset class="card narrow"><legend>It may</legend><div class="choices">${of.scopes.map((s) => html`<label key=${s}><input type="checkbox" checked=${scopes.has(s)} onChange=${() => toggle(s)} /> ${s}</label>`)}</div>
      ${of.scopes.length === 0 && html`<p class="muted">You can give nothing of what it asks for.</p>`}</fieldset>`}
    <p class="muted">It never configures, certifies, approves or manages. A founder or an operator ends its access under Operations, Access.</p>
    <p class="row"><${Action} primary label="Allow" run=${answer(true)} /><${Action} label="Refuse" run=${answer(false)} /></p>`;
}
