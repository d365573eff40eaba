// Module integration shows one integration: overview, deliveries and certification. Its settings and its mapping are read later.
import { html, useState } from '../lib/h.js';
import { call, may } from '../lib/api.js';
import { percent, plural, words, sentence } from '../lib/format.js';
import { named } from '../lib/kinds.js';
import { forget, useLive } from '../lib/live.js';
import { outcome } from '../lib/outcome.js';
import { place } from '../lib/places.js';
import { Action, Await, Curl, Empty, Evidence, Head, Links, Remedy, Status, Time, health } from '../ui/parts.js';
import { DeliveryList } from './deliveries.js';
import { Later } from '../ui/later.js';

const rate = (h) => (h.successRate24h === null || h.successRate24h === undefined ? '' : `${percent(h.successRate24h)} delivered in 24 hours`);
const tabs = [['', 'Overview'], ['deliveries', 'Deliveries'], ['certification', 'Certification'], ['mapping', 'Mapping'], ['filter', 'Filter'], ['settings', 'Settings']];

export function Integration({ provider, tab = '' }) {
  const path = `integrations/${encodeURIComponent(provider)}`, live = useLive(path);
  const changed = () => { forget('integrations'); forget('mission-control'); live.reload(); };
  const sends = live.data?.permissions.includes('event.deliver'), receives = live.data?.permissions.includes('inbound.receive'), write = may('integrations:write');
  return html`<${Head} title=${live.data?.title ?? provider} up=${{ href: '#/integrations', text: 'Integrations' }} about=${live.data?.url ?? named(live.data?.config)}>${tab !== 'deliveries' && html`<${Curl} path=${path} />`}<//>
    ${live.problem?.status === 404 ? html`<${Empty} title="${provider} is not configured">Connect it first. <p><a class="button primary" href=${place(['connect', provider.split('-')[0]])}>Connect ${provider.split('-')[0]}</a></p><//>` : html`<${Await} of=${live}>${(i, etag) => html`
      <${Links} kind="tabs" label="Parts of ${provider}" of=${tabs.filter(([id]) => ({ deliveries: sends, mapping: receives, filter: sends && write, settings: write })[id] ?? true).map(([id, text]) => [place(['integrations', provider, ...(id ? [id] : [])]), text, tab === id])} />
      ${tab === '' && html`<${Overview} of=${i} path=${path} changed=${changed} sends=${sends} receives=${receives} />`}
      ${tab === 'deliveries' && html`<${DeliveryList} provider=${provider} paused=${i.paused ? [i] : []} changed=${changed} />`}
      ${tab === 'certification' && html`<${Certification} of=${i} path=${path} changed=${changed} sends=${sends} receives=${receives} />`}
      ${tab === 'mapping' && html`<${Later} part="Mapping" path=${path} />`}
      ${tab === 'filter' && sends && write && html`<${Later} part="Filter" of=${i} etag=${etag} path=${path} changed=${changed} />`}
      ${tab === 'settings' && write && html`<${Later} part="Settings" of=${i} etag=${etag} path=${path} changed=${changed} sends=${sends} />`}`}<//>`}`;
}

/** Sync requests a run. */
function Sync({ of, primary }) {
  const run = async () => { await call('POST', `memory/sync/${encodeURIComponent(of.provider)}`, { body: {} }); forget('memory/syncs'); return html`A run was requested. <a href="#/syncs">See the syncs</a>`; };
  return html`<${Action} primary=${primary} label="Sync now" run=${run} />`;
}

function Overview({ of, path, changed, sends, receives }) {
  const write = may('integrations:write');
  const test = async () => {
    const { body } = await call('POST', `${path}/test`);
    changed();
    return outcome('test-integration', body);
  };
  return html`<section class="card"><dl class="facts">
      ${of.config?.description && html`<div><dt>Description</dt><dd>${of.config.description}</dd></div>`}
      <div><dt>State</dt><dd><${Status} of=${of.state} />${of.sandboxed && html` <span class="muted">${sentence(words(of.sandboxed.cause ?? of.sandboxed))}</span>`}</dd></div>
      <div><dt>Enabled</dt><dd>${of.enabled ? 'Yes' : html`<${Status} of="disabled" /> ${of.disabled && html`<span class="muted">${words(of.disabled.reason)}, <${Time} at=${of.disabled.at} /></span>`}`}</dd></div>
      <div><dt>Health</dt><dd><${Status} of=${of.health.status} label=${health[of.health.status]} /> <span class="muted">${rate(of.health)}</span></dd></div>
      ${sends && html`<div><dt>Last success</dt><dd><${Time} at=${of.health.lastSuccessAt} /></dd></div><div><dt>Last failure</dt><dd><${Time} at=${of.health.lastFailureAt} /></dd></div>`}
      ${(receives || !sends) && html`<div><dt>Last item</dt><dd><${Time} at=${of.health.lastItemAt} /></dd></div>`}
      <div><dt>Permissions</dt><dd>${of.permissions.map((p) => html`<code key=${p}>${p}</code> `)}</dd></div>
      ${of.events && html`<div><dt>Events</dt><dd>${of.events.map((e) => html`<code key=${e}>${e}</code> `)}</dd></div>`}
      <div><dt>Certified until</dt><dd>${of.certification ? html`<${Time} at=${of.certification.expiresAt} />` : html`not certified`}</dd></div></dl>
    ${of.state === 'sandbox' && html`<p class="note">${sends ? 'In the sandbox, deliveries are held and not lost. Certify the endpoint, then recover them.' : 'In the sandbox, nothing that comes in takes effect.'} <a href=${place(['integrations', of.provider, 'certification'])}>Certify</a></p>`}
    ${of.connection?.lostAt && html`<${Later} part="Link" of=${of} path=${path} />`}
    ${of.paused && html`<${Later} part="Paused" of=${of} changed=${changed} />`}
    ${write && html`<p class="row">${sends && html`<${Action} label="Send a sample" run=${test} />`}${of.permissions.includes('sync.pull') && may('memory:write') && html`<${Sync} of=${of} />`}</p>`}</section>
    ${receives && html`<${Later} part="Receiving" of=${of} />`}`;
}

function Certification({ of, path, changed, sends, receives }) {
  const [report, setReport] = useState(null);
  const shown = report ?? of.certification?.report;
  const run = async () => {
    const { body } = await call('POST', `${path}/certification`);
    setReport(body);
    changed();
    return outcome('certify-integration', body);
  };
  return html`<section class="card">
    <p>A run proves what works and what is refused. When every check passes, the integration is certified for 90 days.</p>
    ${may('integrations:write') && html`<p><${Action} primary=${!shown?.passed} label=${shown ? 'Run the certification again' : 'Run the certification'} run=${run} /></p>`}
    ${shown ? html`<p class="row"><${Status} of=${shown.passed ? 'pass' : 'fail'} label=${shown.passed ? 'passed' : 'failed'} /><span class="muted"><${Time} at=${shown.at} /></span></p>
      <ol class="plain checks">${shown.checks.map((c) => html`<li key=${c.id}><span class="row"><${Status} of=${c.status} /><strong>${c.title}</strong></span><span class="reason muted">${sentence(c.reason)}</span><${Evidence} of=${c.evidence} />${c.status !== 'pass' && c.remedy && html`<p class="remedy"><${Remedy} of=${c.remedy} /></p>`}</li>`)}</ol>
      ${sends && shown.passed && html`<${Held} of=${shown} provider=${of.provider} />`}
      ${shown.passed && of.permissions.includes('sync.pull') && may('memory:write') && html`<${Next} of=${of} />`}`
      : html`<${Empty} title="No run yet">${sends ? 'Start one when the endpoint is ready. It takes a few seconds.' : 'It takes a few seconds.'}<//>`}
    ${receives && !sends && html`<p class="note">The provider sends its deliveries to an address of this company: see <a href=${place(['integrations', of.provider])}>the overview</a>.</p>`}</section>`;
}

/** Next leads on from a source that is certified. */
const Next = ({ of }) => html`<div class="note"><p>Its syncs take effect now${of.config?.schedule ? html`, every ${of.config.schedule}` : html`. It syncs only on request, unless its <a href=${place(['integrations', of.provider, 'settings'])}>settings</a> have a schedule`}. What it brings comes to the <a href="#/memory">memory</a>, and its numbers can move a <a href="#/goals">goal</a>.</p>
  <p class="row"><${Sync} of=${of} primary /><a class="button" href="#/connect">Connect something else</a></p></div>`;

const Held = ({ of, provider }) => html`<p class="note">${of.recoverable?.held > 0 ? `${plural(of.recoverable.held, 'delivery is', 'deliveries are')} held from before.` : 'Deliveries that were held before can be recovered.'}
  ${' '}<a href=${place(['integrations', provider, 'deliveries'], { state: 'held' })}>See and recover them</a> · <a href=${place(['integrations', provider])}>Send a sample</a></p>`;
