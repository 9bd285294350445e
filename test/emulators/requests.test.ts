import { randomUUID } from 'node:crypto';

import { expect, it, vi } from 'vitest';

import { acs, type Change, twilio } from './wires.ts';

const NUMBER = '+12065550100';
const UNSIGNED = `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${'A'.repeat(43)}=`;
const TEAMS = { teamsAppSource: { teamsAppId: '0d1c2b3a-0000-4000-8000-00000000000a' } };
const changed = (change: Change) => () => acs({}, change).call(NUMBER);
const form = (values: Readonly<Record<string, string>>) => () => twilio().call(NUMBER, values);

it.each<[what: string, error: string, refusal: () => Promise<string | undefined>]>([
  ['a wrong signature', '401/Denied', changed(({ headers }) => headers.set('authorization', UNSIGNED))],
  ['no signature', '401/Denied', changed(({ headers }) => headers.delete('authorization'))],
  ['another body than the signed one', '401/Denied', changed((request) => (request.body = '{}'))],
  ['the hash of another body', '401/Denied', changed(({ headers }) => headers.set('x-ms-content-sha256', 'x'))],
  ['a signature of 16 minutes ago', '401/Denied', changed(() => vi.setSystemTime(Date.now() + 16 * 60_000))],
  ['no id of the call request', '400/BadRequest', changed(({ headers }) => headers.delete('repeatability-request-id'))],
  ['another version', '400/UnsupportedApiVersion', () => acs({}, undefined, { apiVersion: '2023-01-01' }).call(NUMBER)],
  ['a number that is not E.164', '400/BadRequest', () => acs().call('12065550100')],
  ['two callers', '400/BadRequest', () => acs().call(NUMBER, TEAMS)],
  ['no caller', '400/BadRequest', () => acs().call(NUMBER, { sourceCallIdNumber: undefined })],
  ['a callback that is not https', '400/BadRequest', () => acs().call(NUMBER, {}, 'http://example.com/')],
  ['a speech of an unknown call', '404/8522', () => acs().about(randomUUID()).speak('x')],
  ['a hang-up of an unknown call', '404/8522', () => acs().about(randomUUID()).hangUp()],
  ['an empty call id', '404/NotFound', () => acs().about('').hangUp()],

  ['a number that is not E.164', '400/21211', form({ To: '1' })],
  ['the caller of another account', '400/21210', form({ From: '+12065550177' })],
  ['two instructions', '400/21205', form({ Url: 'http://app/voice', Twiml: 'x' })],
  ['no instructions', '400/21205', form({})],
  ['instructions of 4,001 characters', '400/20001', form({ Twiml: 'x'.repeat(4_001) })],
  ['an unknown event', '400/21626', form({ StatusCallbackEvent: 'sung' })],
  ['an address that is no URL', '400/20001', form({ StatusCallback: '/status' })],
  ['a timeout of 4 s', '400/20001', form({ Timeout: '4' })],
  ['a parameter that the simulator does not carry out', '400/20001', form({ MachineDetection: 'Enable' })],
])('%s is refused: %s', async (_, error, refusal) => {
  expect(await refusal()).toBe(error);
});

it.each([
  ['ACS', acs, '429/TooManyRequests'],
  ['Twilio', twilio, '400/10004'],
])('%s refuses a call while all lines are busy, which is no mistake', async (_, wire, error) => {
  const { call, read, network } = wire({ lines: 2 });
  expect([await call(NUMBER), await call(NUMBER), await call(NUMBER)]).toEqual([undefined, undefined, error]);
  await read();
  expect([await call(NUMBER), network.log().refused]).toEqual([undefined, []]);
});

it('ACS carries out a request with the same repeatability id once, and refuses another with that id', async () => {
  const id = randomUUID();
  const { call, network } = acs({}, ({ headers }) => headers.set('repeatability-request-id', id));
  expect([await call(NUMBER), await call(NUMBER)]).toEqual([undefined, undefined]);
  expect([await call('+12065550101'), network.calls.length]).toEqual(['400/BadRequest', 1]);
});

it('ACS speaks in a connected call, at most 4,000 characters, and hears its callee alone', async () => {
  const { call, about, network } = acs();
  await call(NUMBER, { ...TEAMS, sourceCallIdNumber: undefined });
  const { speak, listen, hangUp } = about(network.calls[0]?.id ?? '');
  expect(await speak('x')).toBe('400/8501');
  await vi.advanceTimersByTimeAsync(1_000);
  expect([await speak('x'.repeat(4_001)), await speak('x'.repeat(4_000))]).toEqual(['400/BadRequest', undefined]);
  expect([await listen('+12065550101'), await hangUp()]).toEqual(['400/8500', undefined]);
  expect(await speak('x')).toBe('404/8522');
  const { calls, refused } = network.log();
  expect([calls[0]?.from, refused.map(({ status }) => status)]).toEqual([
    TEAMS.teamsAppSource.teamsAppId,
    [400, 400, 400, 404],
  ]);
});

