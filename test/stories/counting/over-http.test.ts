import { gzipSync } from 'node:zlib';

import { CloudEvent, emitterFor, httpTransport } from 'cloudevents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

import { PROBLEM_TYPES } from '../../../src/http/problem-types.ts';
import { readText } from '../../docs/markdown.ts';
import { season } from '../../harness/season.ts';
import { startApp, testEnvironment } from '../../harness/app.ts';
import { checkedFetch } from '../../harness/contract.ts';
import { until } from '../../harness/until.ts';
import { Watch } from '../../harness/watch.ts';
import { cloudEvent } from '../../http/cloud-event.ts';

const KEY = 'k3y';
const MASTER = 'm4ster';

let watch: Watch;
beforeAll(async () => {
  const environment = testEnvironment();
  const app = await startApp({ environment, functionKey: KEY, masterKey: MASTER, bundle: 'release' });
  const fetchChecked = await checkedFetch(app.url);
  watch = new Watch(app, async (url, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('x-functions-key', KEY);
    return fetchChecked(url, { ...init, headers });
  });
});
afterAll(async () => watch.app.stop());

it('analytics and events require the function key, in the query or in a header; health and the handshake of webhooks do not', async () => {
  const post = { method: 'POST', body: JSON.stringify(cloudEvent()) };
  const handshake = { method: 'OPTIONS', headers: { 'WebHook-Request-Origin': 'eventgrid.azure.net' } };
  for (const [status, path, init] of [
    [401, '/api/analytics'],
    [401, '/api/analytics/day'],
    [200, '/api/analytics?code=k3y'],
    [200, '/api/analytics/day?code=k3y&clientId=default'],
    [200, '/api/analytics', { headers: { 'x-functions-key': 'k3y' } }],
    [401, '/api/events', post],
    [200, '/api/events?code=k3y', post],
    [200, '/api/events', handshake],
    [200, '/api/health'],
  ] as const) {
    expect([path, (await fetch(`${watch.app.url}${path}`, init)).status]).toEqual([path, status]);
  }
});

it('compressed events are recorded, and a body without Content-Length is a 411: the Functions host does not hand it on', async () => {
  const batch = JSON.stringify([cloudEvent({ data: { event_id: 'zipped' } })]);
  const streamed = { method: 'POST', body: new Blob([batch]).stream(), duplex: 'half' as const };
  const refused = await watch.request('/api/events', streamed);
  expect([refused.status, JSON.parse(refused.body)]).toMatchObject([411, PROBLEM_TYPES.length_required]);
  const zipped = { method: 'POST', body: gzipSync(batch), headers: { 'content-encoding': 'gzip' } };
  expect(JSON.parse((await watch.request('/api/events', zipped)).body)).toEqual({
    recorded: 1,
    unchanged: 0,
    superseded: 0,
  });
});

it('every single thing that is wrong with a query is named, also what the host joins or loses', async () => {
  const { status, body } = await watch.request(
    '/api/analytics/day?date=2024-02-29&camera_id=a&camera_id=b&__proto__=1',
  );
  expect([status, JSON.parse(body)]).toMatchObject([
    400,
    {
      errors: [
        { field: 'camera_id', detail: 'is given more than once' },
        { field: '__proto__', detail: expect.stringContaining('is unknown') },
      ],
    },
  ]);
});

it('all four analytics endpoints answer 304 to whoever has the answer, until something happens', async () => {
  const [first, second] = season('conditional', 20).messages;
  if (first === undefined || second === undefined) throw new Error('no messages');
  await watch.record([first]);
  const date = new Date(Number(second.ts / 1_000n)).toISOString().slice(0, 10);
  const ends = `ts_utc_start=${date}T00:00:00Z&ts_utc_end=${date}T23:59:59.999999Z`;
  for (const path of [
    `/api/analytics?${ends}`,
    `/api/analytics/day?date=${date}`,
    `/api/analytics/series?${ends}&step=hour`,
    `/api/analytics/cameras?date=${date}`,
  ]) {
    const { status, headers } = await watch.request(path);
    const tag = headers.get('etag') ?? '';
    expect([path, status, headers.get('cache-control')]).toEqual([path, 200, 'private, no-cache']);
    const known = await watch.request(path, { headers: { 'if-none-match': `"another", W/${tag}` } });
    expect([known.status, known.body, known.headers.get('etag')]).toEqual([304, '', tag]);

    await watch.record([{ ...second, eventId: `later-${path.length}` }]);
    const after = await watch.request(path, { headers: { 'if-none-match': tag } });
    expect([path, after.status]).toEqual([path, 200]);
    expect(after.headers.get('etag')).not.toBe(tag);
  }
});

it('without EVENT_RETENTION_DAYS there is no timer that closes days', async () => {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-functions-key': MASTER },
    body: '{}',
  };
  expect((await fetch(`${watch.app.url}/admin/functions/CloseDays`, init)).status).toBe(404);
});

it('the emitter of the CloudEvents SDK, which sends binary mode if it is not told otherwise, is understood with the transport of the page', async () => {
  const { data, ...attributes } = cloudEvent({ data: { event_id: 'emitted', camera_id: 'emitter' } });
  const event = new CloudEvent({ ...attributes, data });
  // Its own transport sends chunks, which the Functions host does not hand on.
  const inChunks = emitterFor(httpTransport(`${watch.app.url}/api/events?code=${KEY}`));
  const { body } = z.looseObject({ body: z.string() }).parse(await inChunks(event));
  expect(JSON.parse(body)).toMatchObject({ code: 'length_required' });

  const [, code = ''] = /```ts\nconst emit = ([^]*?);\n```/.exec(readText('src/http/clients.md')) ?? [];
  // oxlint-disable-next-line typescript/no-implied-eval -- the code of the page, as it is written
  const made: unknown = new Function('emitterFor', 'url', 'key', `return ${code}`)(emitterFor, watch.app.url, KEY);
  const emit = z.custom<(event: CloudEvent<unknown>) => Promise<void>>().parse(made);
  await emit(event);
  await expect(emit(new CloudEvent({ ...attributes, data: {} }))).rejects.toThrow('event_id');
  expect(await watch.day('2024-02-29', 'emitter')).toMatchObject({ total_events: 1 });
});

it('a trace that a client began is in the log, and the request is named alike there and in the answer', async () => {
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const { headers } = await watch.request('/api/events', {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${trace}-b7ad6b7169203331-01` },
    body: JSON.stringify(cloudEvent({ data: { event_id: 'traced' } })),
  });
  const ids = `"invocation_id":"${headers.get('x-request-id')}","trace_id":"${trace}"`;
  await until(() => watch.app.output().includes(ids), 'the line is there');
  const lines = watch.app
    .output()
    .split('\n')
    .filter((line) => line.includes(ids));
  expect(lines).toEqual([expect.stringContaining('"event":"events recorded"')]);
  const { headers: others } = await watch.request('/api/health');
  expect(others.get('x-request-id')).not.toBe(headers.get('x-request-id'));
});
