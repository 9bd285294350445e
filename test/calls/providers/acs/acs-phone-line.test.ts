import { text } from 'node:stream/consumers';

import { expect, it, onTestFinished } from 'vitest';

import { AcsPhoneLine, connectToAcs } from '../../../../src/calls/providers/acs/acs-phone-line.ts';
import { parseCallId, isNotificationId } from '../../../../src/calls/model/ids.ts';
import { LoopbackServer } from '../../../harness/loopback-server.ts';

const credential = { getToken: () => Promise.resolve(null) };

const lineTo = ({ port }: LoopbackServer): AcsPhoneLine => {
  const connectionString = `endpoint=http://127.0.0.1:${port}/;accesskey=dGVzdA==`;
  const client = connectToAcs({ connectionString }, credential);
  const caller = { teamsResourceAccountId: 'an-account' };
  return new AcsPhoneLine(() => client, { caller, cognitiveServicesEndpoint: '', callbackBaseUrl: '' });
};

/** A refusal by ACS. */
type Refusal = readonly [status: number, code?: string];

/** What comes of a request about a call, if it is refused so at first. */
const asked = async (what: 'speak' | 'hangUp', refusals: readonly Refusal[]): Promise<unknown> => {
  const left = [...refusals];
  const server = await LoopbackServer.start((request, response) => {
    const [status, code] = left.shift() ?? [what === 'speak' ? 202 : 204];
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(code === undefined ? '' : JSON.stringify({ error: { code, message: 'a message' } }));
  });
  onTestFinished(() => server.stop());
  const callId = parseCallId('a-call');
  if (callId === undefined) throw new Error('malformed');
  const line = lineTo(server);
  return line[what](callId, 'a text').then(
    () => ({ isDone: true, left }),
    (error: unknown) => error,
  );
};

it.each([
  [0, 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de/3/an-attempt', undefined],
  [1, 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de/3/an-attempt/1', true],
  [9, 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de/3/an-attempt/9', true],
] as const)('speech %i has the context %s; all but the message interrupt: %s', async (speech, context, interrupts) => {
  const bodies: unknown[] = [];
  const server = await LoopbackServer.start((request, response) => {
    void text(request).then((body) => {
      bodies.push(JSON.parse(body));
      response.writeHead(202).end();
    });
  });
  onTestFinished(() => server.stop());
  const callId = parseCallId('a-call');
  const notificationId = 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de';
  if (callId === undefined || !isNotificationId(notificationId)) throw new Error('malformed');
  await lineTo(server).speak(callId, 'a text', { notificationId, index: 3, attemptId: 'an-attempt', speech });
  const interruption = interrupts === undefined ? {} : { interruptCallMediaOperation: interrupts };
  expect(bodies).toEqual([
    {
      playSources: [expect.anything()],
      playTo: [],
      playOptions: { loop: false },
      operationContext: context,
      ...interruption,
    },
  ]);
});

const DONE = { isDone: true, left: [] };

it.each<['speak' | 'hangUp', Refusal[], object]>([
  // Not in the right state: half a second later it is.
  ['speak', [[400, '8585']], DONE],
  ['speak', [[400, '8528']], { failure: 'gone', subCode: 8_528 }],
  [
    'speak',
    [
      [400, '8585'],
      [400, '8528'],
    ],
    { failure: 'gone', subCode: 8_528 },
  ],
  [
    'speak',
    [[429], [400, '8565']],
    { failure: 'no speech', reason: 'speech refused', lookAt: expect.stringContaining('Cognitive Services User') },
  ],
  // It may be spoken already: never twice.
  ['speak', [[500]], { failure: 'unanswered', reason: 'answered 500' }],
  ['hangUp', [[404, '8522']], DONE],
  ['hangUp', [[400, '8501']], DONE],
  ['hangUp', [[400, '8585']], DONE],
  ['hangUp', [[410]], DONE],
  ['hangUp', [[500], [500]], DONE],
  ['hangUp', [[400]], { failure: 'refused' }],
])('a request to %s that is refused with %j: %o', async (what, refusals, expected) => {
  expect(await asked(what, refusals)).toMatchObject(expected);
});
