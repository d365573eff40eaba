// Module kinds groups the integrations of a company by their kinds.

/** bad tells how much a person has to do about an integration: the worst first. */
const bad = (i) => (i.paused ? 5 : ({ fail: 4, warn: 3 })[i.health.status] ?? (i.enabled ? (i.state === 'sandbox' ? 1 : 0) : 2));

/** grouped lists the kinds with their integrations, of both the worst first. */
export function grouped(items) {
  const kinds = new Map();
  for (const i of items) kinds.set(i.kind, [...(kinds.get(i.kind) ?? []), i]);
  const worst = (of) => of.toSorted((a, b) => bad(b) - bad(a) || a.provider.localeCompare(b.provider));
  return [...kinds].map(([kind, of]) => ({ kind, items: worst(of) })).toSorted((a, b) => bad(b.items[0]) - bad(a.items[0]) || a.kind.localeCompare(b.kind));
}

/** named tells what a configuration of GitHub names, if it is one. */
export const named = (config) => config?.repository ?? config?.repositories?.join(', ') ?? config?.organization;
