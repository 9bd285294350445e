import type { RequestListener } from 'node:http';

import { CallAutomationClient } from '@azure/communication-call-automation';
import { TableClient } from '@azure/data-tables';
import { AuthenticationError } from '@azure/identity';
import { expect, inject, it, onTestFinished } from 'vitest';

import { freePort } from '../../infra/emulators/free-port.ts';
import { readSdkError } from '../../src/azure/sdk-error.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { LoopbackServer } from '../harness/loopback-server.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');
const noRetries = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

/** Starts a server; returns its URL. */
const serve = async (listener: RequestListener): Promise<string> => {
  const server = await LoopbackServer.start(listener);
  onTestFinished(() => server.stop());
  return `http://127.0.0.1:${server.port}`;
};

type Headers = Readonly<Record<string, string>>;

/** A server with one answer to everything. */
const answering = async (status: number, body: string, headers: Headers = {}): Promise<string> =>
  serve((_, response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body));

const thrownBy = async (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => expect.unreachable('the request succeeded'),
    (error: unknown) => error,
  );

/** The error that `getEntity` of a table at a URL throws. */
const tableError = async (url: string, options: { readonly abortSignal?: AbortSignal } = {}): Promise<unknown> => {
  const account = `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=dGVzdA==;TableEndpoint=${url}/a`;
  return thrownBy(TableClient.fromConnectionString(account, 'rows', noRetries).getEntity('p', 'r', options));
};

const NOT_FOUND = '{"odata.error":{"code":"TableNotFound","message":{"lang":"en","value":"No."}}}';

it.each<[status: number, body: string, headers: Headers, code?: string | undefined, retryAfterMs?: number]>([
  [404, NOT_FOUND, {}, 'TableNotFound'],
  [502, '<html>', { 'content-type': 'text/html' }],
  [503, '', { 'retry-after': '7' }, undefined, 7_000],
  [503, '', { 'retry-after': 'Sat, 21 Nov 2026 08:00:03 GMT' }, undefined, 3_000],
  [503, '', { 'retry-after': 'Sat, 21 Nov 2026 07:00:00 GMT' }, undefined, 0],
  [503, '', { 'retry-after-ms': '250' }, undefined, 250],
  [503, '', { 'retry-after': '1', 'x-ms-retry-after-ms': '400' }, undefined, 400],
  [503, '', { 'retry-after': 'soon', 'retry-after-ms': '-1' }],
])('the error of an answer %i %s %j has its code and the wait that it asks for', async (...answer) => {
  const [status, body, headers, code, retryAfterMs] = answer;
  const error = await tableError(await answering(status, body, headers));
  expect(readSdkError(error, NOW)).toEqual({ status, code, retryAfterMs });
});

it('the error of a call, and of a part of a transaction, has its status and code', async () => {
  const url = await answering(404, '{"error":{"code":"8522","message":"Call not found."}}');
  const calls = new CallAutomationClient(`endpoint=${url}/;accesskey=dGVzdA==`, noRetries);
  const gone = await thrownBy(calls.getCallConnection('a').hangUp(true));
  expect(readSdkError(gone)).toMatchObject({ status: 404, code: '8522' });

  const storage = inject('tablesConnectionString');
  const table = TableClient.fromConnectionString(storage, `${ownTablesPrefix()}rows`, noRetries);
  await table.createTable();
  const create = () => table.submitTransaction([['create', { partitionKey: 'p', rowKey: 'r' }]]);
  await create();
  expect(readSdkError(await thrownBy(create()))).toMatchObject({ status: 409, code: 'EntityAlreadyExists' });
});

it('the error of a request that was not answered says why, as far as is known', async () => {
  const closed = await tableError(`http://127.0.0.1:${await freePort()}`);
  expect(readSdkError(closed)).toEqual({ code: 'ECONNREFUSED', unanswered: 'not connected' });
  const lost = await tableError(await serve((request) => request.socket.destroy()));
  expect(readSdkError(lost)).toMatchObject({ unanswered: 'connection lost' });
  const late = await tableError(await serve(() => undefined), { abortSignal: AbortSignal.timeout(100) });
  expect(readSdkError(late)).toMatchObject({ unanswered: 'deadline' });
  // Not what the server of the tokens answered.
  const noToken = readSdkError(new AuthenticationError(404, 'no tenant'));
  expect([noToken.unanswered, noToken.status]).toEqual(['no token', undefined]);
  const strange = { statusCode: 'x', code: 7, name: {}, details: 'none', response: { headers: {} } };
  for (const thrown of [new TypeError('x is undefined'), 'callConnectionId is missing', undefined, strange])
    expect(readSdkError(thrown)).toEqual({ code: undefined, unanswered: 'unknown' });
});
