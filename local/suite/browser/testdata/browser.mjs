// Opens the console in Chromium. CHROMIUM names an installed browser; without it, the one of the npm package runs.
import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const { BASE, COMPANY, EMAIL, PASSWORD, SECRET } = process.env;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** bound lists the writes that take an entity tag, by the document: [method, path]. A script without a company opens no console. */
const bound = COMPANY ? await writes() : [];

async function writes() {
  const { paths } = await (await fetch(`${BASE}/openapi.json`)).json();
  return Object.entries(paths).flatMap(([path, operations]) => Object.entries(operations)
    .filter(([, o]) => o.parameters?.some((p) => p.name === 'If-Match'))
    .map(([method]) => [method.toUpperCase(), new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`)]));
}

/** unguarded reports whether a request may replace what its person has not seen: it takes an entity tag, and has none. */
const unguarded = (r) => !r.headers()['if-match'] && !r.headers()['if-none-match'] && bound.some(([method, path]) => method === r.method() && path.test(new URL(r.url()).pathname));

/** open starts a browser and a page that records what must not happen. */
export async function open({ width = 1280, height = 900, theme = 'light' } = {}) {
  const program = process.env.CHROMIUM || await (await import('@sparticuz/chromium')).default.executablePath();
  // Flags of our own: the package's would switch web security off.
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 60_000)); // a busy machine may take long; nothing waits longer than it must
  const seen = { requests: [], wrong: [] };
  await page.addInitScript(() => {
    window.breaches = [];
    window.painted = 0; // when the largest content was painted (LCP), in milliseconds since the page was asked for
    new PerformanceObserver((l) => { for (const e of l.getEntries()) window.painted = e.startTime; }).observe({ type: 'largest-contentful-paint', buffered: true });
    addEventListener('securitypolicyviolation', (e) => window.breaches.push(`${e.violatedDirective}: ${e.blockedURI}`));
  });
  page.on('request', (r) => { seen.requests.push(r.url()); if (!r.url().startsWith(BASE) && r.url() !== 'about:blank') seen.wrong.push(`a request to another host: ${r.url()}`); });
  page.on('request', (r) => { if (unguarded(r)) seen.wrong.push(`a write without the version that the page shows: ${r.method()} ${r.url()}`); });
  page.on('pageerror', (e) => seen.wrong.push(`an error: ${e.message}`));
  page.on('console', (m) => {
    if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) seen.wrong.push(`in the browser's log: ${m.text()}`);
  });
  return { browser, page, seen };
}

/** painted opens the console and returns when its largest content was painted. */
export async function painted(page) {
  await page.goto(`${BASE}/console/`);
  await page.locator('#email:focus').waitFor();
  await page.waitForFunction(() => window.painted > 0);
  const at = Math.round(await page.evaluate(() => window.painted));
  await page.goto('about:blank');
  return at;
}

/** logIn logs the founder in, by the keyboard alone, and waits for the first facts. */
export async function logIn(page, at = '#/today') {
  await page.goto(`${BASE}/console/${at}`);
  await page.locator('#email:focus').waitFor();
  await page.keyboard.type(EMAIL);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await page.locator('aside nav').waitFor();
  await settled(page);
}

/** settled waits until a page shows its content. */
export async function settled(page) {
  await page.locator('main h1').waitFor();
  await page.waitForFunction(() => !document.querySelector('.loading'));
}

/** visit moves to a place within the page, which keeps the token. The page of before is gone when it returns. */
export async function visit(page, place) {
  await page.evaluate((to) => new Promise((moved) => {
    const drawn = () => requestAnimationFrame(() => requestAnimationFrame(moved));
    if (location.hash === to) return drawn();
    addEventListener('hashchange', drawn, { once: true });
    location.hash = to;
  }), place);
  await settled(page);
}

/** looked takes a look again and again, as fast as the service answers, until there is something to see. */
export async function looked(what, look, within = 60_000) {
  for (const end = Date.now() + within; Date.now() < end;) if (await look()) return;
  throw new Error(`${what}: not seen within ${within / 1000} s`);
}

/** posted sends data as a provider does, signed according to Standard Webhooks. Without data it is an item. */
export async function posted(data = { externalId: '42', kind: 'ticket', title: 'Printer on fire' }, type = 'memory.upsert') {
  const body = JSON.stringify({ type, data });
  const id = `msg_${randomUUID()}`, at = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', Buffer.from(SECRET.slice('whsec_'.length), 'base64')).update(`${id}.${at}.${body}`).digest('base64');
  const res = await fetch(`${BASE}/inbound/${COMPANY}/webhook`, { method: 'POST', body, headers: {
    'Content-Type': 'application/json', 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}`,
  } });
  need('the answer to the item', res.status, 202);
}

/** milestone sends a milestone as GitHub does. */
export async function milestone(secret, one) {
  const body = JSON.stringify({ action: 'edited', milestone: { ...one, html_url: `https://github.com/octo/app/milestone/${one.number}` }, repository: { full_name: 'octo/app' } });
  const res = await fetch(`${BASE}/inbound/${COMPANY}/github`, { method: 'POST', body, headers: {
    'Content-Type': 'application/json', 'X-GitHub-Event': 'milestone', 'X-GitHub-Delivery': randomUUID(), 'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  } });
  need('the answer to the milestone', res.status, 202);
}

/** copied presses a button that copies, and returns what it copied. */
export async function copied(button) {
  await button.page().evaluate(() => navigator.clipboard.writeText(''));
  await button.click();
  await button.filter({ hasText: 'Copied' }).or(button.page().getByText('Copied', { exact: true })).first().waitFor();
  return button.page().evaluate(() => navigator.clipboard.readText());
}

/** need ends the journey with what is wrong. */
export function need(what, got, want) {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

/** accessible runs axe-core, or some of its rules, and fails with the violations that it finds. */
export async function accessible(page, what, rules) {
  const found = await page.evaluate(async ([source, only]) => {
    if (!window.axe) (0, eval)(source);
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'], ...(only && { runOnly: only }) });
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(', ')}`);
  }, [axe, rules]);
  need(`violations of axe-core: ${what}`, found, []);
  need(`width of ${what}`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
}

/** everywhere runs every rule, or some, in both themes, wide and narrow. */
export async function everywhere(page, what, rules = []) {
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ['dark', 'light']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await accessible(page, `${what} ${colorScheme} ${width}`, rules.length ? rules : undefined);
    }
  }
}
