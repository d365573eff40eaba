// Module connect configures a new integration: the catalogue, then the form of one connector.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { plural } from '../lib/format.js';
import { forget, useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { go, route } from '../lib/route.js';
import { bodyOf, fieldsOf, typed } from './schema.js';
import { Field, SchemaForm } from './form.js';
import { createOnly, ifMatch } from '../ui/guard.js';
import { Await, Empty, Head, Trouble } from '../ui/parts.js';
import { Replace } from './replace.js';
import { Link } from './connected.js';
import { SecretShown } from './secret.js';

/** Connect shows the catalogue, or the form of one connector. */
export function Connect({ provider }) {
  const list = useLive('connectors', { poll: false }), chosen = list.data?.items.find((c) => c.provider === provider);
  const back = { href: provider ? '#/connect' : '#/integrations', text: provider ? 'All connectors' : 'Integrations' };
  return html`<${Head} title=${chosen ? `Connect ${chosen.title}` : 'Connect'} up=${back} about=${chosen?.description ?? 'Choose what to connect. Each starts in the sandbox, where nothing takes effect, until it is certified.'} />
    <${Await} of=${list}>${({ items }) => {
      if (!provider) return html`<${Catalogue} items=${items} />`;
      return chosen ? html`<${NewOne} key=${provider} of=${chosen} />` : html`<${Empty} title="No such connector"><a href="#/connect">See all connectors</a><//>`;
    }}<//>`;
}

/** Catalogue lists the connectors that match what was typed. */
function Catalogue({ items }) {
  const [words, setWords] = useState(''), used = useLive('integrations', { poll: false }).data?.items ?? [];
  const texts = (c) => [c.provider, c.title, c.description, ...c.brings, ...(c.streams ?? [])].join(' ').toLowerCase();
  const found = items.filter((c) => words.toLowerCase().split(/\s+/).every((w) => texts(c).includes(w)));
  return html`<label class="choice"><span>Search</span><input type="search" value=${words} placeholder="stripe, issues, goals" autocomplete="off" onInput=${(e) => setWords(e.currentTarget.value)} /></label>
    <p class="muted" role="status">${plural(found.length, 'connector')}</p>
    <ul class="plain grid two">${found.map((c) => html`<li key=${c.provider} class="card"><${Offer} of=${c} used=${used.filter((i) => i.kind === c.provider).map((i) => i.provider)} /></li>`)}</ul>`;
}

/** needs tells what a connector is given access with. */
const needs = (c) => (c.connects ? 'Connects at the provider, without a token' : c.credentials ? fieldsOf(c.credentials).map((f) => f.title).join(', ') || 'no credentials' : 'no credentials');

/** Offer shows one connector. A further integration of its kind gets a name that is free. */
function Offer({ of, used }) {
  let n = 2;
  while (used.includes(`${of.provider}-${n}`)) n++;
  const further = used.includes(of.provider);
  return html`<h2><a href=${place(['connect', of.provider])}>${of.title}</a>${of.own && html` <small class="muted">your own</small>`}</h2><p>${of.description}</p>
    <dl class="facts">${of.brings.length > 0 && html`<div><dt>Brings</dt><dd>${of.brings.join(', ')}</dd></div>`}${of.streams && html`<div><dt>Lists</dt><dd>${of.streams.join(', ')}</dd></div>`}
      <div><dt>Needs</dt><dd>${needs(of)}</dd></div>${used.length > 0 && html`<div><dt>Connected</dt><dd>${used.map((p) => html`<a key=${p} href=${place(['integrations', p])}>${p}</a> `)}</dd></div>`}</dl>
    <p class="row"><a class="button" href=${place(['connect', of.provider], { name: further ? n : '' })} aria-label="${further ? 'Connect another' : 'Connect'}: ${of.title}">${further ? 'Connect another' : 'Connect'}</a><span class="muted fine">${of.ports.map((p) => html`<code key=${p}>${p}</code> `)}</span></p>`;
}

/** plain makes a name of what was typed. */
const plain = (text) => text.toLowerCase().replace(/[^a-z0-9-]+/g, '-').slice(0, 32);

