import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { eventLines } from '../../../src/analytics/retention/day-events.ts';
import { isNotificationId } from '../../../src/calls/model/ids.ts';
import { CountingProcess, DATE, frame, SHARD, WHOLE_DAY } from '../../analytics/counting.ts';
import { putRows, ROW_FILES, rowsOf } from '../../fixtures/rows.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { callsTo, people, to } from './asking.ts';
import { QUIET } from './modes.ts';
import { inWorld } from './world.ts';

describe.each(ROW_FILES)('rows of version %s', (version) => {
  it('are counted on, read, audited, exported and closed', async () => {
    let aheadMs = 30 * 86_400_000;
    const table = new MemoryTable(() => Date.now() + aheadMs);
    await putRows(table, (await rowsOf(version)).analytics);
    const counting = new CountingProcess(table, 1);
    const read = { events: 0, unreadable: [] };
    for (const shard of ['00', '01']) {
      for await (const lines of eventLines(counting.table, `${DATE}_${shard}`, read))
        expect(lines).toContain('CameraEvent');
    }
    expect(read).toEqual({ events: 20, unreadable: [] });
    expect(await counting.record([frame('c-0', 'f-0'), frame('c-0', 'new')])).toEqual(['superseded', 'recorded']);
    expect((await auditDay(counting.table, DATE)).differences).toEqual([]);
    expect(await counting.answer(WHOLE_DAY)).toMatchObject({ total_events: 21 });
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const closing = { table: counting.table, shards: counting.shards, retentionDays: 7 };
    await closeDays(closing, log);
    aheadMs += 600_000;
    await closeDays(closing, log);
    expect(table.rows(SHARD).filter(({ rowKey }) => rowKey.startsWith('event|'))).toEqual([]);
    expect(await counting.answer(WHOLE_DAY)).toMatchObject({ total_events: 21 });
  });

  it('are listed, and who waits in them is dialled, once', async () => {
    const { calls } = await rowsOf(version);
    const ids = calls.flatMap(({ rowKey }) => {
      const [kind, id = '', index] = rowKey.split('|');
      return kind === 'notification' && index === undefined && isNotificationId(id) ? [id] : [];
    });
    expect(ids).toHaveLength(2);
    await inWorld('stored rows', { ...QUIET, lines: 2, instances: 2 }, { fateOf: () => 'listens' }, async (world) => {
      await putRows(world.table, calls);
      await world.pass(900_000);
      const views = await Promise.all(ids.map(async (id) => world.view(id)));
      expect(views.flatMap((view) => view?.recipients.map(({ status }) => status) ?? [])).toEqual(
        Array(4).fill('heard'),
      );
      // The call that was under way belongs to a network that is gone: its callee is called again.
      const whole = [...people(2), ...people(2, 1)].map(
        (number) => callsTo(world, number).filter(({ speeches }) => speeches.some(({ isWhole }) => isWhole)).length,
      );
      expect(whole).toEqual([1, 1, 1, 1]);
      const sent = world.senders.send(to([people(1, 2)]), 'new');
      await world.pass(120_000);
      expect((await world.viewOf(sent))?.recipients).toMatchObject([{ status: 'heard' }]);
    });
  });
});
