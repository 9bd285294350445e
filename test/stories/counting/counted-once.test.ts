import { expect, it } from 'vitest';

import { Oracle } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { CAMERAS, DATES, dayOfDate, season } from '../../harness/season.ts';
import { startWatch } from '../../harness/watch.ts';

const CLIENTS = 8;
const BATCH = 10;

it('messages that are repeated, shuffled and edited, from 8 clients at once to two instances that want other numbers of shards, are counted exactly once', async () => {
  const { messages, deliveries, questions } = season('counted once', 120);
  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  const environment = { TABLES_PREFIX: ownTablesPrefix() };
  // Both meet three new days, each with another number of shards.
  const [one, other] = await Promise.all([
    startWatch({ ...environment, COUNTER_SHARDS: '4' }),
    startWatch({ ...environment, COUNTER_SHARDS: '7' }),
  ]);
  const watches = [one, other];
  const watchOf = (client: number) => (client % 2 === 0 ? one : other);

  let taken = 0;
  const client = async (which: number): Promise<void> => {
    for (let at = which * BATCH; at < deliveries.length; at += CLIENTS * BATCH) {
      const answer = await watchOf(which).record(deliveries.slice(at, at + BATCH));
      taken += answer.recorded + answer.unchanged;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, async (_, which) => client(which)));
  expect(taken).toBe(deliveries.length);

  // What was sent to one is known to the other as well.
  for (const watch of watches) {
    expect(await watch.record(messages.slice(0, 100))).toMatchObject({ recorded: 0, unchanged: 100 });
    for (const date of DATES) {
      expect(await watch.day(date)).toEqual(oracle.answer(dayOfDate(date)));
    }
  }
  for (const [index, cameraId] of CAMERAS.entries()) {
    const date = DATES[index % DATES.length] ?? DATES[0];
    expect(await other.day(date, cameraId)).toEqual(oracle.answer({ ...dayOfDate(date), cameraId }));
  }
  for (const [index, question] of questions.slice(0, 30).entries()) {
    expect({ question, ...(await watchOf(index).range(question)) }).toEqual({ question, ...oracle.answer(question) });
  }
  for (const date of DATES) {
    const steps = await other.hours(dayOfDate(date));
    expect(steps).toHaveLength(24);
    for (const { question, answered } of steps) {
      const { active_camera_ids, ...expected } = oracle.answer(question);
      expect({ question, ...answered }).toEqual({ question, active_cameras: active_camera_ids.length, ...expected });
    }
  }
});
