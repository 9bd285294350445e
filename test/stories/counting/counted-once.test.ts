import { expect, it } from 'vitest';

import { Oracle } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { CAMERAS, DATES, dayOfDate, season } from '../../harness/season.ts';
import { startWatch, startWatches } from '../../harness/watch.ts';

const CLIENTS = 8;
const BATCH = 20;

it('messages that are repeated, shuffled and edited, from 8 clients at once to two instances, are counted exactly once', async () => {
  const { messages, deliveries, questions } = season('counted once', 300);
  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  const environment = { TABLES_PREFIX: ownTablesPrefix() };
  const watches = await startWatches(2, { ...environment, COUNTER_SHARDS: '4' });
  const watchOf = (client: number) => watches[client % watches.length];

  let taken = 0;
  const client = async (which: number): Promise<void> => {
    for (let at = which * BATCH; at < deliveries.length; at += CLIENTS * BATCH) {
      const answer = await watchOf(which)?.record(deliveries.slice(at, at + BATCH));
      taken += (answer?.recorded ?? 0) + (answer?.unchanged ?? 0);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, async (_, which) => client(which)));
  expect(taken).toBe(deliveries.length);

  // Who starts later, with another number of shards for new days, answers the same.
  const later = await startWatch({ ...environment, COUNTER_SHARDS: '7' });
  expect(await later.record(messages.slice(0, 200))).toEqual({ recorded: 0, unchanged: 200 });
  for (const watch of [...watches, later]) {
    for (const date of DATES) {
      expect(await watch.day(date)).toEqual(oracle.answer(dayOfDate(date)));
      for (const cameraId of CAMERAS) {
        expect(await watch.day(date, cameraId)).toEqual(oracle.answer({ ...dayOfDate(date), cameraId }));
      }
    }
  }
  for (const [index, question] of questions.slice(0, 30).entries()) {
    const watch = index % 3 === 0 ? later : watchOf(index);
    expect({ question, ...(await watch?.range(question)) }).toEqual({ question, ...oracle.answer(question) });
  }
  for (const date of DATES) {
    const steps = await later.hours(dayOfDate(date));
    expect(steps).toHaveLength(24);
    for (const { question, answered } of steps) {
      const { active_camera_ids, ...expected } = oracle.answer(question);
      expect({ question, ...answered }).toEqual({ question, active_cameras: active_camera_ids.length, ...expected });
    }
  }
});
