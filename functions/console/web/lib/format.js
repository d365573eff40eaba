// Module format turns values into text. It uses neither the page nor the network.

/** words turns an identifier such as not-applicable or goal.updated into words. */
export const words = (id) => String(id ?? '').replace(/[-_.]+/g, ' ');

/** sentence begins a text with a capital letter. */
export const sentence = (text) => { const t = String(text ?? ''); return t.charAt(0).toUpperCase() + t.slice(1); };

/** plural counts a noun, which adds an s unless many is given. */
export const plural = (n, one, many = one + 's') => `${number(n)} ${n === 1 ? one : many}`;

/** counted counts a noun that is given in the plural, such as deliveries or days left. */
export const counted = (n, many) => `${number(n)} ${n === 1 ? String(many).replace(/^\w+/, singular) : many}`;

const singular = (word) => word.replace(/ies$/, 'y').replace(/(ss|x|ch|sh)es$/, '$1').replace(/([^s])s$/, '$1');

const groups = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });

/** number writes a number with at most two decimals. */
export const number = (n) => (n === null || n === undefined ? '–' : groups.format(n));

/** percent writes a share as whole per cent. */
export const percent = (share) => (share === null || share === undefined ? '–' : `${Math.round(share * 100)} %`);

const minute = 60, hour = 3600, day = 86400;

/** span writes seconds as one rounded unit. */
export function span(seconds) {
  const s = Math.abs(seconds);
  if (Math.round(s) < minute) return plural(Math.round(s), 'second');
  if (Math.round(s / minute) < minute) return plural(Math.round(s / minute), 'minute');
  if (Math.round(s / hour) < 48) return plural(Math.round(s / hour), 'hour');
  return plural(Math.round(s / day), 'day');
}

/** relative writes a time against now, both in milliseconds. */
export function relative(at, now) {
  const seconds = (now - at) / 1000;
  if (Math.abs(seconds) < 5) return 'just now';
  return seconds > 0 ? `${span(seconds)} ago` : `in ${span(seconds)}`;
}

/** age writes how long ago a time was, or when it will be. Of what was left until a time, it says that the time has passed. */
export const age = (at, now, left) => (left || at > now ? relative(at, now) : span((now - at) / 1000));

/** pad writes a number with two digits. */
const pad = (n) => String(n).padStart(2, '0');

/** clock writes a time as YYYY-MM-DD HH:MM:SS, in UTC or in the browser's zone. */
export function clock(at, utc) {
  const d = new Date(at);
  const [y, mo, da, h, mi, s] = utc
    ? [d.getUTCFullYear(), d.getUTCMonth() + 1, d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()]
    : [d.getFullYear(), d.getMonth() + 1, d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds()];
  return `${y}-${pad(mo)}-${pad(da)} ${pad(h)}:${pad(mi)}:${pad(s)}${utc ? ' UTC' : ''}`;
}

/** dayOf writes the day of a time as a heading, such as Sunday, 22 November 2026. */
export function dayOf(at, utc) {
  return new Intl.DateTimeFormat('en-GB', {
    weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', timeZone: utc ? 'UTC' : undefined,
  }).format(new Date(at));
}

/** quote writes a text as one word of a POSIX shell. */
export const quote = (text) => `'${String(text).replaceAll("'", `'\\''`)}'`;

/** curl writes a request as a command. The token is the shell's variable, so the command can be shared. */
export function curl(method, url, body) {
  const parts = ['curl'];
  if (method !== 'GET') parts.push('-X', method);
  parts.push(quote(url), '-H', '"Authorization: Bearer $TOKEN"');
  if (body !== undefined) parts.push('-H', quote('Content-Type: application/json'), '-d', quote(JSON.stringify(body)));
  return parts.join(' ');
}

/** safeLink returns a url if it may become a link: http or https. Otherwise it returns null. */
export function safeLink(text) {
  try {
    const url = new URL(text);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null;
  } catch {
    return null;
  }
}

/** differences lists the fields that an update changed, from data.previous and data. */
export function differences(data) {
  const previous = data?.previous;
  if (!previous || typeof previous !== 'object') return [];
  return Object.keys(previous).map((field) => ({ field, before: previous[field], after: data[field] }));
}
