import { readFile } from 'node:fs/promises';

import { CommandError } from '../command-line.ts';

/** Where to send, and with which key. */
export interface Target {
  /** Of the service, without a slash at its end and without `/api`. */
  readonly url: string;
  readonly key: string | undefined;
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** What fits in a header: Azure's own keys are letters, digits and a few signs. */
const KEY_FORM = /^[\u0021-\u007e]+$/;

/**
 * Where to send, and with which key. The key comes from a file or from FUNCTION_KEY and never from the command line, which every
 * process of the machine can read; it is never printed, and never sent in the clear to another machine.
 *
 * @param url of the service; one that ends in `/api/events` is taken as well
 * @param environment has FUNCTION_KEY, or not
 * @throws {CommandError} that names what is wrong, and no key
 */
export const readTarget = async (
  url: string,
  keyFile: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Target> => {
  if (!URL.canParse(url)) throw new CommandError('--url is not a URL.');
  const { protocol, hostname, origin, pathname, search, hash, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new CommandError('--url must begin with https:// or http://.');
  if (search !== '' || hash !== '' || username !== '' || password !== '') {
    throw new CommandError('--url must have no query and no user name: a key goes into --key-file or FUNCTION_KEY.');
  }
  const key = keyFile === undefined ? environment['FUNCTION_KEY'] : await readKeyFile(keyFile);
  if (key !== undefined && !KEY_FORM.test(key)) {
    throw new CommandError(`${keyFile ?? 'FUNCTION_KEY'} does not hold a function key: one word and nothing else.`);
  }
  if (key !== undefined && protocol === 'http:' && !LOOPBACK_HOST.test(hostname)) {
    throw new CommandError(`--url must be https: a function key is not sent in the clear to ${hostname}.`);
  }
  const base = pathname.replace(/\/+$/, '').replace(/\/api(\/events)?$/, '');
  return { url: `${origin}${base}`, key };
};

const readKeyFile = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '').trim();
  } catch (error) {
    throw new CommandError(`The key file ${path} cannot be read.`, { cause: error });
  }
};
