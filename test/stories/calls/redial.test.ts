import { expect, it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  '+12065550100': ['heard', 'heard'],
  '+12065551106': ['heard', 'busy', 'heard'],
  '+12065552107': ['heard', 'no_answer', 'heard'],
  '+12065553101': ['not_reached', 'no_answer', 'no_answer'],
  // Beside other calls it may have been for want of a line: that is no attempt.
  '+12065555146': ['heard', 'heard'],
  '+12065556119': ['not_reached', 'unknown', 'unknown'],
  // Less than one unit was heard.
  '+12065557112': ['not_reached', 'cut_short', 'cut_short'],
  // Nothing surely started.
  '+12065558157': ['not_reached', 'unknown', 'unknown'],
};

it('calls again who was not reached, up to the attempts and 5 s apart, and tells all of it', async () => {
  const stage = await setStage({ environment: { CALL_RETRY_SECONDS: '5', CALL_ATTEMPTS: '2' } });
  const numbers = Object.keys(EXPECTED);
  const { notification_id } = await stage.alert('ReportOfFire', numbers);

  const { recipients } = await stage.completed(notification_id, 60_000);
  const told = recipients.map(({ status, attempts }) => [status, ...attempts.map(({ outcome }) => outcome)]);
  expect(Object.fromEntries(numbers.map((number, index) => [number, told[index]]))).toEqual(EXPECTED);
  for (const [index, number] of numbers.entries()) {
    const calls = stage.callsTo(number);
    const { attempts = [] } = recipients[index] ?? {};
    const ids = calls.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(attempts.map((attempt) => attempt.call_connection_id)));
    const whole = calls.flatMap(({ speeches }) => speeches).filter(({ isComplete }) => isComplete);
    const reached = attempts.filter(({ outcome }) => outcome === 'heard').length;
    expect(whole.map(({ text }) => text)).toEqual(Array(reached).fill(messageOf('ReportOfFire')));
    const [first, second = Infinity] = attempts.map(({ call_connection_id: id }) =>
      Date.parse(calls.find((call) => call.id === id)?.rangAt ?? ''),
    );
    expect(second - (first ?? 0)).toBeGreaterThanOrEqual(5_000);
  }
  stage.endsWell();
}, 60_000);

it('says when the next attempt is, and lists the newest notifications first', async () => {
  const stage = await setStage();
  const first = await stage.alert('Anomaly', ['+12065550106']);
  const second = await stage.alert('BurnJob', ['+12065551100', '+12065552100']);
  await stage.completed(second.notification_id);
  await expect
    .poll(async () => (await stage.notification(first.notification_id)).recipients[0]?.attempts[0]?.outcome)
    .toBe('busy');
  const [waiting] = (await stage.notification(first.notification_id)).recipients;
  expect(Date.parse(waiting?.next_attempt_at ?? '') - Date.parse(waiting?.attempts[0]?.ended_at ?? '')).toBe(60_000);

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
