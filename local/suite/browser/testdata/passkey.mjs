// A person enrols a passkey, logs in with it, and removes it. Chromium's own virtual authenticator holds it.
import { everywhere, logIn, need, open, settled } from './browser.mjs';

const { BASE, EMAIL, PASSWORD } = process.env;
const { browser, page, seen } = await open();
try {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });

  await logIn(page, '#/account');
  await page.getByLabel('Name of the device').fill('Laptop');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('Store these recovery codes').waitFor();
  const recovery = await page.locator('#factors .codes code').allInnerTexts();
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await settled(page);
  await page.locator('#factors').getByRole('row', { name: /Laptop.*Passkey/ }).waitFor();
  await everywhere(page, 'the account with a passkey');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('alert').getByText('has a passkey for your login already').waitFor();

  // The browser asks for the passkey once the person wants it; a recovery code does as well.
  const enter = async (at) => {
    await page.locator('aside').getByRole('button', { name: 'Log out' }).click();
    await page.goto('about:blank');
    await page.goto(`${BASE}/console/${at}`);
    await page.locator('#email:focus').waitFor();
    await page.keyboard.type(EMAIL);
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
  };
  await enter('#/account');
  await everywhere(page, 'the second step of a login with a passkey');
  await page.keyboard.press('Enter'); // the button has the focus
  await page.getByText('10 recovery codes are left').waitFor();
  await enter('#/account');
  await devtools.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
  await page.getByLabel('A recovery code').fill(recovery[0]);
  await page.keyboard.press('Enter');
  await page.getByText('9 recovery codes are left').waitFor();
  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Laptop').waitFor({ state: 'detached' });
  need('breaches of the policy', await page.evaluate(() => window.breaches), []);
  need('what must not happen', seen.wrong, []);
} catch (err) {
  console.error(err.message, '\nat', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 1500), '\n', seen.wrong.join('\n'));
  process.exitCode = 1;
} finally {
  await browser.close();
}
