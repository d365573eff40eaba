// Writes a picture of every page, in both themes, after the journey.
import { mkdirSync } from 'node:fs';
import { logIn, open, settled, visit } from './browser.mjs';

const folder = process.env.PICTURES;
const places = ['today', 'health', 'recommendations', 'timeline', 'integrations', 'integrations/webhook', 'integrations/webhook/certification',
  'integrations/webhook/settings', 'integrations/webhook/mapping', 'integrations/webhook/deliveries', 'integrations/github', 'connect', 'connect/webhook', 'connect/github',
  'deliveries', 'memory', 'syncs', 'goals', 'operations/reliability', 'operations/dead-letters', 'operations/approvals', 'operations/decisions', 'operations/policies',
  'operations/executives', 'operations/audit', 'operations/usage', 'operations/users', 'account'];
const readme = ['today-light', 'integrations-webhook-certification-light', 'health-dark']; // of the window alone, for the README
mkdirSync(`${folder}/readme`, { recursive: true });
for (const theme of ['light', 'dark']) {
  const { browser, page } = await open({ theme, width: 1120, height: 800 });
  try {
    await page.goto(`${process.env.BASE}/console/`);
    await page.getByLabel('E-mail').waitFor();
    await page.screenshot({ path: `${folder}/login-${theme}.png` });
    for (const place of ['sso', 'invitation']) {
      await page.evaluate((to) => { location.hash = to; }, `#/${place}`);
      await page.locator(place === 'sso' ? '#company' : '#token').waitFor();
      await page.screenshot({ path: `${folder}/${place}-${theme}.png` });
    }
    await page.goto('about:blank');
    await logIn(page);
    for (const place of places) {
      await visit(page, `#/${place}`);
      const name = `${place.replaceAll('/', '-')}-${theme}`;
      await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
      if (readme.includes(name)) await page.screenshot({ path: `${folder}/readme/${name}.png` });
    }
    await visit(page, '#/integrations/webhook/deliveries?state=delivered');
    await page.locator('table a').first().click();
    await page.getByText('Attempt 1', { exact: true }).waitFor();
    await page.screenshot({ path: `${folder}/delivery-${theme}.png`, fullPage: true });
    for (const [list, name] of [['memory', 'memory-item'], ['goals', 'goal']]) {
      await visit(page, `#/${list}`);
      await page.locator('main td a, main h2 a').first().click();
      await page.locator('main .up').waitFor();
      await settled(page);
      await page.screenshot({ path: `${folder}/${name}-${theme}.png`, fullPage: true });
    }
    for (const [key, name] of [['?', 'keys'], ['Control+k', 'palette']]) {
      await page.locator('main h1').click();
      await page.keyboard.press(key);
      await page.getByRole('dialog').waitFor();
      await page.screenshot({ path: `${folder}/${name}-${theme}.png` });
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await visit(page, '#/operations/executives');
    await page.locator('main h2 a').first().click();
    await page.getByRole('heading', { name: 'Its actions' }).waitFor();
    await settled(page);
    await page.screenshot({ path: `${folder}/executive-${theme}.png`, fullPage: true });
    await page.setViewportSize({ width: 320, height: 640 });
    await visit(page, '#/today');
    await page.screenshot({ path: `${folder}/today-320-${theme}.png`, fullPage: true });
  } finally {
    await browser.close();
  }
}
