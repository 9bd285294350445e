import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';

import { expect, it, onTestFinished, vi } from 'vitest';

import { createTokenSigner } from '../../../infra/local/acs-simulator/token-signer.ts';
import { createTokenVerifier } from '../../../src/calls/acs/callback-token.ts';

const ISSUER = 'https://issuer.invalid';
const RESOURCE_ID = 'd2f0a8b4-5a1c-4a52-9a58-4c3e3c0a9d11';

/** A key server with the given answers, and a verifier that fetches from it. */
const keyServer = async (listener: RequestListener) => {
  let fetches = 0;
  const server = createServer((request, response) => {
    fetches += 1;
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const verify = createTokenVerifier({
    resourceId: RESOURCE_ID,
    tokenIssuer: ISSUER,
    tokenKeysUrl: `http://127.0.0.1:${port}/calling/keys`,
  });
  if (verify === undefined) throw new Error('no verifier');
  return { verify, fetches: () => fetches };
};

it('fetches the keys once for a thousand tokens at the same time, and not again for an unknown key within the cool-down', async () => {
  const signer = await createTokenSigner(ISSUER, RESOURCE_ID);
  const stranger = await createTokenSigner(ISSUER, RESOURCE_ID);
  const { verify, fetches } = await keyServer((_, response) => response.end(JSON.stringify(signer.keySet)));
  const good = `Bearer ${await signer.sign()}`;
  const verdicts = await Promise.all(Array.from({ length: 1_000 }, () => verify(good)));
  expect(new Set(verdicts)).toEqual(new Set(['valid']));
  const unknown = `Bearer ${await stranger.sign()}`;
  const refused = await Promise.all(Array.from({ length: 100 }, () => verify(unknown)));
  expect(new Set(refused)).toEqual(new Set(['invalid']));
  expect(fetches()).toBe(1);
});

it('fetches no keys for a malformed token', async () => {
  const { verify, fetches } = await keyServer((_, response) => response.end('{}'));
  for (const header of [
    null,
    '',
    'Bearer',
    'Bearer a.b',
    'Bearer a.b.c',
    'Basic a.b.c',
    'Bearer eyJhbGciOiJub25lIn0.e30.',
  ]) {
    expect(await verify(header)).toBe('invalid');
  }
  expect(fetches()).toBe(0);
});

it.each<[string, RequestListener]>([
  ['answers 500', (_, response) => response.writeHead(500).end()],
  ['answers no JSON', (_, response) => response.end('<html>')],
  ['answers no key set', (_, response) => response.end('{"keys":7}')],
  ['breaks the connection', (request) => request.socket.destroy()],
  ['redirects', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()],
])('cannot verify a token while the key server %s', async (_, listener) => {
  const signer = await createTokenSigner(ISSUER, RESOURCE_ID);
  const { verify } = await keyServer(listener);
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('unknown');
});

it('stops waiting for a key server that never answers, within seconds', { timeout: 15_000 }, async () => {
  const signer = await createTokenSigner(ISSUER, RESOURCE_ID);
  const { verify } = await keyServer(() => undefined);
  const begun = performance.now();
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('unknown');
  expect(performance.now() - begun).toBeLessThan(10_000);
});

const hours = (count: number) => vi.setSystemTime(Date.now() + count * 3_600_000);

it('verifies with the keys of yesterday while new ones cannot be fetched, and not with those of last week', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const signer = await createTokenSigner(ISSUER, RESOURCE_ID);
  const stranger = await createTokenSigner(ISSUER, RESOURCE_ID);
  let isDown = false;
  const { verify, fetches } = await keyServer((_, response) => {
    if (isDown) response.writeHead(503).end();
    else response.end(JSON.stringify(signer.keySet));
  });
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('valid');
  isDown = true;
  hours(24);
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('valid');
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('valid');
  // One try, and no other for a while: a callee would hear silence during each.
  expect(fetches()).toBe(2);
  // The key may be a new one.
  expect(await verify(`Bearer ${await stranger.sign()}`)).toBe('unknown');
  // A wrong token is wrong, outage or not.
  expect(await verify(`Bearer ${await signer.sign({ audience: 'another' })}`)).toBe('invalid');
  hours(25);
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('unknown');
  isDown = false;
  hours(1);
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('valid');
});

it('verifies nothing without a resource id', () => {
  const rules = { resourceId: undefined, tokenIssuer: ISSUER, tokenKeysUrl: 'http://127.0.0.1:9/' };
  expect(createTokenVerifier(rules)).toBeUndefined();
});
