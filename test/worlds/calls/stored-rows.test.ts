import { describe, expect, it } from 'vitest';

import { isNotificationId } from '../../../src/calls/model/ids.ts';
import { putRows, ROW_FILES, rowsOf } from '../../fixtures/rows.ts';
import { callsTo, people, to } from './asking.ts';
import { QUIET } from './modes.ts';
import { inWorld } from './world.ts';

describe.each(ROW_FILES)('rows of version %s', (version) => {
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
