import { TableClient } from '@azure/data-tables';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { ONE_REQUEST } from '../../src/azure/one-request.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import type { RowWrite } from '../../src/storage/row.ts';
import { LoopbackServer } from '../harness/loopback-server.ts';

/** The answer to each request. */
let answer: { readonly status: number; readonly body: string };
let server: LoopbackServer;
beforeAll(async () => {
  server = await LoopbackServer.start((_, response) => {
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
});
afterAll(async () => server.stop());

const coded = (code: string): string =>
  JSON.stringify({ 'odata.error': { code, message: { lang: 'en-US', value: `${code}\nRequestId:1` } } });
const WRITE: RowWrite = { kind: 'merge', rowKey: 'r', etag: 'e', properties: { n: 1 } };

const tableThatAnswers = (status: number, body: string): AzureTable => {
  answer = { status, body };
  const account = `AccountName=a;AccountKey=${Buffer.alloc(64).toString('base64')}`;
  const connection = `DefaultEndpointsProtocol=http;${account};TableEndpoint=http://127.0.0.1:${server.port}/a;`;
  const options = { allowInsecureConnection: true, ...ONE_REQUEST };
  return new AzureTable(() => TableClient.fromConnectionString(connection, 'analytics', options));
};

it.each([
  [400, coded('PropertyValueTooLarge'), 'RequestRefused'],
  [413, coded('RequestBodyTooLarge'), 'RequestRefused'],
  // Without a code of Table Storage something in between answers.
  [400, '<html>Bad Request</html>', 'StorageTrouble'],
  [413, '', 'StorageTrouble'],
  [403, coded('AuthorizationFailure'), 'StorageTrouble'],
  [405, coded('UnsupportedHttpVerb'), 'StorageTrouble'],
  [411, '', 'StorageTrouble'],
  [415, coded('MediaTypeNotSupported'), 'StorageTrouble'],
  [501, coded('NotImplemented'), 'StorageTrouble'],
  [412, coded('UpdateConditionNotSatisfied'), 'WriteConflict'],
  [409, coded('EntityAlreadyExists'), 'WriteConflict'],
  [409, coded('TableBeingDeleted'), 'StorageTrouble'],
  [404, coded('ResourceNotFound'), 'WriteConflict'],
  [404, coded('TableNotFound'), 'TableMissing'],
  [404, '', 'StorageTrouble'],
])('an answer of status %i and body %j to a write is %s', async (status, body, name) => {
  const write = tableThatAnswers(status, body).transact('p', [WRITE], AbortSignal.timeout(60_000));
  await expect(write).rejects.toMatchObject({ name });
});

it.each([
  [400, 'InvalidResourceName', 'not created'],
  [403, 'AuthorizationPermissionMismatch', 'AuthorizationPermissionMismatch'],
])('a table that cannot be created is trouble, and no fault of the rows: %i %s', async (status, code, reason) => {
  const created = tableThatAnswers(status, coded(code)).create(AbortSignal.timeout(60_000));
  await expect(created).rejects.toMatchObject({ name: 'StorageTrouble', reason });
});
