import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import type { AcsSimulator, AcsSimulatorOptions } from '../../infra/local/acs-simulator/simulator.ts';
import { freePort } from '../../infra/local/free-port.ts';
import { until } from '../harness/until.ts';
import { ask, callIdOf, createCall, errorSchema, play, repeatable, startAcs } from './acs-requests.ts';

it('takes a right request, and the same again with its repeatability id as one', async () => {
  const acs = await startAcs();
  const headers = repeatable();
  const first = await ask(acs, '', createCall(), headers);
  expect(first.status).toBe(201);
  expect((await ask(acs, '', createCall(), headers)).body).toEqual(first.body);
  expect((await ask(acs, '', createCall('+12065550101'), headers)).status).toBe(400);
  expect(acs.log().calls).toHaveLength(1);
});

it.each<[string, number, (acs: AcsSimulator) => ReturnType<typeof ask>]>([
  ['a wrong signature', 401, (acs) => ask(acs, '', createCall(), { ...repeatable(), authorization: 'HMAC-SHA256 x' })],
  ['another body than the signed one', 401, (acs) => ask(acs, '', createCall(), { 'x-ms-content-sha256': 'x' })],
  ['an old date', 401, (acs) => ask(acs, '', createCall(), { 'x-ms-date': 'Sat, 01 Nov 2025 08:00:00 GMT' })],
  ['another wire protocol', 400, (acs) => ask(acs, '', createCall(), repeatable(), '2023-01-01')],
  ['a call without a repeatability id', 400, (acs) => ask(acs, '', createCall())],
  ['a call to no E.164 number', 400, (acs) => ask(acs, '', createCall('12065550100'), repeatable())],
  [
    'a callback that is not https',
    400,
    (acs) => ask(acs, '', { ...createCall(), callbackUri: 'http://example.com/' }, repeatable()),
  ],
  ['a play to an unknown call', 404, (acs) => ask(acs, `/${randomUUID()}:play`, play('x'))],
  ['a hang-up of an unknown call', 404, (acs) => ask(acs, `/${randomUUID()}:terminate`, undefined, repeatable())],
  ['an empty call id', 404, (acs) => ask(acs, '/:terminate', undefined, repeatable())],
])('refuses %s, and remembers it', async (_, status, request) => {
  const acs = await startAcs();
  expect((await request(acs)).status).toBe(status);
  expect(acs.log().refused).toHaveLength(1);
});

it('refuses to speak before the call is connected, more than 4,000 characters, and after the end', async () => {
  const acs = await startAcs();
  // Rings ten times as long: the first request to speak comes before the answer, also on a busy machine.
  const created = await ask(acs, '', createCall('+12065550109'), repeatable());
  const callId = callIdOf(created.body);
  const early = await ask(acs, `/${callId}:play`, play('x'));
  expect([early.status, errorSchema.parse(early.body)]).toEqual([400, '8501']);
  await until(() => acs.log().calls[0]?.state === 'connected', 'somebody answers');
  expect((await ask(acs, `/${callId}:play`, play('x'.repeat(4_001)))).status).toBe(400);
  expect((await ask(acs, `/${callId}:play`, play('x'.repeat(4_000)))).status).toBe(202);
  expect((await ask(acs, `/${callId}:terminate`, undefined, repeatable())).status).toBe(204);
  for (const [action, body] of [
    [':play', play('x')],
    [':terminate', undefined],
  ] as const) {
    const late = await ask(acs, `/${callId}${action}`, body, repeatable());
    expect([late.status, errorSchema.parse(late.body)]).toEqual([404, '8522']);
  }
});

it('serves its keys and what they are for, and its log', async () => {
  const acs = await startAcs();
  const configuration = await (await fetch(`${acs.url}/calling/.well-known/acsopenidconfiguration`)).json();
  expect(configuration).toEqual({ issuer: acs.issuer, jwks_uri: acs.keysUrl });
  const keys = z
    .object({ keys: z.array(z.record(z.string(), z.unknown())) })
    .parse(await (await fetch(acs.keysUrl)).json());
  expect(keys.keys.map(({ kty, alg, d }) => [kty, alg, d])).toEqual([['RSA', 'RS256', undefined]]);
  expect(await (await fetch(`${acs.url}/log`)).json()).toEqual({
    calls: [],
    refused: [],
    turnedAway: [],
    published: [],
    keyFetches: 1,
  });
});

it('carries a repeated request out again where it does not honour repeatability ids', async () => {
  const acs = await startAcs({ honoursRepeatabilityIds: false });
  const headers = repeatable();
  const [first, again] = [await ask(acs, '', createCall(), headers), await ask(acs, '', createCall(), headers)];
  expect(callIdOf(first.body)).not.toBe(callIdOf(again.body));
  expect(acs.log().calls).toHaveLength(2);
});

