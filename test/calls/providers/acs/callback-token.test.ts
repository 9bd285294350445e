import type { RequestListener } from 'node:http';

import { exportJWK, exportSPKI, generateKeyPair, importJWK, type JSONWebKeySet, SignJWT } from 'jose';
import { expect, it, onTestFinished, vi } from 'vitest';

import { createTokenSigner } from '../../../../infra/emulators/acs-simulator/token-signer.ts';
import { createTokenVerifier } from '../../../../src/calls/providers/acs/callback-token.ts';
import { LoopbackServer } from '../../../harness/loopback-server.ts';
import { must } from '../../new-case.ts';

const ISSUER = 'https://issuer.invalid';
const RESOURCE_ID = 'd2f0a8b4-5a1c-4a52-9a58-4c3e3c0a9d11';
const newSigner = () => createTokenSigner(ISSUER, RESOURCE_ID);

/** A verifier of the tokens of a key server, and the number of fetches. */
const verifierOf = async (listener: RequestListener) => {
  let fetches = 0;
  const server = await LoopbackServer.start((request, response) => {
    fetches += 1;
    listener(request, response);
  });
  onTestFinished(() => server.stop());
  const tokenKeysUrl = `http://127.0.0.1:${server.port}/calling/keys`;
  const verify = must(createTokenVerifier({ resourceId: RESOURCE_ID, tokenIssuer: ISSUER, tokenKeysUrl }));
  return { verify: async (token: string) => verify(`Bearer ${token}`), verifyHeader: verify, fetches: () => fetches };
};

/** A right token, except for its header and its key. */
const signedWith = async (key: Parameters<SignJWT['sign']>[0], alg: string, { keys }: JSONWebKeySet): Promise<string> =>
  new SignJWT({ iss: ISSUER, aud: RESOURCE_ID })
    .setProtectedHeader({ alg, kid: keys[0]?.kid ?? '' })
    .setExpirationTime('5m')
    .sign(key);

/** A sender may use the public key as the secret of a symmetric signature. */
const publicKeyAsSecret = async ({ keys }: JSONWebKeySet): Promise<Uint8Array> => {
  const key = await importJWK({ ...keys[0] }, 'RS256', { extractable: true });
  return new TextEncoder().encode(key instanceof Uint8Array ? '' : await exportSPKI(key));
};

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

it('accepts tokens of ACS, with a leeway of five minutes, and no forgery', async () => {
  const signer = await newSigner();
  const pss = await generateKeyPair('PS256');
  // As Azure publishes them: `alg` is optional, and without it a key fits every algorithm of its kind.
  const keySet = { keys: [{ ...(await exportJWK(pss.publicKey)), kid: 'any algorithm' }] };
  const keys = [...signer.keySet.keys, ...keySet.keys];
  const { verify } = await verifierOf((_, response) => response.end(JSON.stringify({ keys })));
  const [header, , signature] = (await signer.sign({ audience: 'another' })).split('.');
  const claims = base64({ iss: ISSUER, aud: RESOURCE_ID, exp: Math.floor(Date.now() / 1_000) + 300 });
  const tokens = {
    good: await signer.sign(),
    'expired 290 s ago': await signer.sign({ expiresIn: -290 }),
    'expired 301 s ago': await signer.sign({ expiresIn: -301 }),
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
  for (const [what, token] of Object.entries(tokens)) if ((await verify(token)) === 'valid') valid.push(what);
  expect(valid).toEqual(['good', 'expired 290 s ago']);
});

it.each([-120, 120])('accepts a new token while the clock of this instance is %i s wrong', async (seconds) => {
  const signer = await newSigner();
  const { verify } = await verifierOf((_, response) => response.end(JSON.stringify(signer.keySet)));
  const token = await signer.sign();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await verify(token)).toBe('valid');
});

