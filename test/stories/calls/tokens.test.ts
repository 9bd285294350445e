import { it } from 'vitest';

import { setStage } from '../../harness/phone-stage.ts';

it.concurrent(
  'a callback is believed by its token alone, before its body is read; the keys are fetched once',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    stage.acs.keysDown = true;
    const early = await stage.callback('AnomalyCallback', []);
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '2']);
    stage.acs.keysDown = false;

    const forged = `Bearer ${await stage.acs.signer.sign({ audience: 'another resource' })}`;
    for (const authorization of [null, forged]) {
      for (const body of ['not even JSON', 'x'.repeat(10_000_000)]) {
        expect((await stage.callback('AnomalyCallback', body, authorization)).status).toBe(401);
      }
    }
    const good = `Bearer ${await stage.acs.signer.sign()}`;
    const { keyFetches } = stage.acs.log();
    const answers = await Promise.all(Array.from({ length: 100 }, () => stage.callback('BurnJobCallback', [], good)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(stage.acs.log()).toMatchObject({ refused: [], keyFetches });
  },
);

it.concurrent(
  'a callback needs no token without a resource id, and start-up warns of that once',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ environment: { ACS_RESOURCE_ID: '' } }, onTestFinished);
    expect((await stage.callback('AnomalyCallback', [], null)).status).toBe(200);
    await stage.alert('Anomaly', ['+12065550700']);
    await stage.callEnds('+12065550700');
    expect(stage.logged('callbacks are not verified')).toHaveLength(1);
    expect(stage.acs.log().keyFetches).toBe(0);
    stage.endsWell();
  },
);
