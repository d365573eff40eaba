// Module connect configures a new integration: the catalogue, then the form of one connector.
import { html, useState } from '../lib/h.js';
import { call } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { place } from '../lib/places.js';
import { go } from '../lib/route.js';
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
      if (!provider) return html`<ul class="plain grid two">${items.map((c) => html`<li key=${c.provider} class="card"><h2><a href=${place(['connect', c.provider])}>${c.title}</a></h2><p>${c.description}</p><p class="muted fine">${c.ports.map((p) => html`<code key=${p}>${p}</code> `)}</p></li>`)}</ul>`;
      return chosen ? html`<${NewOne} key=${provider} of=${chosen} />` : html`<${Empty} title="No such connector"><a href="#/connect">See all connectors</a><//>`;
    }}<//>`;
}

/** NewOne is the form of one connector. After it, the signing secret is shown once. */
function NewOne({ of }) {
  const [name, setName] = useState(''), [made, setMade] = useState(null), [bare, setBare] = useState(null);
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
  const submit = async (body) => {
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
    <div class="field"><label for="f-name">Name <small class="muted">optional</small></label><input id="f-name" value=${name} pattern="[a-z0-9-]*" onInput=${(e) => setName(e.currentTarget.value.trim())} autocomplete="off" spellcheck=${false} aria-describedby="f-name-about" />
      <small class="muted" id="f-name-about">For a further one: billing makes ${of.provider}-billing. Without a name it is ${of.provider}.</small></div>
      ${secrets.length > 0 && html`<fieldset class="stack"><legend>Credentials <small class="muted">${of.connects ? 'leave them out to connect at the provider' : 'optional now; a sync needs them'}</small></legend>${secrets.map((f) => html`<${Field} key=${f.name} id=${`c-${f.name}`} field=${f} value=${typedSecrets[f.name]} set=${(v) => setSecrets((all) => ({ ...all, [f.name]: v }))} />`)}</fieldset>`}
      ${half && html`<div class="note"><p>${provider} is configured. Its credentials were not stored:</p><${Trouble} problem=${half} /><p><a href=${place(['integrations', provider, 'settings'])}>Store them in its settings</a></p></div>`}<//>
    ${there && html`<${Replace} of=${there.of} run=${there.replace} close=${() => setThere(null)} />`}</section>`;
}