it('fetches the keys once for a hundred tokens at the same time, and not again for an unknown key within 30 s', async () => {
  const signer = await newSigner();
  const { verify, fetches } = await verifierOf((_, response) => response.end(JSON.stringify(signer.keySet)));
  const verdictsOf = async (token: string) =>
    new Set(await Promise.all(Array.from({ length: 100 }, async () => verify(token))));
  expect(await verdictsOf(await signer.sign())).toEqual(new Set(['valid']));
  expect(await verdictsOf(await (await newSigner()).sign())).toEqual(new Set(['invalid']));
  expect(fetches()).toBe(1);
});

it('fetches no keys for a malformed token, and verifies nothing without a resource id', async () => {
  const { verifyHeader, fetches } = await verifierOf((_, response) => response.end('{}'));
  for (const header of [null, '', 'Bearer', 'Bearer a.b', 'Bearer a.b.c', 'Basic a.b.c']) {
    expect(await verifyHeader(header)).toBe('invalid');
  }
  expect(fetches()).toBe(0);
  const rules = { resourceId: undefined, tokenIssuer: ISSUER, tokenKeysUrl: 'http://127.0.0.1:9/' };
  expect(createTokenVerifier(rules)).toBeUndefined();
});

it.each<[string, RequestListener]>([
  ['answers 500', (_, response) => response.writeHead(500).end()],
  ['answers no JSON', (_, response) => response.end('<html>')],
  ['answers no key set', (_, response) => response.end('{"keys":7}')],
  ['breaks the connection', (request) => request.socket.destroy()],
  ['redirects', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()],
  ['does not answer for 3 s', () => undefined],
])('cannot verify a token while the key server %s', async (_, listener) => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const timeouts = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 10));
  const { verify } = await verifierOf(listener);
  expect(await verify(await (await newSigner()).sign())).toBe('unknown');
  expect(timeouts).toHaveBeenCalledWith(3_000);
});

const HOUR = 3_600;
const later = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000);

/** A verifier whose key server answers with the keys of the state, or with 503. */
const changing = async (keySet: JSONWebKeySet) => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const state = { keySet, isDown: false };
  const verifier = await verifierOf((_, response) => {
    response.writeHead(state.isDown ? 503 : 200).end(JSON.stringify(state.keySet));
  });
  return { ...verifier, state };
};

it('fetches the keys again after an hour: a withdrawn key verifies no more tokens', async () => {
  const [signer, next] = [await newSigner(), await newSigner()];
  const { verify, fetches, state } = await changing(signer.keySet);
  expect(await verify(await signer.sign())).toBe('valid');
  state.keySet = next.keySet;
  later(HOUR - 1);
  expect([await verify(await signer.sign()), fetches()]).toEqual(['valid', 1]);
  later(1);
  expect([await verify(await signer.sign()), fetches()]).toEqual(['invalid', 2]);
  expect([await verify(await next.sign()), fetches()]).toEqual(['valid', 2]);
});

it('uses fetched keys for 48 hours while new keys cannot be fetched', async () => {
  const signer = await newSigner();
  const { verify, fetches, state } = await changing(signer.keySet);
  expect(await verify(await signer.sign())).toBe('valid');
  state.isDown = true;
  later(24 * HOUR);
  // One try, and no other for 30 s: a callee would hear silence during each.
  for (const [seconds, tries] of [
    [0, 2],
    [29, 2],
    [1, 3],
  ] as const) {
    later(seconds);
    expect([await verify(await signer.sign()), fetches()]).toEqual(['valid', tries]);
  }
  // The unknown key may be a new key. A wrong token is wrong even during an outage.
  expect(await verify(await (await newSigner()).sign())).toBe('unknown');
  expect(await verify(await signer.sign({ audience: 'another' }))).toBe('invalid');
  later(23.9 * HOUR);
  expect(await verify(await signer.sign())).toBe('valid');
  later(0.2 * HOUR);
  expect(await verify(await signer.sign())).toBe('unknown');
  state.isDown = false;
  expect(await verify(await signer.sign())).toBe('valid');
});
