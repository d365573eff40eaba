// Module passkey asks the browser for passkeys.
import { Problem } from './api.js';

const reasons = {
  InvalidStateError: 'This device has a passkey for your login already.',
  SecurityError: 'A passkey belongs to the name of the service. Open the console at its own address; on this machine that is localhost.',
};

async function ask(asked) {
  try { return (await asked()).toJSON(); } catch (err) {
    throw new Problem({ title: 'The browser gave no passkey', detail: reasons[err.name] ?? 'Try again, or use another second factor.' }, 0);
  }
}

/** makePasskey returns a new passkey for the options of an enrolment. */
export const makePasskey = (options) => ask(() => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }));

/** signWithPasskey returns what a passkey has signed for the options of a challenge. */
export const signWithPasskey = (options) => ask(() => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }));
