import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { TableClient, TableServiceClient } from '@azure/data-tables';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { randomFrom } from '../../../infra/local/demo/random.ts';
import { auditDay, type AuditReport } from '../../../src/analytics/audit/audit.ts';
import { StorageTrouble, TableMissing } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { CountingProcess } from '../counting.ts';
import { FaultProxy, NO_FAULT, type Fault, type ProxiedRequest } from './fault-proxy.ts';
import { countOf } from './ledger.ts';
import { contendedMessages, DAY_OF_MESSAGES } from './messages.ts';

const OPTIONS = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

const isPageOfEvents = ({ isQuery, path }: ProxiedRequest): boolean =>
  isQuery && decodeURIComponent(path).includes("ge 'event|");

describe('an audit', () => {
  let table = '';
  let proxy: FaultProxy;
  let writer: CountingProcess;
  const messages = contendedMessages(randomFrom('audit'), { messages: 200, events: 80, cameras: 8 });

  beforeEach(async () => {
    table = `${ownTablesPrefix()}analytics`;
    proxy = await FaultProxy.start(inject('tablesConnectionString'));
    const client = TableClient.fromConnectionString(inject('tablesConnectionString'), table, OPTIONS);
    writer = new CountingProcess(client, 1);
    await writer.record(messages);
  });
  afterEach(async () => {
    await proxy.stop();
  });

  const audit = async (): Promise<AuditReport> => {
    const client = TableClient.fromConnectionString(proxy.connectionString, table, OPTIONS);
    const rows = new Table(new AzureTable(() => client), { format: FORMAT, isCreated: false });
    return auditDay(rows, DAY_OF_MESSAGES);
  };

  /** Another event of the day. */
  const writeOneMore = async (): Promise<void> => {
    const [first] = messages;
    if (first === undefined) throw new Error('no messages');
    await writer.record([{ ...first, eventId: `more-${performance.now()}` }]);
  };

  it('of a minute that was written to once reads the minute again', async () => {
    let writes = 0;
    proxy.rule = async (request) => {
      if (isPageOfEvents(request) && writes++ === 0) await writeOneMore();
      return NO_FAULT;
    };
    expect(await audit()).toMatchObject({ events: countOf(messages).events + 1, differences: [] });
  });

  it.each<readonly [string, Fault]>([
    ['is refused', { kind: 'refused', status: 500, code: 'InternalError' }],
    ['breaks off', { kind: 'answer cut' }],
    ['cannot be read', { kind: 'answer garbled' }],
    ['never comes', { kind: 'connection reset' }],
  ])('of which one page %s fails with StorageTrouble', async (_, fault) => {
    proxy.rule = (request) => {
      if (!isPageOfEvents(request)) return NO_FAULT;
      return request.isContinued ? fault : { kind: 'short page', rows: 5 };
    };
    await expect(audit()).rejects.toThrow(StorageTrouble);
  });

  it('follows empty and short pages to the end', async () => {
    let pages = 0;
    proxy.rule = ({ isQuery }) => {
      if (isQuery) pages += 1;
      return pages % 2 === 0 ? { kind: 'empty page' } : { kind: 'short page', rows: 7 };
    };
    expect(await audit()).toMatchObject({ events: countOf(messages).events, differences: [] });
  });

  it('only reads rows, and creates no table', async () => {
    await audit();
    expect([...proxy.forwarded.keys()]).toEqual(['GET']);

    table = `${ownTablesPrefix()}analytics`;
    await expect(audit()).rejects.toThrow(TableMissing);
    const names: (string | undefined)[] = [];
    const service = TableServiceClient.fromConnectionString(inject('tablesConnectionString'), OPTIONS);
    for await (const { name } of service.listTables()) names.push(name);
    expect(names).not.toContain(table);
  });
});
