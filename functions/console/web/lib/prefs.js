// Module prefs keeps what a person chose for this browser: how times are shown, and the theme. Nothing secret is in it.
import { signal, effect } from './h.js';

const name = 'orgops.preferences';

function stored() {
  try { return JSON.parse(localStorage.getItem(name)) ?? {}; } catch { return {}; }
}

/** times is how times are shown: relative, local or utc. */
export const times = signal(['relative', 'local', 'utc'].find((t) => t === stored().times) ?? 'relative');

/** theme is system, light or dark. */
export const theme = signal(['system', 'light', 'dark'].find((t) => t === stored().theme) ?? 'system');

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  try { localStorage.setItem(name, JSON.stringify({ times: times.value, theme: theme.value })); } catch { /* a browser may forbid it */ }
});
