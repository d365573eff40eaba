// Opens every mail as a phone shows it, in both themes, and writes pictures of them if there is a folder.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { accessible, need, open } from './browser.mjs';

const { MAILS, PICTURES } = process.env, grounds = { light: 'rgb(244, 245, 247)', dark: 'rgb(20, 23, 26)' };
const mails = readdirSync(MAILS).filter((file) => file.endsWith('.html'));
if (PICTURES) mkdirSync(PICTURES, { recursive: true });
const { browser, page, seen } = await open({ width: 390, height: 700 });
try {
  for (const mail of mails) {
    await page.setContent(readFileSync(`${MAILS}/${mail}`, 'utf8'));
    for (const colorScheme of ['light', 'dark']) {
      const what = `${mail} ${colorScheme}`;
      await page.emulateMedia({ colorScheme });
      need(`the ground of ${what}`, await page.evaluate(() => getComputedStyle(document.body).backgroundColor), grounds[colorScheme]);
      await accessible(page, what);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/mail-${mail.replace('.html', '')}-${colorScheme}.png`, fullPage: true });
    }
  }
  need('what the mails load', seen.requests, []);
  need('what must not happen', seen.wrong, []);
  console.log(`${mails.length} mails`);
} catch (err) {
  console.error(err.message);
  process.exitCode = 1;
} finally {
  await browser.close();
}
