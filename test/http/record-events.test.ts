import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { deliveryHandshake } from '../../src/http/delivery-handshake.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import { MemoryStorage } from '../analytics/counting.ts';
import { DAY } from '../analytics/oracle.ts';
import { ask, problemOf } from './asking.ts';
import { cloudEvent } from './cloud-event.ts';

/** 2024-02-29. */
const START = 19_782n * DAY;
const NOW = instantFrom(parseInstant('2026-11-21T08:30:00Z') ?? 0n);

const open = () => {
  const storage = new MemoryStorage();
  const { handler } = recordEvents({ recorder: storage.process().recorder, now: () => NOW });
  const post = async (body: unknown, query = '') =>
    ask(handler, `/api/events${query}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return { post, answer: async () => storage.process().answer({ start: START, end: START + DAY - 1n }) };
};

const named = (from: number, to: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: to - from }, (_, index) => [`c${from + index}`, 1]));

describe('POST /api/events', () => {
  it('records an event, and says that it changes nothing when it comes again', async () => {
    const { post, answer } = open();
    const event = cloudEvent({ data: { detections: { smoke: 2 }, reviewed: true, annotations: { fire: 1 } } });
    expect(await post(event)).toMatchObject({ status: 200, body: { recorded: 1, unchanged: 0 } });
    expect(await post([event], '?code=k&clientId=default')).toMatchObject({ body: { recorded: 0, unchanged: 1 } });
    expect(await answer()).toEqual({
      total_events: 1,
      active_camera_ids: ['ridge-04'],
      counts_per_category: { smoke: 2 },
      reviewed_total_events: 1,
      reviewed_counts_per_category: { fire: 1 },
      annotated_total_events: 1,
      annotated_counts_per_category: { fire: 1 },
    });
    expect(await post([])).toMatchObject({ status: 200, body: { recorded: 0, unchanged: 0 } });
  });

  it('records the good ones of a batch and lists the wrong ones, in order: also what only the recorder can refuse', async () => {
    const { post, answer } = open();
    const result = await post([
      cloudEvent({ type: 'other' }),
      cloudEvent({ data: { event_id: '1', detections: named(0, 40) } }),
      null,
      cloudEvent({ data: { event_id: '2', annotations: named(40, 64) } }),
      cloudEvent({ data: { event_id: '1', detections: named(0, 40) } }),
      cloudEvent({ data: { event_id: '3', detections: { fire: 1 } } }),
      cloudEvent({ data: { event_id: '3', camera_id: 'ridge-05', detections: { fire: 1 } } }),
      cloudEvent({ data: { event_id: '1', ts_utc: '2024-02-29T08:00:00.123457Z', reviewed: true } }),
    ]);
    expect(problemOf(result)).toMatchObject({
      status: 400,
      detail: '4 of 8 events are wrong; the others are recorded.',
      errors: [
        { index: 0, field: 'type' },
        { index: 2, detail: 'must be an object: a CloudEvent' },
        { index: 5, event_id: '3', detail: expect.stringContaining('64 categories') },
        { index: 7, event_id: '1', detail: expect.any(String) },
      ],
      recorded: 3,
      unchanged: 1,
    });
    expect(await answer()).toMatchObject({ total_events: 3, active_camera_ids: ['ridge-04', 'ridge-05'] });
  });

  it.each<[string, unknown]>([
    ['attributes that it does not know', cloudEvent({ datacontenttype: 'application/json', traceparent: '00' })],
    ['no facet', cloudEvent()],
    ['empty facets', cloudEvent({ data: { detections: {}, annotations: {}, reviewed: false } })],
    [
      'categories that JavaScript has a meaning for',
      cloudEvent({ data: { detections: { constructor: 1, toString: 2 } } }),
    ],
    ['counts at their ends', cloudEvent({ data: { detections: { fire: 0, smoke: 10_000 } } })],
    ['ids at their ends', cloudEvent({ id: 'm', data: { event_id: '/'.repeat(128), camera_id: "'" } })],
    ['64 categories', cloudEvent({ data: { detections: named(0, 64) } })],
    ['the first frame of 2000', cloudEvent({ data: { ts_utc: '2000-01-01T00:00:00Z' } })],
    ['a frame exactly a day ahead', cloudEvent({ data: { ts_utc: '2026-11-22T08:30:00Z' } })],
    ['a frame without an offset, which is UTC', cloudEvent({ data: { ts_utc: '2026-11-21T08:00:00' } })],
    ['a time with an offset and nanoseconds', cloudEvent({ time: '2026-11-21T01:00:02.123456789-07:00' })],
  ])('takes an event with %s', async (_what, event) => {
    expect(await open().post(event)).toMatchObject({ status: 200, body: { recorded: 1, unchanged: 0 } });
  });

  it('takes 5,000 events and 4 MiB', async () => {
    const { post } = open();
    const batch = JSON.stringify([
      ...Array.from({ length: 4_999 }, () => cloudEvent()),
      cloudEvent({ data: { event_id: 'x' } }),
    ]);
    const padded = `${' '.repeat(4 * 1_048_576 - batch.length)}${batch}`;
    expect(await post(padded)).toMatchObject({ status: 200, body: { recorded: 2, unchanged: 4_998 } });
    expect(problemOf(await post(` ${padded}`)).status).toBe(413);
  });
});

const handshake = async (headers: Record<string, string>) =>
  ask(deliveryHandshake().handler, '/api/events?code=k', { method: 'OPTIONS', headers });

describe('OPTIONS /api/events', () => {
  it('answers the handshake of CloudEvents webhooks, with a rate if one was asked for', async () => {
    const asked = { 'WebHook-Request-Origin': 'eventgrid.azure.net' };
    const { status, headers, body } = await handshake({ ...asked, 'WebHook-Request-Rate': '120' });
    expect([status, body, headers.get('allow')]).toEqual([200, undefined, 'POST, OPTIONS']);
    expect(headers.get('webhook-allowed-origin')).toBe('eventgrid.azure.net');
    expect(headers.get('webhook-allowed-rate')).toBe('*');
    expect((await handshake(asked)).headers.has('webhook-allowed-rate')).toBe(false);
  });

  it.each<[string, Record<string, string>]>([
    ['is missing', {}],
    ['is empty', { 'WebHook-Request-Origin': '' }],
  ])('refuses one whose origin %s', async (detail, headers) => {
    expect(problemOf(await handshake(headers))).toEqual({
      status: 400,
      detail: `WebHook-Request-Origin ${detail}`,
      errors: [{ field: 'WebHook-Request-Origin', detail }],
    });
  });
});
