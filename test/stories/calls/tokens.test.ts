import { exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import { describe, it } from 'vitest';

import { setStage, type Stage } from '../../harness/phone-stage.ts';

const connected = (callConnectionId: string) => [
  {
    id: '1',
    source: 'calling',
    type: 'Microsoft.Communication.CallConnected',
    specversion: '1.0',
    data: { callConnectionId },
  },
];

/** A valid token but for the key that signed it. */
const signedByAnother = async (stage: Stage): Promise<string> => {
  const { privateKey } = await generateKeyPair('RS256');
  const kid = stage.acs.signer.keySet.keys[0]?.kid ?? '';
  return new SignJWT({})
    .setProtectedHeader({ alg: 'RS256', kid })
    .setIssuer(stage.acs.issuer)
    .setAudience(stage.acs.resourceId)
    .setExpirationTime('5m')
    .sign(privateKey);
};

/** Algorithm confusion: a symmetric signature with the public key, which everybody has, as the secret. */
const signedWithThePublicKey = async (stage: Stage): Promise<string> => {
  const [jwk] = stage.acs.signer.keySet.keys;
  const key = await importJWK({ ...jwk }, 'RS256', { extractable: true });
  const secret = new TextEncoder().encode(key instanceof Uint8Array ? '' : await exportSPKI(key));
  return new SignJWT({})
    .setProtectedHeader({ alg: 'HS256', kid: jwk?.kid ?? '' })
    .setIssuer(stage.acs.issuer)
    .setAudience(stage.acs.resourceId)
    .setExpirationTime('5m')
    .sign(secret);
};

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const tampered = async (stage: Stage): Promise<string> => {
  const [header, , signature] = (await stage.acs.signer.sign({ audience: 'another' })).split('.');
  const exp = Math.floor(Date.now() / 1_000) + 300;
  return `${header}.${base64({ iss: stage.acs.issuer, aud: stage.acs.resourceId, exp })}.${signature}`;
};

const unsigned = (stage: Stage): string => {
  const exp = Math.floor(Date.now() / 1_000) + 300;
  return `${base64({ alg: 'none' })}.${base64({ iss: stage.acs.issuer, aud: stage.acs.resourceId, exp })}.`;
};

describe.concurrent('the token of a callback', () => {
  it('is refused with the same 401 however it is forged, and accepted if ACS signed it; the keys are fetched once', async ({
    expect,
    onTestFinished,
  }) => {
    const stage = await setStage({}, onTestFinished);
    const forged: Readonly<Record<string, string | null>> = {
      'no token': null,
      'not a bearer token': 'Basic dXNlcjpwYXNz',
      garbage: 'Bearer garbage',
      expired: `Bearer ${await stage.acs.signer.sign({ expiresIn: -31 })}`,
      'wrong issuer': `Bearer ${await stage.acs.signer.sign({ issuer: 'https://issuer.invalid' })}`,
      'wrong audience': `Bearer ${await stage.acs.signer.sign({ audience: 'another resource' })}`,
      'another key': `Bearer ${await signedByAnother(stage)}`,
      tampered: `Bearer ${await tampered(stage)}`,
      'alg none': `Bearer ${unsigned(stage)}`,
      'HS256 with the public key': `Bearer ${await signedWithThePublicKey(stage)}`,
      'no expiry': `Bearer ${await stage.acs.signer.sign({ expiresIn: 'never' })}`,
    };
    const answers = new Set<string>();
    for (const [name, authorization] of Object.entries(forged)) {
      const answer = await stage.callback('AnomalyCallback', connected('a-call'), authorization);
      expect(answer.status, name).toBe(401);
      answers.add(await answer.text());
    }
    expect(answers.size).toBe(1);
    expect(JSON.parse([...answers][0] ?? '')).toEqual({
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: 'Not authorised.',
    });

    // Expired, but within the leeway of 30 s.
    const late = `Bearer ${await stage.acs.signer.sign({ expiresIn: -20 })}`;
    expect((await stage.callback('AnomalyCallback', [], late)).status).toBe(200);
    expect((await stage.callback('AnomalyCallback', [])).status).toBe(200);
    expect(stage.acs.log()).toMatchObject({ refused: [], keyFetches: 1 });
  });

  it('is verified before the body is read', async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    expect((await stage.callback('AnomalyCallback', 'not even JSON', null)).status).toBe(401);
    expect((await stage.callback('AnomalyCallback', 'x'.repeat(10_000_000), null)).status).toBe(401);
  });

  it('is verified with one fetch of the keys for a thousand callbacks', async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    const authorization = `Bearer ${await stage.acs.signer.sign()}`;
    let accepted = 0;
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => stage.callback('BurnJobCallback', [], authorization)),
      );
      accepted += answers.filter((answer) => answer.status === 200).length;
    }
    expect(accepted).toBe(1_000);
    expect(stage.acs.log().keyFetches).toBe(1);
  });

  it('is answered 503 while the keys cannot be fetched, and accepted afterwards', async ({
    expect,
    onTestFinished,
  }) => {
    const stage = await setStage({}, onTestFinished);
    stage.acs.keysDown = true;
    const answer = await stage.callback('AnomalyCallback', connected('a-call'));
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(stage.acs.log().refused).toEqual([]);

    stage.acs.keysDown = false;
    expect((await stage.callback('AnomalyCallback', [])).status).toBe(200);
  });

  it('is not verified without a resource id, and start-up warns of that once', async ({ expect, onTestFinished }) => {
    const stage = await setStage({ environment: { ACS_RESOURCE_ID: '' } }, onTestFinished);
    expect(stage.logged('callbacks are not verified')).toHaveLength(1);
    expect((await stage.callback('AnomalyCallback', [], null)).status).toBe(200);
    await stage.alert('Anomaly', ['+12065550700']);
    await stage.callEnds('+12065550700');
    expect(stage.logged('callbacks are not verified')).toHaveLength(1);
    expect(stage.acs.log().keyFetches).toBe(0);
    stage.endsWell();
  });
});
