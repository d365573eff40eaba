// Module places maps between addresses of the API and places of the console, which are in the hash of the page's url.

/** parse splits a hash such as #/integrations/webhook?state=held. */
export function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, '').split('?');
  return { path: path.split('/').filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(query ?? '')) };
}

function decoded(segment) {
  try { return decodeURIComponent(segment); } catch { return segment; }
}

/** place makes a hash from segments and a query, whose empty values it leaves out. */
export function place(segments, query = {}) {
  const filled = Object.entries(query).filter(([, v]) => v !== '' && v !== null && v !== undefined);
  const text = new URLSearchParams(filled).toString();
  return `#/${segments.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

/** placeOf returns the console's place for an address of the API, or null if the console does not show it. */
export function placeOf(href) {
  const found = /\/companies\/[^/]+\/([^?#]*)(?:\?([^#]*))?/.exec(href ?? '');
  if (!found) return null;
  const [head, second, ...rest] = found[1].split('/').map(decoded);
  const query = Object.fromEntries(new URLSearchParams(found[2] ?? ''));
  switch (head) {
    case 'integrations': return place(['integrations', ...(second ? [second, ...rest] : [])], query);
    case 'event-types': return place(['events', ...(second ? [second] : [])]);
    case 'notices': return second === 'preferences' ? '#/account' : place(['operations', 'notices'], query);
    case 'goals': return place(['goals', ...(second ? [second] : [])], query);
    case 'memory':
      if (second === 'sync') return place(['integrations', ...rest.slice(0, 1)]);
      if (second === 'syncs') return place(['syncs', ...rest]);
      return place(['memory', ...(second ? [second] : [])], query);
    case 'mission-control': return { health: '#/health', readiness: '#/health', dashboard: '#/today' }[second] ?? (second === 'timeline' ? place(['timeline'], query) : null);
    case 'intelligence': return { recommendations: place(['recommendations'], query), brief: '#/today' }[second] ?? null;
    case 'executives': return place(['operations', 'executives', ...(second ? [second] : [])]);
    case 'operations': return second ? place(['operations', second], query) : null;
    default: return null;
  }
}

/** remedyPlace returns where the console carries out an operation: the place of its resource, with the right tab. */
export function remedyPlace(operation) {
  const found = /\/integrations\/([^/?#]+)/.exec(operation?.href ?? '');
  const provider = found ? decoded(found[1]) : null;
  const tab = {
    'certify-integration': 'certification', 'recover-integration': 'deliveries', 'configure-integration': 'settings',
    'enable-integration': 'settings', 'rotate-integration-secret': 'settings', 'put-integration-credentials': 'settings',
    'get-integration': 'settings',
  }[operation?.operation];
  if (operation?.operation === 'configure-integration') return provider ? place(['integrations', provider, 'settings']) : '#/integrations';
  return provider && tab ? place(['integrations', provider, tab]) : placeOf(operation?.href);
}

const subjects = { integration: 'integrations', goal: 'goals', memory: 'memory', sync: 'syncs' };

/** subjectPlace returns the place of what an entry or a recommendation is about, or null if the console does not show it. */
export function subjectPlace({ type, id } = {}) {
  if (subjects[type]) return place([subjects[type], id]);
  if (type === 'executive') return place(['operations', 'executives', id]);
  return { approval: '#/operations/approvals', decision: '#/operations/decisions', policies: '#/operations/policies', user: '#/operations/users' }[type] ?? null;
}

const labels = {
  'certify-integration': 'Certify', 'recover-integration': 'Recover deliveries', 'configure-integration': 'Configure',
  'enable-integration': 'Enable', 'rotate-integration-secret': 'Rotate the secret', 'put-integration-credentials': 'Store credentials', 'get-integration': 'See the integration',
  'sync-memory': 'Sync now', 'list-integration-deliveries': 'See deliveries', 'list-goals': 'See goals', 'get-goal': 'See the goal',
  'explain-goal': 'Explain the goal', 'invite-user': 'Invite a user', 'list-approvals': 'See the approvals', 'list-dead-letters': 'See the dead letters', 'list-users': 'See the users',
  'get-policies': 'See the policies', 'put-policies': 'Write policies', 'list-executive-actions': 'See its actions', 'list-memories': 'See the memories', 'cancel-sync': 'Cancel the sync', 'get-sync': 'See the sync', 'test-integration': 'Send a sample',
};

/** remedyLabel names an operation on a button. */
export const remedyLabel = (operation) => labels[operation?.operation] ?? String(operation?.operation ?? '').replaceAll('-', ' ').replace(/^./, (c) => c.toUpperCase());
