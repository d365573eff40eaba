// Module replace says what a configuration would replace, before it does.
import { html } from '../lib/h.js';
import { named } from '../lib/kinds.js';
import { place } from '../lib/places.js';
import { Confirm } from '../ui/dialog.js';

/** lost lists what the integration there is would lose. */
const lost = (of) => [
  `${of.provider} is configured${of.url ? ` for ${of.url}` : named(of.config) ? ` for ${named(of.config)}` : ''}, and ${of.enabled ? of.state : 'disabled'}. Its configuration is replaced as a whole.`,
  ...(of.state === 'certified' ? ['It may lose its certification: a changed address, schema or permission returns it to the sandbox, where nothing takes effect.'] : []),
  ...(of.permissions.includes('event.deliver') ? ['Events that its receiver gets now go to the new address, also those that wait for a retry.'] : []),
];

/** Replace asks whether to replace the integration there is. */
export const Replace = ({ of, run, close }) => html`<${Confirm} title="${of.provider} exists already" name=${of.provider} label="Replace it" close=${close} run=${run} consequences=${lost(of)}>
  <p>Nothing is stored yet. Close this to choose another name, or <a href=${place(['integrations', of.provider, 'settings'])} onClick=${close}>see its settings</a>.</p><//>`;
