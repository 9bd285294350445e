import { expect, it } from 'vitest';

import { Oracle } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { CAMERAS, DATES, dayOfDate, season } from './season.ts';
import { startWatch, startWatches } from './watch.ts';

const CLIENTS = 8;
const BATCH = 60;

it.each([
  ['one instance', 1, '1'],
  ['two instances', 2, '1'],
  ['two instances and four shards', 2, '4'],
])(
  'messages by the thousand, repeated, shuffled, edited, from 8 clients at once, are counted exactly once by %s',
  async (_instances, instances, shards) => {
    const { messages, deliveries, questions } = season(`${instances} with ${shards}`, 1_000);
    const oracle = new Oracle();
    for (const message of messages) oracle.tell(message);
    const watches = await startWatches(instances, { COUNTER_SHARDS: shards });
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

    for (const watch of watches) {
      for (const date of DATES) {
        expect(await watch.day(date)).toEqual(oracle.answer(dayOfDate(date)));
        for (const cameraId of CAMERAS) {
          expect(await watch.day(date, cameraId)).toEqual(oracle.answer({ ...dayOfDate(date), cameraId }));
        }
      }
    }
    for (const [index, question] of questions.entries()) {
      const answer = await watchOf(index)?.range(question);
      expect({ question, ...answer }).toEqual({ question, ...oracle.answer(question) });
    }
    const again = await watchOf(1)?.record(messages.slice(0, 500));
    expect(again).toEqual({ recorded: 0, unchanged: 500 });
  },
  90_000,
);

it('an instance that starts later, with another number of shards for new days, answers the same', async () => {
  const { messages, questions } = season('later', 150);
  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  const environment = { TABLES_PREFIX: ownTablesPrefix() };
  const first = await startWatch({ ...environment, COUNTER_SHARDS: '1' });
  await first.record(messages.slice(0, 100));
  await first.app.stop();

  const later = await startWatch({ ...environment, COUNTER_SHARDS: '7' });
  await later.record(messages.slice(100));

  for (const question of questions.slice(0, 20)) expect(await later.range(question)).toEqual(oracle.answer(question));
});
