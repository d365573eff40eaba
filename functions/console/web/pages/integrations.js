// Module integrations lists the integrations, and leads through the connection of another one.
import { html, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { percent } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { go } from '../lib/route.js';
import { Await, Curl, Empty, Head, Status, Time, Trouble, health } from '../ui/parts.js';
import { bodyOf, fieldsOf, typed } from '../lib/schema.js';
import { Field, SchemaForm } from '../ui/form.js';
import { createOnly, ifMatch } from '../ui/guard.js';
import { Later } from '../ui/later.js';
import { SecretShown } from './secret.js';

export function Integrations() {
  const list = useLive('integrations');
  return html`<${Head} title="Integrations" about="What is connected, and what each connector may do."><${Curl} path="integrations" />
      ${may('integrations:write') && html`<a class="button primary" href="#/connect">Connect</a>`}<//>
    <${Await} of=${list}>${({ items }) => (items.length === 0
      ? html`<${Empty} title="Nothing is connected yet">A webhook receives your events; a source brings in memories and goals. <p><a class="button primary" href="#/connect">Connect the first one</a></p><//>`
      : html`<ul class="plain grid two">${items.map((i) => html`<li key=${i.provider} class="card"><${Summary} of=${i} />${i.paused && html`<${Later} part="Paused" of=${i} changed=${list.reload} />`}</li>`)}</ul>`)}<//>`;
}

const Summary = ({ of }) => html`<h2><a href=${place(['integrations', of.provider])}>${of.provider}</a></h2>
  <p class="row"><${Status} of=${of.enabled ? of.state : 'disabled'} />${of.enabled && of.health.status !== 'unknown' && html`<${Status} of=${of.health.status} label=${health[of.health.status]} />`}</p>
  <p class="muted clip">${of.url ?? of.config?.repository ?? ''}</p>
  <p class="muted fine">${of.permissions.includes('event.deliver') ? html`${of.health.lastSuccessAt ? html`Last success <${Time} at=${of.health.lastSuccessAt} />` : 'No success yet'}${of.health.successRate24h !== null && of.health.successRate24h !== undefined && html` · ${percent(of.health.successRate24h)} delivered in 24 hours`}`
    : of.health.lastItemAt ? html`Last item <${Time} at=${of.health.lastItemAt} />` : 'No item yet'}</p>`;

/** Connect shows the catalogue, or the form of one connector. */
export function Connect({ provider }) {
  const list = useLive('connectors', { poll: false }), chosen = list.data?.items.find((c) => c.provider === provider);
  const back = { href: provider ? '#/connect' : '#/integrations', text: provider ? 'All connectors' : 'Integrations' };
  return html`<${Head} title=${chosen ? `Connect ${chosen.title}` : 'Connect'} up=${back} about=${chosen?.description ?? 'Choose what to connect. Each starts in the sandbox, where nothing takes effect, until it is certified.'} />
    <${Await} of=${list}>${({ items }) => {
      if (!provider) return html`<ul class="plain grid two">${items.map((c) => html`<li key=${c.provider} class="card"><h2><a href=${place(['connect', c.provider])}>${c.title}</a></h2><p>${c.description}</p><p class="muted fine">${c.ports.map((p) => html`<code key=${p}>${p}</code> `)}</p></li>`)}</ul>`;
      return chosen ? html`<${NewOne} key=${provider} of=${chosen} />` : html`<${Empty} title="No such connector"><a href="#/connect">See all connectors</a><//>`;
    }}<//>`;
}

/** NewOne is the form of one connector. After it, the signing secret is shown once. */
function NewOne({ of }) {
  const [name, setName] = useState(''), [made, setMade] = useState(null);
  const begin = of.provider === 'webhook' ? { events: ['memory.*', 'goal.*', 'integration.*', 'timeline.*'] } : {};
  const provider = of.several && name ? `${of.provider}-${name}` : of.provider;
  const secrets = of.credentials ? fieldsOf(of.credentials).map((f) => ({ ...f, required: false })) : [], [typedSecrets, setSecrets] = useState(() => typed(secrets)), [half, setHalf] = useState(null);
  const [there, setThere] = useState(null), used = useLive('integrations', { poll: false }).data?.items.find((i) => i.provider === provider);
  const store = async (body, headers) => {
    const path = `integrations/${encodeURIComponent(provider)}`, { body: answer, etag } = await call('POST', path, { body, headers }), credentials = bodyOf(secrets, typedSecrets);
    forget('integrations');
    if (Object.keys(credentials).length) {
      try { await call('PUT', `${path}/credentials`, { body: { credentials }, headers: ifMatch(etag) }); } catch (problem) { setHalf(problem); return; }
    }
    if (answer.signingSecret) setMade(answer); else go(place(['integrations', provider, 'certification']));
  };
  const submit = async (body) => {
    try { await store(body, createOnly); } catch (problem) {
      if (problem.status !== 412) throw problem;
      const { body: of, etag } = await call('GET', `integrations/${encodeURIComponent(provider)}`);
      setThere({ of, replace: () => store(body, ifMatch(etag)) });
    }
  };
  if (made) return html`<${SecretShown} secret=${made.signingSecret} provider=${provider} url=${made.url} next />`;
  const here = of.provider === 'webhook' && ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname);
  return html`<section class="card narrow">${used && html`<p class="note">${provider} exists already: <a href=${place(['integrations', provider, 'settings'])}>see its settings</a>.${of.several && ' Give this one another name, at the end of the form.'}</p>`}${here && html`<p class="note">No endpoint yet? Enter <code>http://127.0.0.1:4002/</code>. After this form, a command to copy receives there.</p>`}<${SchemaForm} schema=${of.configuration} config=${begin} label="Configure" submit=${submit}>
    ${of.several && html`<div class="field"><label for="f-name">Name <small class="muted">optional</small></label><input id="f-name" value=${name} pattern="[a-z0-9-]*" onInput=${(e) => setName(e.currentTarget.value.trim())} autocomplete="off" spellcheck=${false} aria-describedby="f-name-about" />
      <small class="muted" id="f-name-about">For a further one: billing makes ${of.provider}-billing. Without a name it is ${of.provider}.</small></div>`}
      ${secrets.length > 0 && html`<fieldset class="stack"><legend>Credentials <small class="muted">optional now; a sync needs them</small></legend>${secrets.map((f) => html`<${Field} key=${f.name} id=${`c-${f.name}`} field=${f} value=${typedSecrets[f.name]} set=${(v) => setSecrets((all) => ({ ...all, [f.name]: v }))} />`)}</fieldset>`}
      ${half && html`<div class="note"><p>${provider} is configured. Its credentials were not stored:</p><${Trouble} problem=${half} /><p><a href=${place(['integrations', provider, 'settings'])}>Store them in its settings</a></p></div>`}<//>
    ${there && html`<${Later} part="Replace" of=${there.of} run=${there.replace} close=${() => setThere(null)} />`}</section>`;
}
