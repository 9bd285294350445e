import { randomUUID } from 'node:crypto';

import { expect, it, vi } from 'vitest';

import { newNotificationId } from '../../../src/calls/model/notification-id.ts';
import { Publisher } from '../../../src/calls/run/publisher.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const NOW = Date.parse('2026-11-21T08:00:00Z');

it('a process that ends waits for the batch that is being published, and leaves the others to whoever looks next', async () => {
  const table = new Table(new MemoryTable(), { format: CALLS_FORMAT });
  const store = new NotificationStore({
    table,
    callsPerDay: 1,
    retentionMs: 1,
    destinations: ['topic'],
    newId: randomUUID,
  });
  const answer = Promise.withResolvers<undefined>();
  const load = vi.spyOn(store, 'load').mockReturnValue(answer.promise);
  const publisher = new Publisher({
    to: 'topic',
    topic: { publish: () => Promise.reject(new Error('nothing is to be published')) },
    store,
    clock: { now: () => NOW, after: () => () => undefined },
    recall: () => undefined,
    bodyOf: () => ({}),
  });
  const due = ['first', 'second', 'third'].map((rowKey) => {
    const notificationId = newNotificationId(NOW, randomUUID());
    return { kind: 'publish', at: NOW, rowKey, notificationId, batch: rowKey, indexes: '0', to: 'topic' } as const;
  });
  publisher.run(due, SILENT);
  let hasEnded = false;
  const ending = publisher.end().then(() => (hasEnded = true));
  await new Promise(setImmediate);
  expect(hasEnded).toBe(false);
  answer.resolve(undefined);
  await ending;
  publisher.run(due, SILENT);
  expect(load.mock.calls).toEqual([[due[0]?.notificationId]]);
});
