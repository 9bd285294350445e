import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { describe, expect, it } from 'vitest';

import { examineDay } from '../../../src/analytics/repair/examine-day.ts';
import { repairDay } from '../../../src/analytics/repair/repair.ts';
import { StorageTrouble } from '../../../src/storage/errors.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import type { CountingStorage } from '../counting.ts';
import { CAMERA, damageRow, DAY, messages, replaced, seeded, set, SHARD } from '../damaged-day.ts';
import { repaired, wrongAnswers } from './repaired-day.ts';

/** A table whose process ends after so many transactions, or whose answers are lost from then on. */
class EndingTable extends Table {
  left: number;
  constructor(storage: CountingStorage, transactions: number) {
    super(new AzureTable(() => storage.client()), { format: FORMAT });
    this.left = transactions;
  }
  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, writes);
    this.#count();
    return etags;
  }
  #count(): void {
    this.left -= 1;
    if (this.left === 0) throw new Error('the process ends');
  }
}

/** A table that loses the answer to some of its transactions: they were applied. */
class ForgetfulTable extends Table {
  #transactions = 0;
  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, writes);
    this.#transactions += 1;
    if (this.#transactions <= 2) throw new StorageTrouble(0);
    return etags;
  }
}

describe('a repair whose answers are lost', () => {
  it('adds no difference twice', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    const lines = await repaired(new ForgetfulTable(new AzureTable(() => storage.client()), { format: FORMAT }));
    expect(lines).toEqual(['storage or another writer came between: reading again']);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  });

  it('and two repairs at the same time add it once', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    const [one, other] = await Promise.all([1, 2].map(async () => examineDay(storage.process(2).table, DAY)));
    if (one === undefined || other === undefined) throw new Error('there are two');
    const lines: string[] = [];
    const say = (line: string): void => void lines.push(line);
    for (const examined of [one, other]) await repairDay(storage.process(2).table, DAY, examined, { say });
    expect(lines).toEqual(['put 1 counter of shard 0 right', 'storage or another writer came between: reading again']);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  });
});

describe('a repair that is stopped after any transaction', () => {
  it('goes on when it is started again', async () => {
    const storage = await seeded();
    const damages = async (): Promise<void> => {
      await damageRow(storage, SHARD, 'hours', set('t08', 'x'));
      await damageRow(storage, SHARD, CAMERA, replaced('day', /"reviewed":\d+/, '"reviewed":0'));
      await damageRow(storage, `${DAY}_01`, 'total', set('day', '{'));
    };
    await damages();
    let stops = 0;
    for (;;) {
      const table = new EndingTable(storage, 1);
      const ended = await repaired(table).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (ended === undefined) break;
      if (!(ended instanceof Error) || ended.message !== 'the process ends') throw ended;
      stops += 1;
    }
    expect(stops).toBeGreaterThan(3);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  }, 120_000);
});
