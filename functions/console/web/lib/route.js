// Module route follows the hash of the page's url.
import { signal } from './h.js';
import { parse, place } from './places.js';

/** read parses the address. The code of a sign-in leaves the address and the history before anything is shown. */
function read() {
  const at = parse(location.hash);
  if (at.path[0] === 'sso' && at.query.code) history.replaceState(history.state, '', '#/sso');
  return at;
}

/** route is the current place: {path, query}. */
export const route = signal(read());

// Each entry of the history has a number, so that Back returns to where the person was on the page.
let last = history.state?.entry ?? 0, entry = last;
const spots = new Map(); // entry → how far the page was scrolled
history.scrollRestoration = 'manual';
history.replaceState({ entry }, '');
addEventListener('scroll', () => spots.set(entry, scrollY), { passive: true });

/** entryNow returns the number of the history's entry that is shown. */
export const entryNow = () => entry;

/** reach scrolls to a place as soon as the page is long enough for it, and gives up after two seconds. */
function reach(y, until = Date.now() + 2000) {
  scrollTo(0, y);
  if (scrollY < y - 1 && Date.now() < until) requestAnimationFrame(() => reach(y, until));
}

addEventListener('hashchange', () => {
  const before = route.value, known = history.state?.entry;
  entry = known ?? ++last;
  if (known === undefined) history.replaceState({ entry }, '');
  const y = spots.get(entry) ?? 0;
  route.value = read();
  if (known === undefined && before.path.join('/') === route.value.path.join('/')) return;
  reach(y);
  requestAnimationFrame(() => document.getElementById('main')?.focus({ preventScroll: true }));
});

/** go moves to a place. */
export const go = (hash) => { location.hash = hash; };

/** replace moves to a place without a new entry in the history. */
export function replace(hash) {
  history.replaceState(history.state, '', hash);
  route.value = parse(location.hash);
}

/** filter changes the query of the current place. */
export const filter = (change) => replace(place(route.value.path, { ...route.value.query, ...change }));
