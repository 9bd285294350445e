import { expect, it, onTestFinished } from 'vitest';

import { AcsPhoneLine, connectToAcs } from '../../../../src/calls/providers/acs/acs-phone-line.ts';
import { parseCallId } from '../../../../src/calls/model/call-id.ts';
import { LoopbackServer } from '../../../harness/loopback-server.ts';

const credential = { getToken: () => Promise.resolve(null) };

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
  const connectionString = `endpoint=http://127.0.0.1:${server.port}/;accesskey=dGVzdA==`;
  const client = connectToAcs({ connectionString }, credential);
  const caller = { teamsResourceAccountId: 'an-account' };
  const line = new AcsPhoneLine(() => client, { caller, cognitiveServicesEndpoint: '', callbackBaseUrl: '' });
  const callId = parseCallId('a-call');
  if (callId === undefined) throw new Error('malformed');
  return line[what](callId, 'a text').then(
    () => ({ isDone: true, left }),
    (error: unknown) => error,
  );
};

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
  ['speak', [[429], [400, '8565']], { failure: 'refused', reason: 'speech refused' }],
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
