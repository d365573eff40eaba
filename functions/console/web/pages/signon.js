// Module signon configures the company's identity provider.
import { html, useState } from '../lib/h.js';
import { Problem, call } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { Confirm } from '../ui/dialog.js';
import { SchemaForm } from './form.js';
import { asShown, createOnly, ifMatch, useGuard } from '../ui/guard.js';
import { Await, Choice, Copy, Time } from '../ui/parts.js';

const path = 'operations/sso';

const oidc = {
  issuer: { title: 'Issuer', format: 'uri', description: 'The provider\'s issuer identifier, below which its discovery document is.', examples: ['https://login.example.com'] },
  clientId: { title: 'Client id', description: 'The id of this service at the provider.' },
  clientSecret: { title: 'Client secret', writeOnly: true, description: 'It is never shown. Leave it empty to keep the stored one.' },
  scopes: { title: 'Scopes', type: 'array', description: 'Asked for in addition to openid, email and profile.' },
};
const saml = {
  metadataUrl: { title: 'Address of the metadata', format: 'uri', description: 'It is read now, and again when it is an hour old.', examples: ['https://idp.example.com/metadata'] },
  metadata: { title: 'Metadata', maxLength: 131072, description: 'The provider\'s metadata, XML, if it has no address.' },
  emailAttribute: { title: 'Attribute of the e-mail address', description: 'Without it, the NameID if it is an address, or a usual attribute.' },
};
const roles = {
  claim: { title: 'Claim of the role', description: 'The claim or attribute whose values the next field lists. With it, each sign-in sets the role.', examples: ['groups'] },
  map: { title: 'Roles', type: 'object', description: 'A value and its role (founder, member or operator) in each line. The first line that applies decides.' },
  default: { title: 'Role of everyone else', enum: ['member', 'operator', 'none'], description: 'None: they are refused.' },
};
const ends = {
  redirects: { title: 'Redirects', type: 'array', description: 'Addresses where a sign-in may end, in addition to the console.' },
  linkExisting: { title: 'Take over existing users', type: 'boolean', description: 'A user with the same e-mail address and a password, who is no founder, is taken over at the first sign-in.' },
};

/** parts names the members of the body that the flat form spreads. */
const parts = { oidc, saml, roles };

const flat = (c) => ({
  ...c?.oidc, ...c?.saml, metadata: c?.saml?.metadataUrl ? undefined : c?.saml?.metadata, claim: c?.roles?.claim, default: c?.roles?.default,
  map: Object.fromEntries((c?.roles?.map ?? []).map((r) => [r.value, r.role])), redirects: c?.redirects, linkExisting: c?.linkExisting,
});

const pick = (from, fields) => Object.fromEntries(Object.keys(fields).filter((f) => from[f] !== undefined).map((f) => [f, from[f]]));

function bodyOf(protocol, typed) {
  const map = Object.entries(typed.map ?? {}).map(([value, role]) => ({ value, role }));
  return { protocol, [protocol]: pick(typed, parts[protocol]), roles: { ...pick(typed, { claim: 1, default: 1 }), ...(map.length && { map }) }, ...pick(typed, ends) };
}

/** flattened returns a problem whose pointers name the fields of the flat form. */
function flattened(problem) {
  if (!problem.errors) return problem;
  const errors = problem.errors.map((e) => ({ ...e, pointer: e.pointer.replace(/^\/(oidc|saml|roles)(?=\/)/, '') }));
  return new Problem({ title: problem.title, detail: problem.detail, errors, type: problem.type }, problem.status, problem.requestId);
}

const view = (c) => ({ Protocol: c.protocol, ...Object.fromEntries(Object.entries({ ...oidc, ...saml, ...roles, ...ends }).filter(([f]) => f !== 'clientSecret').map(([f, s]) => [s.title, flat(c)[f]])) });

/** SignOnSettings shows the provider, and stores or removes it. */
export function SignOnSettings() {
  const live = useLive(path, { poll: false }), changed = () => { forget(path); live.reload(); };
  if (live.problem?.status === 404 && live.problem.type.endsWith('/not-found')) return html`<${Editor} key="new" changed=${changed} />`;
  return html`<${Await} of=${live}>${(c, etag) => html`<${Guarded} of=${c} etag=${etag} changed=${changed} />`}<//>`;
}

function Guarded({ of, etag, changed }) {
  const guard = useGuard({ path, data: of, etag, view, took: changed });
  return html`<${Editor} key=${guard.turn} of=${guard.data} etag=${guard.etag} guard=${guard} changed=${changed} />${guard.dialog}`;
}

const Registered = ({ of }) => html`<h3>Register at the provider</h3><dl class="facts">${Object.entries({ redirectUri: 'Redirect URI', entityId: 'Entity id, and metadata of this service', acs: 'Assertion consumer service' }).filter(([f]) => of[f]).map(([f, title]) => html`<div key=${f}><dt>${title}</dt><dd class="row"><code>${of[f]}</code><${Copy} quiet text=${of[f]} /></dd></div>`)}</dl>`;

function Editor({ of, etag, guard, changed }) {
  const [protocol, setProtocol] = useState(of?.protocol ?? 'oidc'), [ask, setAsk] = useState(false), [said, setSaid] = useState('');
  const schema = { properties: { ...parts[protocol], ...roles, ...ends }, required: protocol === 'oidc' ? ['issuer', 'clientId'] : [] };
  const put = (body, headers) => call('PUT', path, { body, headers });
  const submit = async (typed) => {
    const body = bodyOf(protocol, typed), done = () => { changed(); setSaid('Stored. Sign-ins follow it from now on.'); };
    setSaid('');
    try {
      if (guard) await guard.write(view(body), (tag) => put(body, ifMatch(tag)), done);
      else { await put(body, createOnly); done(); }
    } catch (problem) { throw flattened(problem); }
  };
  const remove = async () => { await asShown(() => call('DELETE', path, { headers: ifMatch(etag) }), changed); changed(); };
  return html`<section class="card narrow"><h2>Single sign-on</h2><p>${of ? html`Stored <${Time} at=${of.updatedAt} />. Users of the company sign in through its identity provider.` : 'The company has no identity provider. With one, its users sign in there, by OpenID Connect or SAML.'}</p>
    ${of && html`<${Registered} of=${of.register} />`}
    <${Choice} label="Protocol" value=${protocol} options=${[['oidc', 'OpenID Connect'], ['saml', 'SAML 2.0']]} onPick=${setProtocol} />
    <${SchemaForm} key=${protocol} schema=${schema} config=${flat(of)} label="Store" submit=${submit} prefix="sso" />
    <p role="status">${said}</p>${of && html`<p><button type="button" class="danger" onClick=${() => setAsk(true)}>Remove…</button></p>`}</section>
    ${ask && html`<${Confirm} title="Remove single sign-on" label="Remove" close=${() => setAsk(false)} run=${remove} consequences=${['No user can sign in through the provider any more.', 'Users without a password cannot log in.', 'Sessions that have begun go on until their tokens end.']} />`}`;
}
