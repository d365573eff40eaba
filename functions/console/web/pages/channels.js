// Module channels sets up how notices go to Slack and how mails appear, and links a person's user of Slack.
import { html, useState } from '../lib/h.js';
import { call, may, userEmail } from '../lib/api.js';
import { forget, useLive } from '../lib/live.js';
import { bad } from '../lib/outcome.js';
import { route } from '../lib/route.js';
import { Confirm } from '../ui/dialog.js';
import { SchemaForm } from './form.js';
import { Preferences } from './notices.js';
import { asShown, createOnly, ifMatch, useGuard } from '../ui/guard.js';
import { Action, Await, Head, Time } from '../ui/parts.js';

const kinds = { title: 'Kinds', type: 'array', items: { enum: ['approval', 'alert', 'brief'] }, description: 'What goes to the channel. None chosen: all. The brief comes at the time of the company\'s defaults.' };
const slack = {
  webhookUrl: { title: 'Address of an incoming webhook', writeOnly: true, description: 'It posts to one channel and is never shown. Leave it empty to keep the stored one.' },
  channel: { title: 'Channel of the app', description: 'The id of the channel, at the end of its details in Slack, if the app is installed. Invite the app to the channel. It replaces the webhook.', examples: ['C0123456789'] }, kinds,
};
const mail = {
  name: { title: 'Sender\'s name', description: 'Without it, the company\'s name.', examples: ['Acme operations'] },
  replyTo: { title: 'Answers go to', description: 'Without it, no answer reaches anyone.', examples: ['ops@acme.example'] },
};
const ends = { installed: 'The Slack app is installed. Choose its channel now.', refused: 'The Slack app was not installed. Begin again.' };

/** Channels shows both channels, and to a founder the company's defaults. */
export function Channels() {
  return html`${ends[route.value.query.slack] && html`<p class="note" role="status">${ends[route.value.query.slack]}</p>`}
    <${Channel} name="slack" title="Slack" fields=${slack} about=${Standing} view=${(c) => ({ Kinds: c.kinds, Channel: c.channel })} consequences=${['Nothing goes to Slack any more.', 'People who chose Slack alone get mails.']}><${Install} /><//>
    <${Channel} name="mail" title="Mail" fields=${mail} about=${() => 'Mails come from the service\'s address.'} view=${(c) => ({ Name: c.name, Answers: c.replyTo })} consequences=${['Mails have the company\'s name, and answers reach no one.']} always />
    ${may('executives:write') && html`<${Preferences} path="notices/defaults" title="Defaults of the company"><p>What people are told who have chosen nothing. What a person chooses wins. The Slack channel keeps the quiet hours, and has the brief at this time.</p><//>`}`;
}

const Standing = ({ of }) => html`${of.app ? html`The app is installed in ${of.app.workspace}${of.channel ? html` and posts to <code>${of.channel}</code>` : '; choose its channel'}.` : ''} ${of.webhook ? 'An incoming webhook posts.' : ''}
  ${of.failedAt && html`<strong class="poor">It does not work since <${Time} at=${of.failedAt} />: ${of.failure}.</strong>`}`;

const Install = () => html`<p><${Action} label="Install the Slack app" run=${async () => { location.assign((await call('POST', 'operations/channels/slack/connect', { cookies: true, once: true })).body.url); }} /></p>`;

function Channel({ name, ...rest }) {
  const path = `operations/channels/${name}`, live = useLive(path, { poll: false }), [said, setSaid] = useState('');
  const props = { path, said, setSaid, changed: () => { forget(path); live.reload(); }, ...rest }; // what is said outlives the editor of a former revision
  if (live.problem?.status === 404) return html`<${Editor} key="new" ...${props} />`;
  return html`<${Await} of=${live}>${(of) => html`<${Stored} key=${live.etag} of=${of} etag=${live.etag} ...${props} />`}<//>`;
}

function Stored(props) {
  const { of, etag, path, view } = props, guard = useGuard({ path, data: of, etag, view });
  return html`<${Editor} key=${guard.turn} ...${props} of=${guard.data} guard=${guard} />${guard.dialog}`;
}

function Editor({ path, title, fields, about, view, consequences, always, of, etag, guard, changed, said, setSaid, children }) {
  const [ask, setAsk] = useState(false);
  const put = (body, headers) => call('PUT', path, { body, headers }), done = () => { changed(); setSaid('Stored.'); };
  const submit = async (body) => {
    setSaid('');
    if (guard) await guard.write(view(body), (tag) => put(body, ifMatch(tag)), done); else { await put(body, createOnly); done(); }
  };
  const test = async () => {
    const { body } = await call('POST', `${path}/test`);
    return body.state === 'sent' ? 'Sent. Look there.' : bad(body.reason);
  };
  return html`<section class="card narrow"><h2>${title}</h2><p>${of ? html`<${about} of=${of} />` : 'Not set up.'}</p>
    ${children}<${SchemaForm} schema=${{ properties: fields }} config=${of ?? {}} label="Store" submit=${submit} prefix=${title} />
    <p role="status">${said}</p>${(of || always) && html`<p class="row"><${Action} label="Send a test" run=${test} />${of && html`<button type="button" class="danger" onClick=${() => setAsk(true)}>Remove…</button>`}</p>`}</section>
    ${ask && html`<${Confirm} title=${`Remove ${title}`} label="Remove" close=${() => setAsk(false)} run=${async () => { await asShown(() => call('DELETE', path, { headers: ifMatch(etag) }), changed); setSaid(''); changed(); }} consequences=${consequences} />`}`;
}

/** SlackLink asks a person whether a user of Slack is the own one. */
export function SlackLink({ code }) {
  const [who, setWho] = useState(null), [linked, setLinked] = useState(false), send = async (confirm) => (await call('POST', 'notices/slack', { body: { code, confirm } })).body;
  const look = async () => { setWho(await send(false)); }, link = async () => { await send(true); setLinked(true); };
  return html`<${Head} title="Link your user of Slack" about="From then on, what this user of Slack presses counts as yours." />
    <section class="card narrow">${linked ? html`<p role="status">Linked. Go back to Slack and press again.</p>` : !who ? html`<p>You came here from a message in Slack that only you can see.</p><p><${Action} primary label="Show whom it links" run=${look} /></p>`
    : html`<p>The user of Slack</p><p class="host">${who.name} (${who.slackUserId})</p><p>of the workspace <strong>${who.workspace}</strong> will decide as <strong>${userEmail() || 'you'}</strong>.</p>
      <p class="muted">Go on only if you pressed a button in Slack just now. If another person sent you this address, do not.</p><p><${Action} primary label="Link" run=${link} /></p>`}</section>`;
}
