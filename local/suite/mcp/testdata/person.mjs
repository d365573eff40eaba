// A person with a browser, who allows what a third party asks for.

// allow opens an authorization request, consents to its scopes on the console's page, and returns where the browser ends.
export async function allow(request) {
  const led = await fetch(request, { redirect: 'manual' });
  const page = new URL(led.headers.get('location'));
  if (!page.hash.startsWith('#/authorize?')) throw new Error(`${led.status}: led to ${page}`);
  const query = page.hash.slice('#/authorize'.length);
  const bearer = { Authorization: `Bearer ${process.env.FOUNDER}` };
  const shown = await (await fetch(`${process.env.BASE}/auth/consent${query}`, { headers: bearer })).json();
  const decided = await fetch(`${process.env.BASE}/auth/consent`, {
    method: 'POST', headers: { ...bearer, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...Object.fromEntries(new URLSearchParams(query)), allow: true, scopes: shown.scopes }),
  });
  if (decided.status !== 200) throw new Error(`${decided.status}: ${await decided.text()}`);
  return new URL((await decided.json()).redirectTo);
}
