import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { ask, problemOf } from './asking.ts';
import { cloudEvent, type Members } from './cloud-event.ts';
import { json, raw, wrongEvents } from './wrong-events.ts';

const { recorder } = new CountingStorage().process();
const now = () => instantFrom(parseInstant('2026-11-21T08:30:00Z') ?? 0n);
const { handler } = recordEvents({ recorder, now });

const post = async (body: string | Uint8Array, query = '') =>
  ask(handler, `/api/events${query}`, { method: 'POST', body });

describe('POST /api/events refuses a request as a whole', () => {
  it.each<[string, string | Uint8Array, number, string]>([
    ['without a body', '', 400, 'empty'],
    ['that is no JSON', '<event/>', 400, 'not valid JSON'],
    ['that is cut off', JSON.stringify([cloudEvent()]).slice(0, -1), 400, 'not valid JSON'],
    ['of lines of JSON', `${JSON.stringify(cloudEvent())}\n${JSON.stringify(cloudEvent())}`, 400, 'not valid JSON'],
    ['that is no UTF-8', Buffer.from(JSON.stringify(cloudEvent({ id: 'é' })), 'latin1'), 400, 'not valid UTF-8'],
    ['that is UTF-16', Buffer.from(JSON.stringify(cloudEvent()), 'utf16le'), 400, ''],
    ['that is null', 'null', 400, 'must be a CloudEvent'],
    ['that is a number', '5', 400, 'must be a CloudEvent'],
    ['that is a text', '"CameraEvent.Changed"', 400, 'must be a CloudEvent'],
    ['that is true', 'true', 400, 'must be a CloudEvent'],
    ['of 5,001 events', `[${'{},'.repeat(5_000)}{}]`, 413, '5001 events'],
    ['of more than 4 MiB', `["${'x'.repeat(4 * 1_048_576)}"]`, 413, '4194304 bytes'],
  ])('%s', async (_what, body, status, said) => {
    const problem = problemOf(await post(body));
    expect(problem).toMatchObject({ status, indices: [], detail: expect.stringContaining(said) });
  });

  it.each(['batch=1', 'camera_id=a', 'x=', '=1'])('with a parameter in its address: %s', async (query) => {
    const problem = problemOf(await post(JSON.stringify([cloudEvent()]), `?${query}`));
    expect(problem).toMatchObject({ status: 400, fields: [query.split('=')[0] || '(no name)'] });
  });
});

describe('POST /api/events names by index, with what is wrong about it,', () => {
  it.each(wrongEvents)('%s', async (_what, event, said) => {
    const before: Members = { type: 'other' };
    const answer = await post(json([before, event]));
    const problem = problemOf(answer);
    expect(problem).toMatchObject({ status: 400, indices: [0, 1], details: expect.stringContaining(said) });
    expect(answer.body).toMatchObject({ recorded: 0, unchanged: 0 });
  });

  it('an event that is sent alone, as index 0', async () => {
    expect((await post(json(cloudEvent({ type: 'x' })))).body).toMatchObject({
      errors: [{ index: 0 }],
      recorded: 0,
      unchanged: 0,
    });
  });

  it('a frame that is a microsecond more than a day ahead', async () => {
    const { details } = problemOf(await post(json(cloudEvent({ data: { ts_utc: '2026-11-22T08:30:00.000001Z' } }))));
    expect(details).toBe('data.ts_utc is more than one day ahead of now');
  });

  it('each of 5,000 that are wrong', async () => {
    const problem = problemOf(await post(`[${'{},'.repeat(4_999)}{}]`));
    expect(problem.indices).toEqual(Array.from({ length: 5_000 }, (_, index) => index));
  });

  it('an event nested so deep that a recursive parser would overflow its stack', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(problemOf(await post(`[${deep}]`))).toMatchObject({ status: 400, indices: [0] });
    const inside = json(cloudEvent({ data: { detections: raw(deep) } }));
    expect(problemOf(await post(inside))).toMatchObject({
      status: 400,
      details: 'data.detections must be an object that maps categories to counts',
    });
    const object = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    expect(problemOf(await post(object))).toMatchObject({ status: 400, indices: [0] });
  });

  it('all that is wrong about one event at once, each with its field and the event', async () => {
    const data = { reviewed: 'yes', detections: { fire: -1 }, detection: { smoke: 1 }, ts_utc: '1999-12-31T00:00:00Z' };
    const answer = await post(json([cloudEvent(), cloudEvent({ id: '', time: '2099-01-01T00:00:00Z', data })]));
    expect(answer.body).toMatchObject({ detail: '1 of 2 events are wrong; the others are recorded.', recorded: 1 });
    const known = 'event_id, camera_id, ts_utc, detections, reviewed, annotations';
    const faults: readonly (readonly [string, string])[] = [
      ['id', 'is empty'],
      ['data.detections.fire', 'must be an integer from 0 to 10000'],
      ['data.reviewed', 'must be true or false'],
      ['data.detection', `is unknown: the members of data are ${known}`],
      ['time', 'is more than one day ahead of now'],
      ['data.ts_utc', 'is before 2000-01-01'],
    ];
    expect(answer.body).toMatchObject({
      errors: faults.map(([field, said]) => ({ index: 1, event_id: 'f-1029', field, detail: `${field} ${said}` })),
    });
  });

  it('an event with a hundred faults: the first twenty, and how many more', async () => {
    const detections = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`c${index}`, -1]));
    const { indices, details } = problemOf(await post(json([cloudEvent({ data: { detections } })])));
    expect(indices).toEqual([0]);
    expect(details).toMatch(/; has 81 more faults$/);
  });

  it('a misspelt facet', async () => {
    const { details } = problemOf(await post(json([cloudEvent({ data: { detection: { smoke: 1 } } })])));
    expect(details).toMatch(/^data\.detection is unknown: the members of data are /);
  });
});