it('ACS reports the start of a speech before its end, also if both are due at once', async () => {
  const { call, read } = acs({ pace: { ringMs: 0, eventMs: 1, speakMs: 1 } });
  await call(NUMBER);
  expect(await read()).toContain('PlayStarted 1, PlayCompleted 1');
});

it('ACS counts no mistake if the service could not know that the callee has hung up', async () => {
  const { call, about, network } = acs();
  await call('+12065550119');
  await vi.advanceTimersByTimeAsync(1_001);
  expect(await about(network.calls[0]?.id ?? '').speak('x')).toBe('404/8522');
  expect(network.log()).toMatchObject({ calls: [{ endedBy: 'callee' }], refused: [] });
});

it('Twilio carries out the instructions that it fetches, and tells of the end of the call', async () => {
  const body =
    '<Response><Say voice="a" loop="3">Smoke &amp; fire. </Say><Redirect>/end?what=speech&amp;more=1</Redirect></Response>';
  const { call, read, network, forms } = twilio({}, { body });
  await call(NUMBER, { Url: 'http://app/voice?attempt=a/1/b', TimeLimit: '5' });
  expect(await read()).toBe(
    'initiated 0, in-progress 1000, voice?attempt=a/1/b 1000, end?what=speech&more=1 3000, end?what=speech&more=1 5000, completed 200 6000',
  );
  expect(network.log().calls[0]?.spoken).toEqual(Array(3).fill('Smoke & fire. '.repeat(3)));
  expect(forms.at(-1)).toMatchObject({
    CallDuration: '5',
    SequenceNumber: '2',
    CallbackSource: 'call-progress-events',
  });
});

it('Twilio carries out no instructions that arrive after the end of the call', async () => {
  const { call, read, network } = twilio({}, { body: '<Response><Say voice="a">Late</Say></Response>' }, 2_000);
  await call(NUMBER, { Url: 'http://app/voice', TimeLimit: '1' });
  await read();
  expect(network.log()).toMatchObject({ calls: [{ endedBy: 'network', spoken: [] }], refused: [] });
});

it.each([
  ['11200', { status: 500 }],
  ['12300', { contentType: 'text/html' }],
  ['12100', { body: 'no xml' }],
  ['12100', { body: '<Response><Sing/></Response>' }],
  ['12100', { body: '<Response><Say>Hello</Say></Response>' }],
  ['12100', { body: '<Response><Redirect>/end</Redirect><Say voice="a">Hello</Say></Response>' }],
])('Twilio ends a call with error %s after the answer %j', async (error, answer) => {
  const { call, read, network } = twilio({}, answer);
  await call(NUMBER, { Url: 'http://app/voice' });
  await read();
  const reason = expect.stringContaining(`${error}: `);
  expect(network.log()).toMatchObject({
    calls: [{ endedBy: 'network', spoken: [] }],
    refused: [{ request: 'POST http://app/voice', reason }],
  });
});

it('Twilio queues calls beyond the pace of the account; `canceled` ends a queued call and no answered call', async () => {
  const { call, ask, network } = twilio({ callsPerSecond: 0.01 });
  for (const number of [NUMBER, NUMBER]) await call(number);
  // Twilio's API has no status `initiated`.
  expect(network.calls[0]?.resource()).toMatchObject({ status: 'queued' });
  await vi.advanceTimersByTimeAsync(1_500);
  const update = (index: number, status: string) => [
    ask(`/Calls/${network.calls[index]?.id}.json`, { Status: status }),
    ...network.calls.map((one) => one.status),
  ];
  expect(network.calls.map(({ status }) => status)).toEqual(['in-progress', 'queued']);
  expect(update(1, 'canceled')).toEqual([undefined, 'in-progress', 'canceled']);
  expect(update(1, 'completed')).toEqual(['400/21220', 'in-progress', 'canceled']);
  expect(update(0, 'canceled')).toEqual([undefined, 'in-progress', 'canceled']);
  expect(update(0, 'completed')).toEqual([undefined, 'completed', 'canceled']);
  expect(network.log().refused).toEqual([]);
});

it.each([
  ['40', ['answer lost', '400/21220']],
  ['60', ['400/21220', '400/21220']],
])('Twilio answers two requests to end the call of …%s with %j', async (digits, errors) => {
  const { call, ask, network } = twilio();
  await call(`+120655501${digits}`);
  const path = `/Calls/${network.calls[0]?.id}.json`;
  expect(errors.map(() => ask(path, { Status: 'completed' }))).toEqual(errors);
  expect(network.log()).toMatchObject({ calls: [{ state: 'ended', endedBy: 'app' }], refused: [] });
});
