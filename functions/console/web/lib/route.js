// Module route follows the hash of the page's url.
import { signal } from './h.js';
import { parse, place } from './places.js';

/** read parses the address. The code of a sign-in leaves the address and the history before anything is shown. */
function read() {
  const at = parse(location.hash);
  if (at.path[0] === 'sso' && at.query.code) history.replaceState(null, '', '#/sso');
  return at;
}

/** route is the current place: {path, query}. */
export const route = signal(read());

addEventListener('hashchange', () => {
  const before = route.value;
  route.value = read();
  if (before.path.join('/') === route.value.path.join('/')) return;
  scrollTo(0, 0);
  requestAnimationFrame(() => document.getElementById('main')?.focus({ preventScroll: true }));
});

/** go moves to a place. */
export const go = (hash) => { location.hash = hash; };

/** replace moves to a place without a new entry in the history. */
export function replace(hash) {
  history.replaceState(null, '', hash);
  route.value = parse(location.hash);
}

/** filter changes the query of the current place. */
export const filter = (change) => replace(place(route.value.path, { ...route.value.query, ...change }));
