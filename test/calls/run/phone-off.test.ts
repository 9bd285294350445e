import { randomUUID } from 'node:crypto';

import { beforeEach, expect, it } from 'vitest';

import { phoneOff } from '../../../src/calls/run/phone-off.ts';
import { type NotificationCase, stoppedNotification } from '../../../src/calls/state/notification.ts';
import { withNews } from '../../../src/calls/state/outbox.ts';
import { CALLS } from '../../../src/calls/store/keys.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { callees, newCase } from '../new-case.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const DAY = 24 * 3_600_000;

let memory: MemoryTable;
let table: Table;
let logged: string[];
beforeEach(() => {
  [memory, logged] = [new MemoryTable(), []];
  table = new Table(memory, { format: CALLS_FORMAT });
});

const note = (event: string) => void logged.push(event);
const log = { info: note, warn: note, error: note };
const storeOf = () => new NotificationStore(table, randomUUID, () => undefined);
const create = async (known: NotificationCase) => (await storeOf().create(known, undefined, undefined, START)).stored;
/** The cleaning up behind a phone that is off, so many milliseconds later. Rows are kept for ten days. */
const cleanUp = async (later: number): Promise<void> => {
  const clock = { now: () => START + later, after: () => () => undefined };
  await phoneOff({ table, retentionMs: 10 * DAY, clock })(log);
  expect(logged).toEqual([]);
};

it('what was under way ends as stopped, and its numbers are masked', async () => {
  const { id } = (await create(newCase(START, { waves: [callees(2)] }))).notification;
  await cleanUp(5);
  const after = await storeOf().load(id);
  expect(after?.notification.stoppedAt).toBe(START + 5);
  expect(after?.recipients).toMatchObject([
    { state: 'stopped', number: '+1206•••••00' },
    { state: 'stopped', number: '+1206•••••01' },
  ]);
});

it('what was to be told is kept for 24 hours, in case the phone is on again', async () => {
  const known = newCase(START);
  await create(withNews(known, stoppedNotification(known, START), ['webhook'], START));
  const left = async () => (await storeOf().untold(START)).length;
  await cleanUp(DAY - 1);
  expect(await left()).toBe(1);
  await cleanUp(DAY);
  expect(await left()).toBe(0);
});

it('rows are deleted when CALL_RETENTION_DAYS are over, and not before', async () => {
  await create(newCase(START));
  await cleanUp(10 * DAY);
  expect(memory.rows(CALLS)).toHaveLength(1);
  await cleanUp(10 * DAY + 1);
  expect(memory.rows(CALLS)).toEqual([]);
});