it('calls from a number or from a Teams resource account, never from both or neither', async () => {
  const acs = await startAcs();
  const { sourceCallerIdNumber, ...rest } = createCall();
  const teamsAppSource = { appId: '0d1c2b3a-0000-4000-8000-00000000000a' };
  const fromTeams = await ask(acs, '', { ...rest, teamsAppSource }, repeatable());
  expect(fromTeams.status).toBe(201);
  expect((await ask(acs, '', { ...rest, sourceCallerIdNumber }, repeatable())).status).toBe(201);
  expect((await ask(acs, '', { ...rest, sourceCallerIdNumber, teamsAppSource }, repeatable())).status).toBe(400);
  expect((await ask(acs, '', rest, repeatable())).status).toBe(400);
  expect((await ask(acs, '', { ...rest, teamsAppSource: { appId: 'x' } }, repeatable())).status).toBe(400);
  expect(acs.log().calls.map(({ from }) => from)).toEqual([teamsAppSource.appId, '+12065550199']);
});

/** Two calls ring when a third is asked for. */
const askForThree = async (options: AcsSimulatorOptions) => {
  const acs = await startAcs({ lines: 2, pace: { ringMs: 60_000 }, ...options });
  const two = [await ask(acs, '', createCall('+12065550100'), repeatable())];
  two.push(await ask(acs, '', createCall('+12065551100'), repeatable()));
  expect(two.map(({ status }) => status)).toEqual([201, 201]);
  const third = await ask(acs, '', createCall('+12065552100'), repeatable());
  expect(acs.log().turnedAway).toMatchObject([{ to: '+12065552100' }]);
  expect(acs.log().refused).toEqual([]);
  return { acs, first: callIdOf(two[0]?.body), third };
};

describe('the lines', () => {
  it.each([
    [undefined, 429, 'TooManyRequests', null],
    ['429', 429, 'TooManyRequests', null],
    ['429 with Retry-After', 429, 'TooManyRequests', '1'],
    ['403', 403, '8530', null],
  ] as const)(
    'all taken: one more call is refused (%s), until one has ended',
    async (whenTaken, status, code, retryAfter) => {
      const { acs, first, third } = await askForThree(whenTaken === undefined ? {} : { whenLinesAreTaken: whenTaken });
      expect(third).toMatchObject({ status, retryAfter });
      expect(errorSchema.parse(third.body)).toBe(code);
      expect(acs.log().calls).toHaveLength(2);

      expect((await ask(acs, `/${first}:terminate`, undefined, repeatable())).status).toBe(204);
      expect((await ask(acs, '', createCall('+12065552100'), repeatable())).status).toBe(201);
    },
  );

  it.each(['CreateCallFailed', '603'] as const)(
    'all taken: one more call is taken and then fails (%s), without ringing or taking a line',
    async (whenLinesAreTaken) => {
      const { acs, first, third } = await askForThree({ whenLinesAreTaken });
      expect(third.status).toBe(201);
      await until(() => acs.log().calls[2]?.story.some(({ text }) => text === 'CreateCallFailed') === true, 'it fails');
      expect(acs.log().calls[2]).toMatchObject({ state: 'ended', endedBy: 'network', speeches: [] });

      expect((await ask(acs, `/${first}:terminate`, undefined, repeatable())).status).toBe(204);
      await ask(acs, '', createCall('+12065552100'), repeatable());
      expect(acs.log().calls[3]?.state).toBe('ringing');
    },
  );

  it('are as many as are asked for where nobody says', async () => {
    const acs = await startAcs({ pace: { ringMs: 60_000 } });
    for (let call = 0; call < 10; call += 1) {
      expect((await ask(acs, '', createCall(`+1206555${call}100`), repeatable())).status).toBe(201);
    }
  });
});

it.each([1, 3])('posts a callback that is not accepted at most %i times', async (deliveryAttempts) => {
  let posts = 0;
  const server = createServer((request, response) => {
    posts += 1;
    request.resume();
    response.writeHead(503).end();
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const acs = await startAcs({ deliveryAttempts });
  const callbackUri = `http://127.0.0.1:${port}/api/CustomCallback`;
  await ask(acs, '', { ...createCall('+12065550148'), callbackUri }, repeatable());
  await until(() => acs.log().calls[0]?.story.at(-1)?.answer === '503', 'ACS gives up');
  expect(posts).toBe(deliveryAttempts);
});
