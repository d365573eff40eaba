// Module later reads the pages that are rarely opened, when one is opened.
import { html, useEffect, useState } from '../lib/h.js';
import { Empty, Loading } from './parts.js';

const files = { operations: () => import('./operations.js'), sso: () => import('./sso.js') };

/** Later shows a part of a file by its name. */
export function Later({ file = 'operations', part, ...props }) {
  const [parts, setParts] = useState(null);
  useEffect(() => { files[file]().then(setParts, () => setParts({})); }, []);
  if (!parts) return html`<${Loading} />`;
  return parts[part] ? html`<${parts[part]} ...${props} />` : html`<h1>${part}</h1><${Empty} title="The page could not be read">Check the connection, then reload.<//>`;
}
