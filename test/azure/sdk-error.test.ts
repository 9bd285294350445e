import type { RequestListener } from 'node:http';

import { CallAutomationClient } from '@azure/communication-call-automation';
import { TableClient } from '@azure/data-tables';
import { AuthenticationError } from '@azure/identity';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

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

/** A server with one answer to everything. */
const answering = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Promise<string> =>
  serve((_, response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body));

const thrownBy = async (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => expect.unreachable('the request succeeded'),
    (error: unknown) => error,
  );

/** What `getEntity` of a table at a URL throws. */
const tableError = async (url: string, options: { readonly abortSignal?: AbortSignal } = {}): Promise<unknown> => {
  const account = `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=dGVzdA==;TableEndpoint=${url}/a`;
  return thrownBy(TableClient.fromConnectionString(account, 'rows', noRetries).getEntity('p', 'r', options));
};

describe('the error of a request that was answered', () => {
  it('has the status and the code in the body', async () => {
    const notFound = '{"odata.error":{"code":"TableNotFound","message":{"lang":"en","value":"No."}}}';
    const failure = { status: 404, code: 'TableNotFound', retryAfterMs: undefined };
    expect(readSdkError(await tableError(await answering(404, notFound)))).toEqual(failure);
    const foreign = await answering(502, '<html>', { 'content-type': 'text/html' });
    expect(readSdkError(await tableError(foreign))).toMatchObject({ status: 502, code: undefined });
    const url = await answering(404, '{"error":{"code":"8522","message":"Call not found."}}');
    const calls = new CallAutomationClient(`endpoint=${url}/;accesskey=dGVzdA==`, noRetries);
    const error = await thrownBy(calls.getCallConnection('a').hangUp(true));
    expect(readSdkError(error)).toMatchObject({ status: 404, code: '8522' });
  });

  it('of a transaction has the status and the code of the part that failed', async () => {
    const storage = inject('tablesConnectionString');
    const table = TableClient.fromConnectionString(storage, `${ownTablesPrefix()}rows`, noRetries);
    await table.createTable();
    const create = () => table.submitTransaction([['create', { partitionKey: 'p', rowKey: 'r' }]]);
    await create();
    expect(readSdkError(await thrownBy(create()))).toMatchObject({ status: 409, code: 'EntityAlreadyExists' });
  });

  it.each<[headers: Readonly<Record<string, string>>, retryAfterMs: number | undefined]>([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 08:00:03 GMT' }, 3_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 07:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after': '1', 'x-ms-retry-after-ms': '400' }, 400],
    [{}, undefined],
    [{ 'retry-after': 'soon', 'retry-after-ms': '-1' }, undefined],
  ])('with %j asks for a wait of %s ms', async (headers, retryAfterMs) => {
    const error = await tableError(await answering(503, '', headers));
    expect(readSdkError(error, NOW)).toMatchObject({ status: 503, retryAfterMs });
  });
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
});

it.each([
  ['a bug', new TypeError('x is undefined')],
  ['a string', 'callConnectionId is missing'],
  ['nothing', undefined],
  ['an object of strange parts', { statusCode: 'x', code: 7, name: {}, details: 'none', response: { headers: {} } }],
])('reads %s as unknown', (_, thrown) => {
  expect(readSdkError(thrown)).toEqual({ code: undefined, unanswered: 'unknown' });
});
