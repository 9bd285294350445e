import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';
import { until } from './until.ts';

const SOON = { CALL_RETRY_SECONDS: '5' };

it('calls again who is busy or does not answer, up to the attempts, and tells all of it', async () => {
  const stage = await setStage({ environment: { ...SOON, CALL_ATTEMPTS: '2' } });
  const numbers = ['+12065550100', '+12065550106', '+12065550107', '+12065550101', '+12065550103', '+12065550119'];
  const { notification_id } = await stage.alert('ReportOfFire', numbers);

  const { recipients } = await stage.completed(notification_id, 60_000);
  const told = recipients.map(({ status, attempts }) => [status, ...attempts.map(({ outcome }) => outcome)]);
  expect(told).toEqual([
    ['heard', 'heard'],
    ['heard', 'busy', 'heard'],
    ['heard', 'no_answer', 'heard'],
    ['not_reached', 'no_answer', 'no_answer'],
    ['not_reached', 'declined'],
    ['not_reached', 'unknown', 'unknown'],
  ]);
  for (const [index, number] of numbers.entries()) {
    const calls = stage.callsTo(number);
    const { attempts = [] } = recipients[index] ?? {};
    expect(attempts.map((attempt) => attempt.call_connection_id)).toEqual(calls.map(({ id }) => id));
    const reached = attempts.filter(({ outcome }) => outcome === 'heard').length;
    expect(stage.callees().get(number)).toMatchObject({ heardWhole: reached, heardPart: 0, openLines: 0 });
    const [first, second] = calls.map(({ rangAt }) => Date.parse(rangAt));
    expect((second ?? Infinity) - (first ?? 0)).toBeGreaterThanOrEqual(5_000);
  }
  expect(stage.logged('recipient reached')).toHaveLength(3);
  expect(stage.logged('recipient not reached')).toHaveLength(3);
});

it('says when the next attempt is, and lists the newest notifications first', async () => {
  const stage = await setStage();
  const first = await stage.alert('Anomaly', ['+12065550106']);
  const second = await stage.alert('BurnJob', ['+12065551100', '+12065552100']);
  await until(
    async () => (await stage.notification(first.notification_id)).recipients[0]?.status === 'waiting',
    'busy',
  );
  const [waiting] = (await stage.notification(first.notification_id)).recipients;
  expect(Date.parse(waiting?.next_attempt_at ?? '') - Date.parse(waiting?.attempts[0]?.ended_at ?? '')).toBe(60_000);
  await stage.completed(second.notification_id);

  const list = async (query: string) => {
    const response = await stage.fetch(`${stage.url}/api/notifications${query}`);
    const body = JSON.stringify(await response.json());
    return { status: response.status, ids: [...body.matchAll(/"notification_id":"([^"]+)"/g)].map(([, id]) => id) };
  };
  expect(await list('')).toEqual({ status: 200, ids: [second.notification_id, first.notification_id] });
  expect(await list('?limit=1')).toEqual({ status: 200, ids: [second.notification_id] });
  for (const wrong of ['?limit=0', '?limit=101', '?limit=x', '?limit=', '?page=2']) {
    expect((await list(wrong)).status, wrong).toBe(400);
  }
  for (const unknown of ['fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de', 'nothing', '..%2F', '1']) {
    expect((await stage.fetch(`${stage.url}/api/notifications/${unknown}`)).status, unknown).toBe(404);
  }
});

it('tells how a call stands: ringing, then speaking', async () => {
  const stage = await setStage({ pace: { ringMs: 1_000, speakMs: 1_500 } });
  const { notification_id } = await stage.alert('Custom', ['+12065550100']);
  const status = async () => (await stage.notification(notification_id)).recipients[0]?.status;
  expect(await status()).toBe('ringing');
  await until(async () => (await status()) === 'speaking', 'the message is being spoken');
  await until(async () => (await status()) === 'heard', 'the message was heard');
  stage.endsWell();
});

it('does not count a call that had no line after all', async () => {
  const stage = await setStage();
  const { notification_id } = await stage.alert('Custom', ['+12065550139']);
  const { recipients } = await stage.completed(notification_id);
  expect(recipients).toMatchObject([{ status: 'heard', attempts: [{ outcome: 'heard' }] }]);
  expect(stage.callsTo('+12065550139').map(({ spoken }) => spoken)).toEqual([[], [messageOf('Custom')]]);
});

it('does not take silence for heard: who hangs up before anything was surely spoken is called again', async () => {
  const stage = await setStage({ environment: SOON });
  const { notification_id } = await stage.alert('Custom', ['+12065550143']);
  await until(() => stage.callsTo('+12065550143').length === 2, 'a second call', 40_000);
  expect(await stage.notification(notification_id)).toMatchObject({
    recipients: [{ attempts: [{ outcome: 'unknown', reason: expect.stringContaining('before the message') }, {}] }],
  });
  expect(stage.logged('attempt ended')).toMatchObject([{ outcome: 'unknown', attempt: 1 }]);
});
