import { beforeEach, describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { analyticsDay } from '../../src/http/analytics-day.ts';
import { analyticsRange } from '../../src/http/analytics-range.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { ask, type Asked, problemOf } from './asking.ts';
import { cloudEvent } from './cloud-event.ts';

const now = () => instantFrom(parseInstant('2024-02-29T09:00:00Z') ?? 0n);
const EVENT = cloudEvent({ data: { detections: { smoke: 2 }, reviewed: true } });
const LATER = cloudEvent({ time: '2024-02-29T08:10:00Z', data: { detections: { smoke: 3 } } });
const OTHER = cloudEvent({ data: { event_id: 'f-1030', detections: { smoke: 1 } } });

const posting = (event: unknown): Asked => ({ method: 'POST', body: JSON.stringify([event]) });
const MINUTES = 'ts_utc_start=2024-02-29T08:00:00Z&ts_utc_end=2024-02-29T08:00:59.999999Z';
const HOURS = 'ts_utc_start=2024-02-29T08:00:00Z&ts_utc_end=2024-02-29T08:59:59.999999Z';
const PART_OF_MINUTE = 'ts_utc_start=2024-02-29T08:00:00Z&ts_utc_end=2024-02-29T08:00:30Z';

let storage: CountingStorage;

/** A request to an instance that has cached nothing, and the lines that it logs. */
const askFresh = async (path: string, asked: Asked = {}) => {
  const { reader, recorder } = storage.process();
  const analytics = { reader, now, categories: ['smoke'] };
  const { handler } = path.startsWith('/api/events')
    ? recordEvents({ recorder, now })
    : path.startsWith('/api/analytics/day')
      ? analyticsDay(analytics)
      : analyticsRange(analytics, 3_600);
  const lines: unknown[] = [];
  return { answer: await ask(handler, path, asked, (line) => lines.push(line)), lines };
};

/** Replaces every property by one that the service never writes. */
const damage = async (partitionKey: string, rowKey: string): Promise<void> => {
  const client = storage.client();
  const { etag: _etag, timestamp: _timestamp, ...row } = await client.getEntity(partitionKey, rowKey);
  const damaged = Object.entries(row).flatMap(([name, value]): [string, unknown][] => {
    if (name === 'partitionKey' || name === 'rowKey' || name.startsWith('odata')) return [];
    if (value instanceof Uint8Array) return [[name, Uint8Array.of(255)]];
    return [[name, typeof value === 'string' ? '?' : -1]];
  });
  await client.updateEntity({ partitionKey, rowKey, ...Object.fromEntries(damaged) }, 'Replace');
};

describe('a damaged row is answered with a 500 that says so, and logged with its key and the command to run', () => {
  beforeEach(async () => {
    storage = new CountingStorage();
    const { answer } = await askFresh('/api/events', posting(EVENT));
    if (answer.status !== 200) throw new Error('the event was not recorded');
  });

  it.each<[string, string, string, string, Asked]>([
    ['shards', '2024-02-29', 'a day', '/api/analytics/day?date=2024-02-29', {}],
    ['total', '2024-02-29_00', 'a day', '/api/analytics/day?date=2024-02-29', {}],
    ['hours', '2024-02-29_00', 'whole hours', `/api/analytics?${HOURS}`, {}],
    ['hour|08', '2024-02-29_00', 'whole minutes', `/api/analytics?${MINUTES}`, {}],
    ['minute|0800|00', '2024-02-29_00', 'a part of a minute', `/api/analytics?${PART_OF_MINUTE}`, {}],
    ['camera|ridge-04', '2024-02-29_00', 'a camera', '/api/analytics/day?date=2024-02-29&camera_id=ridge-04', {}],
    ['shards', '2024-02-29', 'a new event', '/api/events', posting(OTHER)],
    ['total', '2024-02-29_00', 'a new event', '/api/events', posting(OTHER)],
    ['hours', '2024-02-29_00', 'a new event', '/api/events', posting(OTHER)],
    ['hour|08', '2024-02-29_00', 'a new event', '/api/events', posting(OTHER)],
    ['minute|0800|00', '2024-02-29_00', 'a new event', '/api/events', posting(OTHER)],
    ['camera|ridge-04', '2024-02-29_00', 'a new event', '/api/events', posting(OTHER)],
    ['event|0800|ridge-04|f-1029', '2024-02-29_00', 'a change of its event', '/api/events', posting(LATER)],
  ])('%s in partition %s, read for %s', async (row, partition, _by, path, asked) => {
    await damage(partition, row);
    const { answer, lines } = await askFresh(path, asked);
    expect(problemOf(answer)).toMatchObject({
      status: 500,
      detail: 'Stored data of 2024-02-29 is damaged. It has been logged with the command that examines it.',
    });
    expect(answer.headers.has('retry-after')).toBe(false);
    expect(lines).toEqual([
      {
        event: 'stored row damaged',
        partition,
        row,
        command: 'npm run audit -- --date 2024-02-29',
        invocation_id: expect.any(String),
      },
    ]);
  });
});
