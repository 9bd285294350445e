import { z } from 'zod';

import { isNotificationId } from '../../../src/calls/model/ids.ts';
import { dueKey } from '../../../src/calls/store/keys.ts';
import type { Page, PageQuery, Selection, TableConnection } from '../../../src/storage/connection.ts';
import type { KeyRange, RowWrite, StoredRow } from '../../../src/storage/row.ts';

const attemptsSchema = z.array(z.looseObject({ id: z.string() }));

const attemptsIn = (attempts: unknown) =>
  typeof attempts === 'string' ? attemptsSchema.parse(JSON.parse(attempts)) : [];

/** What a later version has added, and where. */
export class LaterMarks {
  readonly #rows = new Map<string, Set<string>>();
  readonly #entries = new Set<string>();

  /** A later version has written these. */
  add(writes: readonly RowWrite[]): void {
    for (const write of writes) {
      if (write.kind === 'delete') continue;
      if (write.rowKey.includes('|remind|')) this.#entries.add(write.rowKey);
      if (write.properties['zone'] === undefined) continue;
      const known = this.#rows.get(write.rowKey) ?? new Set();
      for (const { id } of attemptsIn(write.properties['attempts'])) known.add(id);
      this.#rows.set(write.rowKey, known);
    }
  }

  /** What is missing of it. */
  lost(rows: readonly StoredRow[]): readonly string[] {
    const byKey = new Map(rows.map(({ rowKey, properties }) => [rowKey, properties]));
    return [
      ...[...this.#entries].flatMap((rowKey) => (byKey.has(rowKey) ? [] : [`the entry ${rowKey} is gone`])),
      ...[...this.#rows].flatMap(([rowKey, ids]) => {
        const properties = byKey.get(rowKey);
        if (properties === undefined) return [];
        const bare = attemptsIn(properties['attempts']).filter(({ id, zone }) => ids.has(id) && zone !== 'north');
        return properties['zone'] === 'north' && bare.length === 0 ? [] : [`${rowKey} lost what a later version wrote`];
      }),
    ];
  }
}

/**
 * The shared table as the next version writes to it: with one property more in every row of a notification, one member more in each attempt,
 * and one kind more of what is due.
 */
export class LaterVersion implements TableConnection {
  readonly #table: TableConnection;
  readonly #marks: LaterMarks;

  constructor(table: TableConnection, marks: LaterMarks) {
    this.#table = table;
    this.#marks = marks;
  }

  get(partition: string, row: string, selection: Selection, signal: AbortSignal): Promise<StoredRow | undefined> {
    return this.#table.get(partition, row, selection, signal);
  }

  page(partition: string, range: KeyRange, query: PageQuery, signal: AbortSignal): Promise<Page> {
    return this.#table.page(partition, range, query, signal);
  }

  firstPartition(keys: KeyRange, signal: AbortSignal): Promise<string | undefined> {
    return this.#table.firstPartition(keys, signal);
  }

  now(): number {
    return this.#table.now();
  }

  create(signal: AbortSignal): Promise<void> {
    return this.#table.create(signal);
  }

  async transact(partition: string, writes: readonly RowWrite[], signal: AbortSignal): Promise<readonly string[]> {
    const own = writes.map(withMore);
    const reminders = own.length > 90 ? [] : own.flatMap(reminderOf);
    const etags = await this.#table.transact(partition, [...own, ...reminders], signal);
    this.#marks.add([...own, ...reminders]);
    return etags.slice(0, writes.length);
  }
}

const withMore = (write: RowWrite): RowWrite => {
  if (write.kind === 'delete' || !write.rowKey.startsWith('notification|')) return write;
  if (Object.keys(write.properties).length === 0) return write;
  const { attempts } = write.properties;
  const more = attemptsIn(attempts).map((attempt) => Object.assign({}, attempt, { zone: 'north' }));
  return {
    ...write,
    properties: {
      ...write.properties,
      zone: 'north',
      ...(attempts !== undefined && { attempts: JSON.stringify(more) }),
    },
  };
};

const reminderOf = ({ kind, rowKey }: RowWrite): readonly RowWrite[] => {
  const [, id = '', index] = rowKey.split('|');
  if (kind !== 'insert' || !rowKey.startsWith('notification|') || index !== undefined || !isNotificationId(id))
    return [];
  const entry = dueKey(Date.now(), { kind: 'notification', notificationId: id }).replace('|notification|', '|remind|');
  return [{ kind: 'insert', rowKey: entry, properties: {} }];
};