/** NewOne is the form of one connector. After it, the signing secret is shown once. */
function NewOne({ of }) {
  const [name, setName] = useState(route.value.query.name ?? ''), [title, setTitle] = useState(''), [made, setMade] = useState(null), [bare, setBare] = useState(null);
  const begin = of.provider === 'webhook' ? { events: ['memory.*', 'goal.*', 'integration.*', 'timeline.*'] } : {};
  const provider = name ? `${of.provider}-${name}` : of.provider;
  const secrets = of.credentials ? fieldsOf(of.credentials).map((f) => ({ ...f, required: false })) : [], [typedSecrets, setSecrets] = useState(() => typed(secrets)), [half, setHalf] = useState(null);
  const [there, setThere] = useState(null), used = useLive('integrations', { poll: false }).data?.items.find((i) => i.provider === provider);
  const store = async (body, headers) => {
    const path = `integrations/${encodeURIComponent(provider)}`, { body: answer, etag } = await call('POST', path, { body, headers }), credentials = bodyOf(secrets, typedSecrets);
    forget('integrations');
    if (Object.keys(credentials).length) {
      try { await call('PUT', `${path}/credentials`, { body: { credentials }, headers: ifMatch(etag) }); } catch (problem) { setHalf(problem); return; }
    }
    if (answer.signingSecret) setMade(answer); else if (of.connects && !Object.keys(credentials).length) setBare(answer); else go(place(['integrations', provider, 'certification']));
  };
  const submit = async (config) => {
    const body = { ...config, ...(title.trim() && { title }) };
    try { await store(body, createOnly); } catch (problem) {
      if (problem.status !== 412) throw problem;
      const { body: of, etag } = await call('GET', `integrations/${encodeURIComponent(provider)}`);
      setThere({ of, replace: () => store(body, ifMatch(etag)) });
    }
  };
  if (made) return html`<${SecretShown} secret=${made.signingSecret} provider=${provider} url=${made.url} next />`;
  if (bare) return html`<section class="card narrow"><p>${provider} is configured.</p><${Link} of=${bare} /><p><a href=${place(['integrations', provider, 'certification'])}>Go on without</a></p></section>`;
  const here = of.provider === 'webhook' && ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname);
  return html`<section class="card narrow">${used && html`<p class="note">${provider} exists already: <a href=${place(['integrations', provider, 'settings'])}>see its settings</a>. Give this one another name, at the end of the form.</p>`}${here && html`<p class="note">No endpoint yet? Enter <code>http://127.0.0.1:4002/</code>. After this form, a command to copy receives there.</p>`}<${SchemaForm} schema=${of.configuration} config=${begin} label="Configure" submit=${submit}>
    <div class="field"><label for="f-name">Name <small class="muted">optional</small></label><input id="f-name" value=${name} onInput=${(e) => setName(plain(e.currentTarget.value))} autocomplete="off" spellcheck=${false} aria-describedby="f-name-about" />
      <small class="muted" id="f-name-about">For a further one: billing makes ${of.provider}-billing. Without a name it is ${of.provider}.</small></div>
    <div class="field"><label for="f-title-shown">Shown as <small class="muted">optional</small></label><input id="f-title-shown" value=${title} maxlength="80" onInput=${(e) => setTitle(e.currentTarget.value)} autocomplete="off" aria-describedby="f-title-about" />
      <small class="muted" id="f-title-about">What people call it, such as Shop of the EU.</small></div>
      ${secrets.length > 0 && html`<fieldset class="stack"><legend>Credentials <small class="muted">${of.connects ? 'leave them out to connect at the provider' : 'optional now; a sync needs them'}</small></legend>${secrets.map((f) => html`<${Field} key=${f.name} id=${`c-${f.name}`} field=${f} value=${typedSecrets[f.name]} set=${(v) => setSecrets((all) => ({ ...all, [f.name]: v }))} />`)}</fieldset>`}
      ${half && html`<div class="note"><p>${provider} is configured. Its credentials were not stored:</p><${Trouble} problem=${half} /><p><a href=${place(['integrations', provider, 'settings'])}>Store them in its settings</a></p></div>`}<//>
    ${there && html`<${Replace} of=${there.of} run=${there.replace} close=${() => setThere(null)} />`}</section>`;
}
