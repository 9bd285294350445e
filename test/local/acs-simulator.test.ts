import { createHash, createHmac, randomUUID } from 'node:crypto';

import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { type AcsSimulator, startAcsSimulator } from '../../infra/local/acs-simulator/simulator.ts';
import { until } from '../system/calls/until.ts';

const errorSchema = z.object({ error: z.object({ code: z.string() }) }).transform(({ error }) => error.code);

const start = async (): Promise<AcsSimulator> => {
  const acs = await startAcsSimulator();
  onTestFinished(() => acs.stop());
  return acs;
};

/** A request as the SDK makes it, written out by hand, so that each part of it can be wrong. */
const ask = async (
  acs: AcsSimulator,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  version = '2026-03-12',
) => {
  const url = new URL(`${acs.url}/calling/callConnections${path}?api-version=${version}`);
  const text = body === undefined ? '' : JSON.stringify(body);
  const date = new Date().toUTCString();
  const hash = createHash('sha256').update(text).digest('base64');
  const key = Buffer.from(/accesskey=(.+)$/.exec(acs.connectionString)?.[1] ?? '', 'base64');
  const signed = `POST\n${url.pathname}${url.search}\n${date};${url.host};${hash}`;
  const signature = createHmac('sha256', key).update(signed).digest('base64');
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-ms-date': date,
      'x-ms-content-sha256': hash,
      authorization: `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`,
      ...headers,
    },
    ...(text === '' ? {} : { body: text }),
  });
  const answer = await response.text();
  return { status: response.status, body: answer === '' ? undefined : z.unknown().parse(JSON.parse(answer)) };
};

const repeatable = () => ({
  'repeatability-request-id': randomUUID(),
  'repeatability-first-sent': new Date().toUTCString(),
});

const createCall = (number = '+12065550100') => ({
  targets: [{ kind: 'phoneNumber', rawId: `4:${number}`, phoneNumber: { value: number, isAnonymous: false } }],
  sourceCallerIdNumber: { value: '+12065550199', isAnonymous: false },
  callbackUri: 'http://127.0.0.1:9/api/CustomCallback',
  callIntelligenceOptions: { cognitiveServicesEndpoint: 'https://speech.invalid/' },
});

const play = (text: string) => ({
  playSources: [{ kind: 'text', text: { text, sourceLocale: 'en-US', voiceKind: 'female' } }],
  playTo: [],
  playOptions: { loop: false },
  operationContext: 'x',
});

const callIdOf = (answer: unknown): string => z.object({ callConnectionId: z.string() }).parse(answer).callConnectionId;

it('takes a right request, and the same again with its repeatability id as one', async () => {
  const acs = await start();
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
  const acs = await start();
  expect((await request(acs)).status).toBe(status);
  expect(acs.log().refused).toHaveLength(1);
});

it('refuses to speak before the call is connected, more than 4,000 characters, and after the end', async () => {
  const acs = await start();
  const created = await ask(acs, '', createCall(), repeatable());
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
  const acs = await start();
  const configuration = await (await fetch(`${acs.url}/calling/.well-known/acsopenidconfiguration`)).json();
  expect(configuration).toEqual({ issuer: acs.issuer, jwks_uri: acs.keysUrl });
  const keys = z
    .object({ keys: z.array(z.record(z.string(), z.unknown())) })
    .parse(await (await fetch(acs.keysUrl)).json());
  expect(keys.keys.map(({ kty, alg, d }) => [kty, alg, d])).toEqual([['RSA', 'RS256', undefined]]);
  expect(await (await fetch(`${acs.url}/log`)).json()).toEqual({ calls: [], refused: [], keyFetches: 1 });
});
