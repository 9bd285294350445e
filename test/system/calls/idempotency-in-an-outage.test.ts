import { it } from 'vitest';

import { NO_FAULT } from '../../analytics/faults/fault-proxy.ts';
import { setStage } from './stage.ts';
import { until } from './until.ts';

const UNAVAILABLE = { kind: 'refused', code: 'Nothing' } as const;
const key = { 'idempotency-key': '6d5f3e1c-9d5a-4a55-8d6c-0f9b1d2e7a41' };

it.concurrent('keeps the key through two seconds without the table', async ({ expect, onTestFinished }) => {
  const stage = await setStage({ isProxied: true }, onTestFinished);
  const [app] = stage.apps;
  if (app === undefined) throw new Error('no instance');
  const outageEnds = performance.now() + 2_000;
  app.rule = ({ service }) =>
    service === 'tables' && performance.now() < outageEnds ? { ...UNAVAILABLE, status: 503 } : NO_FAULT;
  const first = await stage.alert('Custom', ['+12065550800'], key);
  expect(first).toMatchObject({ status: 202, calls: [{ status: 'placed' }] });
  await stage.callEnds('+12065550800');
  await app.restart();
  expect(await stage.alert('Custom', ['+12065550800'], key)).toEqual(first);
  await until(() => stage.callsTo('+12065550800').length === 1, 'nobody is called anew');
});

it.concurrent(
  'asks a table that answers a plain 404 a bounded number of times, and calls all the same',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ isProxied: true }, onTestFinished);
    const [app] = stage.apps;
    if (app === undefined) throw new Error('no instance');
    app.rule = ({ service }) => (service === 'tables' ? { ...UNAVAILABLE, status: 404 } : NO_FAULT);
    expect(await stage.alert('Custom', ['+12065550800'], key)).toMatchObject({
      status: 202,
      calls: [{ status: 'placed' }],
    });
    expect(app.requests.filter(({ service }) => service === 'tables').length).toBeLessThan(200);
    await stage.callEnds('+12065550800');
    stage.endsWell();
  },
);
