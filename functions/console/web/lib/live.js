// Module live keeps answers current: it asks again with the entity tag, every 15 s while the page is in use, every 60 s while
// it is idle, and never while it is hidden.
import { useEffect, useRef, useState } from './h.js';
import { call, session, written } from './api.js';
import { entryNow } from './route.js';

const inUse = 15_000, idle = 60_000, idleAfter = 120_000, most = 60;
const held = new Map(); // path → {body, etag, at}
let touched = Date.now();

for (const event of ['pointerdown', 'keydown', 'focus']) addEventListener(event, () => { touched = Date.now(); }, { passive: true });
const shelf = new Map(), shelved = 20; // what a listing had loaded, by the history's entry and the path, for Back

function put(key, state) {
  shelf.delete(key);
  shelf.set(key, state);
  if (shelf.size > shelved) shelf.delete(shelf.keys().next().value);
}

written.subscribe(() => shelf.clear()); // what was loaded before a write may not be true any more
session.subscribe((s) => { if (!s) { held.clear(); shelf.clear(); } });

const pause = () => (Date.now() - touched < idleAfter ? inUse : idle);

/** remember keeps an answer, and forgets the oldest if there are too many. */
function remember(path, answer) {
  held.delete(path);
  held.set(path, answer);
  if (held.size > most) held.delete(held.keys().next().value);
}

/** read asks for a path. It returns what is held if that is still current. */
export async function read(path, abort) {
  const before = held.get(path);
  const { status, body, etag } = await call('GET', path, { signal: abort, headers: before?.etag ? { 'If-None-Match': before.etag } : {} });
  const answer = status === 304 ? { ...before, at: Date.now() } : { body, etag, at: Date.now() };
  remember(path, answer);
  return answer;
}

/** forget drops the held answers whose path begins with a text, after a write. */
export function forget(prefix) {
  for (const path of held.keys()) if (path.startsWith(prefix)) held.delete(path);
}

/** useLive returns {data, etag, problem, loading, reload} of a path, and follows it while the component is shown. A null path
 * asks for nothing. */
export function useLive(path, { poll = true } = {}) {
  const [state, setState] = useState({ path: null });
  const reload = useRef(() => {});
  useEffect(() => {
    if (!path) return undefined;
    const control = new AbortController();
    let timer, running = false;
    // What has not changed is not drawn again: most polls end with a 304.
    const same = (s, next) => s.path === path && s.data === next.data && s.etag === next.etag && s.problem === next.problem;
    const show = (next) => { if (!control.signal.aborted) setState((s) => (same(s, next) ? s : { path, ...next })); };
    const ask = async () => {
      if (running) return;
      running = true;
      clearTimeout(timer);
      try {
        const { body, etag } = await read(path, control.signal);
        show({ data: body, etag });
      } catch (problem) {
        if (problem.name !== 'AbortError') show({ data: held.get(path)?.body, etag: held.get(path)?.etag, problem });
      }
      running = false;
      if (poll && !document.hidden && !control.signal.aborted) timer = setTimeout(ask, pause());
    };
    const seen = () => { clearTimeout(timer); if (!document.hidden && poll) ask(); };
    reload.current = ask;
    document.addEventListener('visibilitychange', seen);
    ask();
    return () => { control.abort(); clearTimeout(timer); document.removeEventListener('visibilitychange', seen); };
  }, [path, poll]);
  const current = state.path === path ? state : { data: held.get(path)?.body, etag: held.get(path)?.etag };
  return { data: current.data, etag: current.etag, problem: current.problem, loading: Boolean(path) && !current.data && !current.problem, reload: () => reload.current() };
}

const rows = 200, searches = 5, none = new Set();

/** newer returns the state of a listing after another look at its first page, or the state itself if nothing changed. */
function newer(state, { items, nextCursor = '' }) {
  const before = new Set(state.items.map((i) => JSON.stringify(i))), fresh = new Set(items.filter((i) => !before.has(JSON.stringify(i))));
  return fresh.size || items.length !== state.items.length ? { ...state, items, fresh, cursor: nextCursor } : state;
}

