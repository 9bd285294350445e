import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { deliveryHandshake } from '../../src/http/delivery-handshake.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { DAY } from '../analytics/oracle.ts';
import { ask, problemOf } from './asking.ts';
import { cloudEvent } from './cloud-event.ts';

/** 2024-02-29. */
const START = 19_782n * DAY;
const wholeDay = { start: START, end: START + DAY - 1n };
const NOW = instantFrom(parseInstant('2026-11-21T08:30:00Z') ?? 0n);

const open = () => {
  const storage = new CountingStorage();
  const { recorder } = storage.process();
  const { handler } = recordEvents({ recorder, now: () => NOW });
  const post = async (body: unknown, query = '') =>
    ask(handler, `/api/events${query}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return { handler, post, answer: async () => storage.process().answer(wholeDay) };
};

const named = (from: number, to: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: to - from }, (_, index) => [`c${from + index}`, 1]));

describe('POST /api/events', () => {
  it('records an event, and says that it changes nothing when it comes again', async () => {
    const { post, answer } = open();
    const event = cloudEvent({ data: { detections: { smoke: 2 }, reviewed: true, annotations: { fire: 1 } } });
    expect(await post(event)).toMatchObject({ status: 200, body: { recorded: 1, unchanged: 0 } });
    expect(await post([event])).toMatchObject({ status: 200, body: { recorded: 0, unchanged: 1 } });
    expect(await answer()).toEqual({
      total_events: 1,
      active_camera_ids: ['ridge-04'],
      counts_per_category: { smoke: 2 },
      reviewed_total_events: 1,
      reviewed_counts_per_category: { fire: 1 },
      annotated_total_events: 1,
      annotated_counts_per_category: { fire: 1 },
    });
  });

  it('accepts an empty batch and records nothing', async () => {
    expect(await open().post([])).toMatchObject({ status: 200, body: { recorded: 0, unchanged: 0 } });
  });

  it('records the good ones of a batch and lists the wrong ones, in order', async () => {
    const { post, answer } = open();
    const result = await post([
      cloudEvent({ type: 'other' }),
      cloudEvent({ data: { event_id: '1' } }),
      null,
      cloudEvent({ data: { event_id: '2', detections: { fire: 1.5 } } }),
      cloudEvent({ data: { event_id: '1' } }),
      cloudEvent({ data: { event_id: '3' } }),
      cloudEvent({ data: { event_id: '1', ts_utc: '2024-02-29T08:00:00.123457Z', reviewed: true } }),
    ]);
    expect(problemOf(result)).toMatchObject({
      status: 400,
      indices: [0, 2, 3, 6],
      detail: expect.stringContaining('4 of 7'),
    });
    expect(result.body).toMatchObject({ recorded: 2, unchanged: 1 });
    expect(await answer()).toMatchObject({ total_events: 2, reviewed_total_events: 0 });
  });

  it('names by index the event whose category is one too many for its camera', async () => {
    const { post, answer } = open();
    const result = await post([
      cloudEvent({ data: { event_id: '1', detections: named(0, 40) } }),
      cloudEvent({ type: 'other' }),
      cloudEvent({ data: { event_id: '2', annotations: named(40, 64) } }),
      cloudEvent({ data: { event_id: '3', detections: { fire: 1 } } }),
      cloudEvent({ data: { event_id: '3', camera_id: 'ridge-05', detections: { fire: 1 } } }),
    ]);
    expect(result.body).toMatchObject({
      recorded: 3,
      unchanged: 0,
      errors: [{ index: 1 }, { index: 3, detail: expect.stringContaining('64 categories') }],
    });
    expect(await answer()).toMatchObject({ total_events: 3, active_camera_ids: ['ridge-04', 'ridge-05'] });
  });

  it.each<[string, unknown]>([
    [
      'context attributes that it does not know',
      cloudEvent({ datacontenttype: 'application/json', subject: 's', traceparent: '00' }),
    ],
    ['no facet', cloudEvent()],
    ['empty facets', cloudEvent({ data: { detections: {}, annotations: {}, reviewed: false } })],
    [
      'categories that JavaScript has a meaning for',
      cloudEvent({ data: { detections: { constructor: 1, toString: 2, hasOwnProperty: 3 } } }),
    ],
    ['counts at their ends', cloudEvent({ data: { detections: { fire: 0, smoke: 10_000 } } })],
    ['ids at their ends', cloudEvent({ id: 'm', data: { event_id: '/'.repeat(128), camera_id: "'" } })],
    [
      '64 categories',
      cloudEvent({
        data: { detections: Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`c${index}`, 1])) },
      }),
    ],
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

  it('accepts the parameters of the host', async () => {
    expect(await open().post(cloudEvent(), '?code=k&clientId=default')).toMatchObject({ status: 200 });
  });
});

describe('OPTIONS /api/events', () => {
  const { handler } = deliveryHandshake();

  it('answers the handshake of CloudEvents webhooks', async () => {
    const { status, headers, body } = await ask(handler, '/api/events?code=k', {
      method: 'OPTIONS',
      headers: { 'WebHook-Request-Origin': 'eventgrid.azure.net', 'WebHook-Request-Rate': '120' },
    });
    expect([status, body]).toEqual([200, undefined]);
    expect(headers.get('webhook-allowed-origin')).toBe('eventgrid.azure.net');
    expect(headers.get('webhook-allowed-rate')).toBe('*');
    expect(headers.get('allow')).toContain('POST');
  });

  it('answers no rate where the request names none', async () => {
    const { headers } = await ask(handler, '/api/events', {
      method: 'OPTIONS',
      headers: { 'webhook-request-origin': 'a.example' },
    });
    expect(headers.has('webhook-allowed-rate')).toBe(false);
  });

  it.each<[string, Record<string, string>]>([
    ['without an origin', {}],
    ['with an empty one', { 'WebHook-Request-Origin': '' }],
  ])('refuses one %s', async (_what, headers) => {
    const problem = problemOf(await ask(handler, '/api/events', { method: 'OPTIONS', headers }));
    expect(problem).toMatchObject({ status: 400, detail: expect.stringContaining('WebHook-Request-Origin') });
  });
});
