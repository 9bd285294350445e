import type { RequestListener } from 'node:http';

import { exportJWK, exportSPKI, generateKeyPair, importJWK, type JSONWebKeySet, SignJWT } from 'jose';
import { expect, it, onTestFinished, vi } from 'vitest';

import { createTokenSigner } from '../../../../infra/emulators/acs-simulator/token-signer.ts';
import { createTokenVerifier } from '../../../../src/calls/providers/acs/callback-token.ts';
import { LoopbackServer } from '../../../harness/loopback-server.ts';

const ISSUER = 'https://issuer.invalid';
const RESOURCE_ID = 'd2f0a8b4-5a1c-4a52-9a58-4c3e3c0a9d11';

/** A key server with the given answers, and a verifier that fetches from it. */
const keyServer = async (listener: RequestListener) => {
  let fetches = 0;
  const server = await LoopbackServer.start((request, response) => {
    fetches += 1;
    listener(request, response);
  });
  onTestFinished(() => server.stop());
  const tokenKeysUrl = `http://127.0.0.1:${server.port}/calling/keys`;
  const verify = createTokenVerifier({ resourceId: RESOURCE_ID, tokenIssuer: ISSUER, tokenKeysUrl });
  if (verify === undefined) throw new Error('no verifier');
  return { verify, fetches: () => fetches };
};

/** A token as good as ACS's but for its header and the key that signed it. */
const signedWith = async (key: Parameters<SignJWT['sign']>[0], alg: string, { keys }: JSONWebKeySet): Promise<string> =>
  new SignJWT({})
    .setProtectedHeader({ alg, kid: keys[0]?.kid ?? '' })
    .setIssuer(ISSUER)
    .setAudience(RESOURCE_ID)
    .setExpirationTime('5m')
    .sign(key);

/** Everybody has the public key: it must not be taken for the secret of a symmetric signature. */
const publicKeyAsSecret = async ({ keys }: JSONWebKeySet): Promise<Uint8Array> => {
  const key = await importJWK({ ...keys[0] }, 'RS256', { extractable: true });
  return new TextEncoder().encode(key instanceof Uint8Array ? '' : await exportSPKI(key));
};

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

it('takes what ACS signed, with a leeway of 30 s, and no forgery', async () => {
  const signer = await createTokenSigner(ISSUER, RESOURCE_ID);
  const pss = await generateKeyPair('PS256');
  // As Azure publishes them: `alg` is optional, and without it a key fits every algorithm of its kind.
  const keySet = { keys: [{ ...(await exportJWK(pss.publicKey)), kid: 'any algorithm' }] };
  const keys = [...signer.keySet.keys, ...keySet.keys];
  const { verify } = await keyServer((_, response) => response.end(JSON.stringify({ keys })));
  const [header, , signature] = (await signer.sign({ audience: 'another' })).split('.');
  const claims = base64({ iss: ISSUER, aud: RESOURCE_ID, exp: Math.floor(Date.now() / 1_000) + 300 });
  const tokens = {
    good: await signer.sign(),
    'expired 20 s ago': await signer.sign({ expiresIn: -20 }),
    'expired 31 s ago': await signer.sign({ expiresIn: -31 }),
    'without an expiry': await signer.sign({ expiresIn: 'never' }),
    'of another issuer': await signer.sign({ issuer: 'https://another.invalid' }),
    'for another audience': await signer.sign({ audience: 'another' }),
    'of another key': await signedWith((await generateKeyPair('RS256')).privateKey, 'RS256', signer.keySet),
    'of the public key': await signedWith(await publicKeyAsSecret(signer.keySet), 'HS256', signer.keySet),
    'with other claims': `${header}.${claims}.${signature}`,
    'of a key without an algorithm, by another one': await signedWith(pss.privateKey, 'PS256', keySet),
    unsigned: `${base64({ alg: 'none' })}.${claims}.`,
  };
  const valid: string[] = [];
  for (const [what, token] of Object.entries(tokens)) {
    if ((await verify(`Bearer ${token}`)) === 'valid') valid.push(what);
  }
  expect(valid).toEqual(['good', 'expired 20 s ago']);
});

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
  for (const header of [null, '', 'Bearer', 'Bearer a.b', 'Bearer a.b.c', 'Basic a.b.c']) {
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
  ['never answers', () => undefined],
])('cannot verify a token while the key server %s', async (_, listener) => {
  const signer = await createTokenSigner(ISSUER, RESOURCE_ID);
  const { verify } = await keyServer(listener);
  const token = `Bearer ${await signer.sign()}`;
  const begin = performance.now();
  expect(await verify(token)).toBe('unknown');
  // The callee hears silence meanwhile.
  expect(performance.now() - begin).toBeLessThan(10_000);
});

const later = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000);

/** The key server answers with these keys, or with 503 while it is down. */
const changingServer = async (keySet: JSONWebKeySet) => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const state = { keySet, isDown: false };
  const { verify, fetches } = await keyServer((_, response) => {
    if (state.isDown) response.writeHead(503).end();
    else response.end(JSON.stringify(state.keySet));
  });
  return { verify, fetches, state };
};

const HOUR = 3_600;

it('fetches the keys again after an hour: a withdrawn key verifies nothing any more', async () => {
  const signer = await createTokenSigner(ISSUER, RESOURCE_ID);
  const next = await createTokenSigner(ISSUER, RESOURCE_ID);
  const { verify, fetches, state } = await changingServer(signer.keySet);
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('valid');
  state.keySet = next.keySet;
  later(HOUR - 1);
  expect([await verify(`Bearer ${await signer.sign()}`), fetches()]).toEqual(['valid', 1]);
  later(1);
  expect([await verify(`Bearer ${await signer.sign()}`), fetches()]).toEqual(['invalid', 2]);
  expect([await verify(`Bearer ${await next.sign()}`), fetches()]).toEqual(['valid', 2]);
});

it('verifies with the keys of yesterday while new ones cannot be fetched, and not with those of last week', async () => {
  const signer = await createTokenSigner(ISSUER, RESOURCE_ID);
  const stranger = await createTokenSigner(ISSUER, RESOURCE_ID);
  const { verify, fetches, state } = await changingServer(signer.keySet);
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('valid');
  state.isDown = true;
  later(24 * HOUR);
  // One try, and no other for 30 s: a callee would hear silence during each.
  for (const [seconds, tries] of [
    [0, 2],
    [29, 2],
    [1, 3],
  ] as const) {
    later(seconds);
    expect([await verify(`Bearer ${await signer.sign()}`), fetches()]).toEqual(['valid', tries]);
  }
  // The key may be a new one.
  expect(await verify(`Bearer ${await stranger.sign()}`)).toBe('unknown');
  // A wrong token is wrong, outage or not.
  expect(await verify(`Bearer ${await signer.sign({ audience: 'another' })}`)).toBe('invalid');
  later(23.9 * HOUR);
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('valid');
  later(0.2 * HOUR);
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('unknown');
  state.isDown = false;
  expect(await verify(`Bearer ${await signer.sign()}`)).toBe('valid');
});

it('verifies nothing without a resource id', () => {
  const rules = { resourceId: undefined, tokenIssuer: ISSUER, tokenKeysUrl: 'http://127.0.0.1:9/' };
  expect(createTokenVerifier(rules)).toBeUndefined();
});
