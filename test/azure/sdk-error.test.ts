import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';

import { CallAutomationClient } from '@azure/communication-call-automation';
import { TableClient } from '@azure/data-tables';
import { AuthenticationError } from '@azure/identity';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

import { readSdkError } from '../../src/azure/sdk-error.ts';
import { ownTablesPrefix } from '../harness/app.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');
const noRetries = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

/** Starts a server; returns its URL. */
const serve = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
};

/** The URL of a port on which nothing listens. */
const closedPort = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
};

const tableAt = (url: string): TableClient => {
  const account = `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=dGVzdA==;TableEndpoint=${url}/a`;
  return TableClient.fromConnectionString(account, 'rows', noRetries);
};

const thrownBy = async (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => expect.unreachable('the request succeeded'),
    (error: unknown) => error,
  );

/** What `getEntity` throws for an answer. */
const tableError = async (status: number, body: string, headers: Readonly<Record<string, string>> = {}) => {
  const url = await serve((_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body),
  );
  return thrownBy(tableAt(url).getEntity('p', 'r'));
};

describe('the error of a request that Table Storage answered', () => {
  it('has the status and the code in the body', async () => {
    const body = JSON.stringify({ 'odata.error': { code: 'TableNotFound', message: { lang: 'en', value: 'No.' } } });
    const failure = { status: 404, code: 'TableNotFound', retryAfterMs: undefined };
    expect(readSdkError(await tableError(404, body))).toEqual(failure);
  });

  it('of a transaction has the status and the code of the part that failed', async () => {
    const table = TableClient.fromConnectionString(
      inject('tablesConnectionString'),
      `${ownTablesPrefix()}rows`,
      noRetries,
    );
    await table.createTable();
    const create = () => table.submitTransaction([['create', { partitionKey: 'p', rowKey: 'r' }]]);
    await create();
    expect(readSdkError(await thrownBy(create()))).toMatchObject({ status: 409, code: 'EntityAlreadyExists' });
  });

  it('has no code where the answer is not from Table Storage', async () => {
    expect(readSdkError(await tableError(502, '<html>', { 'content-type': 'text/html' }))).toMatchObject({
      status: 502,
      code: undefined,
    });
  });

  it.each<[string, Readonly<Record<string, string>>, number | undefined]>([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['a date', { 'retry-after': 'Sat, 21 Nov 2026 08:00:03 GMT' }, 3_000],
    ['a date in the past', { 'retry-after': 'Sat, 21 Nov 2026 07:00:00 GMT' }, 0],
    ['milliseconds', { 'retry-after-ms': '250' }, 250],
    ["milliseconds in Azure's own header", { 'x-ms-retry-after-ms': '1500' }, 1_500],
    ['seconds and milliseconds', { 'retry-after': '1', 'x-ms-retry-after-ms': '400' }, 400],
    ['nothing', {}, undefined],
    ['nothing readable', { 'retry-after': 'soon', 'retry-after-ms': '-1' }, undefined],
  ])('reads a Retry-After of %s', async (_, headers, retryAfterMs) => {
    expect(readSdkError(await tableError(503, '', headers), NOW)).toMatchObject({ status: 503, retryAfterMs });
  });
});

it('of a request that ACS answered has the status and the code in the body', async () => {
  const url = await serve((_, response) =>
    response
      .writeHead(404, { 'content-type': 'application/json' })
      .end('{"error":{"code":"8522","message":"Call not found."}}'),
  );
  const client = new CallAutomationClient(`endpoint=${url}/;accesskey=dGVzdA==`, noRetries);
  const error = await thrownBy(client.getCallConnection('a').hangUp(true));
  expect(readSdkError(error)).toMatchObject({ status: 404, code: '8522' });
});

describe('the error of a request that was not answered', () => {
  it('says that no connection could be made', async () => {
    const error = await thrownBy(tableAt(await closedPort()).getEntity('p', 'r'));
    expect(readSdkError(error)).toEqual({ code: 'ECONNREFUSED', unanswered: 'not connected' });
  });

  it('says that the connection was lost', async () => {
    const url = await serve((request) => request.socket.destroy());
    const error = await thrownBy(tableAt(url).getEntity('p', 'r'));
    expect(readSdkError(error)).toMatchObject({ unanswered: 'connection lost' });
  });

  it('says that the deadline passed', async () => {
    const url = await serve(() => undefined);
    const request = tableAt(url).getEntity('p', 'r', { abortSignal: AbortSignal.timeout(100) });
    expect(readSdkError(await thrownBy(request))).toMatchObject({ unanswered: 'deadline' });
  });

  it('says that there was no token, not what the server of the tokens answered', () => {
    expect(readSdkError(new AuthenticationError(404, 'no tenant'))).toMatchObject({ unanswered: 'no token' });
    expect(readSdkError(new AuthenticationError(404, 'no tenant')).status).toBeUndefined();
  });
});

it.each([
  ['a bug', new TypeError('x is undefined')],
  ['a string', 'callConnectionId is missing'],
  ['nothing', undefined],
  ['null', null],
  ['an object of strange parts', { statusCode: 'x', code: 7, name: {}, details: 'none', response: { headers: {} } }],
])('reads %s as unknown', (_, thrown) => {
  expect(readSdkError(thrown)).toEqual({ code: undefined, unanswered: 'unknown' });
});
