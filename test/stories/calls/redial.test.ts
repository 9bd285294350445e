import { expect, it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

it('says when the next attempt is, calls again then, and lists the newest notifications first', async () => {
  const stage = await setStage({ environment: { CALL_RETRY_SECONDS: '5', CALL_ATTEMPTS: '2' } });
  const [number] = ['+12065551106'];
  const first = await stage.alert('Anomaly', [number]);
  const second = await stage.alert('BurnJob', ['+12065551100', '+12065552100']);
  let [waiting] = (await stage.notification(first.notification_id)).recipients;
  await until(async () => {
    [waiting] = (await stage.notification(first.notification_id)).recipients;
    return waiting?.attempts[0]?.outcome === 'busy';
  }, 'the first attempt is over');
  expect(Date.parse(waiting?.next_attempt_at ?? '') - Date.parse(waiting?.attempts[0]?.ended_at ?? '')).toBe(5_000);

  const list = async (query: string) => {
    const response = await stage.fetch(`${stage.url}/api/notifications${query}`);
    return [...(await response.text()).matchAll(/"notification_id":"([^"]+)"/g)].map(([, id]) => id);
  };
  expect(await list('')).toEqual([second.notification_id, first.notification_id]);
  expect(await list('?limit=1')).toEqual([second.notification_id]);

  const { recipients } = await stage.completed(first.notification_id);
  expect(recipients).toMatchObject([{ status: 'heard', attempts: [{ outcome: 'busy' }, { outcome: 'heard' }] }]);
  const calls = stage.callsTo(number);
  expect(calls.flatMap(({ spoken }) => spoken)).toEqual([messageOf('Anomaly')]);
  const [rang = 0, rangAgain = 0] = calls.map(({ rangAt }) => Date.parse(rangAt));
  expect(rangAgain - rang).toBeGreaterThanOrEqual(5_000);
  stage.endsWell();
});