/** usePages reads a listing page by page: {items, fresh, more, next, problem, loading, reload}. A change of the path starts
 * again without the cursor, which belongs to its filters. At most 200 items stay, so that the page stays small. While the
 * first page alone is shown, it is followed; fresh holds the items that came or changed then. */
export function usePages(path) {
  const empty = { path, items: [], fresh: none, cursor: '', loading: true, dropped: false, first: true };
  const key = `${entryNow()} ${path}`, [state, setState] = useState(shelf.get(key) ?? empty), opened = useRef(true);
  if (state.path === path && !state.loading && !state.problem) put(key, state);
  const latest = useRef(path);
  latest.current = path;
  const load = async (from) => {
    if (!path) return;
    setState({ ...from, loading: true, problem: null });
    try {
      let { items, cursor } = from;
      let first = !cursor;
      for (let n = 0; n < searches; n++) { // an empty page with a cursor means that the service searched further
        if (cursor) first = false;
        const at = cursor ? `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}` : path;
        const { body } = await call('GET', at);
        items = [...items, ...body.items];
        cursor = body.nextCursor ?? '';
        if (body.items.length || !cursor) break;
      }
      if (latest.current === path) setState({ path, items: items.slice(-rows), fresh: none, dropped: from.dropped || items.length > rows, cursor, loading: false, first });
    } catch (problem) {
      if (latest.current === path) setState({ ...from, loading: false, problem });
    }
  };
  const follow = async (abort) => {
    try {
      const { body } = await read(path, abort);
      setState((s) => (s.path === path && s.first && !s.loading && !s.problem ? newer(s, body) : s));
    } catch { /* the next look may succeed; what is shown stays */ }
  };
  useEffect(() => {
    if (!path) return undefined;
    const control = new AbortController();
    let timer, asking = false;
    const wait = () => { timer = setTimeout(look, pause()); };
    const look = async () => {
      clearTimeout(timer);
      if (asking) return;
      asking = true;
      if (!document.hidden) await follow(control.signal);
      asking = false;
      if (!control.signal.aborted) wait();
    };
    document.addEventListener('visibilitychange', look);
    const before = opened.current && shelf.get(key);
    opened.current = false;
    if (before) { setState(before); look(); } else { load(empty); wait(); }
    return () => { control.abort(); clearTimeout(timer); document.removeEventListener('visibilitychange', look); };
  }, [path]);
  const shown = state.path === path ? state : empty;
  return { ...shown, more: Boolean(shown.cursor), next: () => load(shown), reload: () => load(empty) };
}

const mostPages = 10;

/** useAll reads a listing whole, up to ten pages, and sorts it: {items, rest, problem, loading, reload}. rest is true if there is
 * more. It is for listings that the service gives in another order. */
export function useAll(path, order) {
  const key = `${entryNow()} ${path}`, [state, setState] = useState(shelf.get(key) ?? { path: null });
  const load = async (left) => {
    let items = [], cursor = '', problem;
    try {
      for (let n = 0; n < mostPages && (n === 0 || cursor) && !left.is; n++) {
        const { body } = await call('GET', cursor ? `${path}&cursor=${encodeURIComponent(cursor)}` : path);
        items = [...items, ...body.items];
        cursor = body.nextCursor ?? '';
        if (!left.is && cursor) setState((s) => (s.path === path ? s : { path, items: [...items].sort(order), rest: false, loading: true }));
      }
    } catch (p) { problem = p; }
    if (left.is) return;
    const next = { path, items: items.sort(order), rest: Boolean(cursor), problem };
    if (!problem) put(key, next);
    setState(next);
  };
  useEffect(() => {
    const left = { is: false };
    load(left);
    return () => { left.is = true; };
  }, [path]);
  const shown = state.path === path ? state : { items: [], loading: true };
  return { ...shown, reload: () => load({ is: false }) };
}
