import { setImmediate } from 'node:timers/promises';

import { TableClient } from '@azure/data-tables';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { randomFrom } from '../../../infra/local/demo/random.ts';
import type { Outcome } from '../../../src/analytics/record/batch.ts';
import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { Between, CARRIED_OUT, refusal, type PassingAnswer } from '../../harness/between.ts';
import { CountingProcess } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';
import { countOf, Ledger } from './ledger.ts';
import { contendedMessages, MIDNIGHT } from './messages.ts';

/** Frames of which some are refused, among others that arrive at the same time. */
const withPoison = (poison: readonly string[]): readonly PlainMessage[] => {
  const good = contendedMessages(randomFrom('poison'), { messages: 300, events: 120, cameras: 12 });
  const [first] = good;
  if (first === undefined) throw new Error('no messages');
  const bad = poison.map((eventId): PlainMessage => ({ ...first, eventId }));
  const middle = good.length >> 1;
  return [...good.slice(0, middle), ...bad, ...good.slice(middle)];
};

/** Frames of other events. */
const moreFrames = (count: number): readonly PlainMessage[] =>
  Array.from({ length: count }, (_, at) => {
    const ts = MIDNIGHT + BigInt(at);
    return { eventId: `more-${at}`, cameraId: 'ridge-0', ts, time: ts, detections: { smoke: 1 } };
  });

const isRefusal = (outcome: Outcome | undefined): boolean => typeof outcome === 'object';

describe('a message that storage always refuses', () => {
  let proxy: Between;
  let ledger: Ledger;
  let process: CountingProcess;
  beforeEach(async () => {
    proxy = await Between.start(inject('tablesConnectionString'));
    ledger = new Ledger(inject('tablesConnectionString'));
    process = new CountingProcess(
      TableClient.fromConnectionString(proxy.connectionString, ledger.table, {
        allowInsecureConnection: true,
        retryOptions: { maxRetries: 0 },
      }),
      1,
      // How long a recorder waits between its tries is no matter here, only how often it tries.
      { pause: async () => setImmediate() },
    );
  });
  afterEach(async () => {
    await proxy.stop();
  });

  /** @param answer undefined: the connection breaks */
  const refusing = (eventIds: readonly string[], answer: PassingAnswer | undefined): void => {
    proxy.rule = ({ path, body }, carryOut) => {
      if (!path.includes('$batch') || !eventIds.some((eventId) => body.includes(eventId))) return carryOut();
      if (answer === undefined) throw new Error('connection reset');
      return answer;
    };
  };

  it.each([
    ['400', refusal(400, 'InvalidInput')],
    ['413', refusal(413, 'RequestBodyTooLarge')],
  ])('with %s is told so, and all others are recorded', async (_, fault) => {
    const poison = ['poison-1', 'poison-2'];
    refusing(poison, fault);
    const messages = withPoison(poison);
    const outcomes = await process.record(messages);

    const refused = messages.filter((__, at) => isRefusal(outcomes[at]));
    expect(refused.map(({ eventId }) => eventId)).toEqual(poison);
    expect(await ledger.count()).toEqual(countOf(messages.filter(({ eventId }) => !poison.includes(eventId))));
  });

  it('does not stop the messages that come later', async () => {
    refusing(['poison-1'], refusal(400, 'InvalidInput'));
    const messages = withPoison(['poison-1']);
    const [outcomes, later] = await Promise.all([
      process.record(messages.slice(0, 200)),
      process.record(messages.slice(200)),
    ]);
    expect([...outcomes, ...later].filter(isRefusal)).toHaveLength(1);

    proxy.rule = CARRIED_OUT;
    expect(await process.record(messages.filter(({ eventId }) => eventId === 'poison-1'))).toEqual(['recorded']);
    expect(await ledger.count()).toEqual(countOf(messages));
  });

  it.each([
    ['500', refusal(500, 'InternalError')],
    ['no answer', undefined],
  ])('with %s each time fails alone, and all others are recorded', async (_, fault) => {
    refusing(['poison-1'], fault);
    const messages = withPoison(['poison-1']);
    const settled = await Promise.allSettled(messages.map(async (message) => process.record([message])));

    const failed = messages.filter((__, at) => settled[at]?.status === 'rejected');
    expect(failed.map(({ eventId }) => eventId)).toEqual(['poison-1']);
    expect(await ledger.count()).toEqual(countOf(messages.filter(({ eventId }) => eventId !== 'poison-1')));

    // It also fails alone in its batch, and the messages right after it do not.
    const alone = process.record(messages.filter(({ eventId }) => eventId === 'poison-1'));
    const behind = process.record(moreFrames(20));
    await expect(alone).rejects.toThrow(RecorderUnavailable);
    expect(await behind).toEqual(Array.from({ length: 20 }, () => 'recorded'));
  });
});
