import { expect, it, onTestFinished } from 'vitest';

import { AcsPhoneLine, connectToAcs } from '../../../src/calls/acs/acs-phone-line.ts';
import { parseCallId } from '../../../src/calls/call-id.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';

const credential = { getToken: () => Promise.resolve(null) };

/** What comes of speaking into a call, if the requests are answered 400 with these codes. */
const spoken = async (codes: readonly string[]): Promise<unknown> => {
  const left = [...codes];
  const server = await LoopbackServer.start((request, response) => {
    const code = left.shift();
    request.resume();
    response.writeHead(code === undefined ? 202 : 400, { 'content-type': 'application/json' });
    response.end(code === undefined ? '' : JSON.stringify({ error: { code, message: 'a message' } }));
  });
  onTestFinished(() => server.stop());
  const connectionString = `endpoint=http://127.0.0.1:${server.port}/;accesskey=dGVzdA==`;
  const client = connectToAcs({ connectionString }, credential);
  const caller = { teamsResourceAccountId: 'an-account' };
  const line = new AcsPhoneLine(() => client, { caller, cognitiveServicesEndpoint: '', callbackBaseUrl: '' });
  const callId = parseCallId('a-call');
  if (callId === undefined) throw new Error('malformed');
  return line.speak(callId, 'a text').then(
    () => 'spoken',
    (error: unknown) => error,
  );
};

it('a call that was not in the right state is spoken to half a second later', async () => {
  expect(await spoken(['8585'])).toBe('spoken');
});

it.each([[['8528']], [['8585', '8528']]])('a callee who has gone is no failed request to speak: %j', async (codes) => {
  expect(await spoken(codes)).toMatchObject({ failure: 'gone', subCode: 8_528 });
});
