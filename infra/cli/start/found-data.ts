import { openDays } from '../../../src/analytics/rows/day-row.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { lazyCredential } from '../../../src/azure/credential.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { azureTable } from '../../../src/storage/azure-table.ts';
import { Table } from '../../../src/storage/table.ts';

const MOST_LISTED = 100;

const number = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

/** What a folder of an earlier run holds, in words; undefined: nothing. A version before may have written it. */
export const foundData = async (connectionString: string, prefix = ''): Promise<string | undefined> => {
  const storage = { connection: { connectionString }, prefix };
  const tableOf = (name: 'analytics' | 'calls', format: number): Table =>
    new Table(azureTable(storage, name, lazyCredential()), { format });
  const days = await openDays(tableOf('analytics', FORMAT));
  const unreadable = new Set<string>();
  const store = new NotificationStore({
    table: tableOf('calls', CALLS_FORMAT),
    callsPerDay: 0,
    retentionMs: 0,
    destinations: [],
    newId: () => '',
    tell: ({ rowKey }) => unreadable.add(rowKey),
  });
  const { found, next } = await store.list({ most: MOST_LISTED }, () => true);
  if (days.length === 0 && found.length === 0 && unreadable.size === 0) return undefined;
  return [
    days.length === 0 ? 'no open day' : `${number(days.length, 'open day')}, the newest ${days.at(-1)}`,
    `${number(found.length, 'notification')}${next === undefined ? '' : ' or more'}`,
    ...(unreadable.size === 0
      ? []
      : [
          `${number(unreadable.size, 'row')} about calls that this version cannot read, which stop nothing and are left alone`,
        ]),
  ].join('; ');
};
