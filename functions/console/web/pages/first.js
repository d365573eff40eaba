// Module first leads from an empty company to the first verified delivery.
import { html } from '../lib/h.js';

/** FirstSteps is shown while nothing is configured. */
export const FirstSteps = () => html`<section class="card first"><h2>Start with one webhook</h2>
  <p>Everything begins with an endpoint that receives your events. It takes three steps, all in this browser.</p>
  <ol class="steps"><li><strong>Configure</strong><span>Name the address and the events. The service makes a signing secret and shows it once.</span></li>
    <li><strong>Certify</strong><span>The service sends a good and two bad samples. An endpoint that accepts a bad one stays in the sandbox.</span></li>
    <li><strong>Send</strong><span>A sample event goes out at once, and you see its attempt.</span></li></ol>
  <p><a class="button primary" href="#/connect/webhook">Connect a webhook</a> <a class="button" href="#/connect">Other connectors</a></p></section>`;
