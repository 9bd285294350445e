import { it } from 'vitest';
import { QUIET } from './modes.ts';
import { inWorld } from './world.ts';
import { someNumber } from './senders.ts';
import { findAlertType } from '../../../src/calls/model/alert-types.ts';
it('x', async () => {
  const t = findAlertType('ConfirmedFire')!;
  for (let seed = 1; seed < 5; seed++)
    await inWorld(
      `4 people, 1 lines ${seed}`,
      {
        ...QUIET,
        answersWithinMs: [3000, 12000],
        instances: 3,
        whenLinesAreTaken: '603',
        lines: 1,
        deadlineMs: 1_800_000,
      },
      { fateOf: () => 'listens', isTold: true },
      async (world) => {
        const tr = world.table.transact.bind(world.table);
        world.table.transact = async (pp, w) => {
          const r = await tr(pp, w);
          for (const x of w)
            if (x.rowKey.startsWith('due|!'))
              world.story.tell(
                () =>
                  `TABLE ${x.kind} ${x.rowKey.slice(0, 14)} ${'properties' in x ? JSON.stringify(x.properties).slice(0, 260) : ''}`,
              );
          return r;
        };
        const sent = world.senders.send({ alertType: t, waves: [[0, 1, 2, 3].map((i) => someNumber(0, i))] }, 'key');
        await world.pass(400_000);
        const v = await world.viewOf(sent);
        console.log(v?.recipients.map((r) => r.status).join());
        if (v?.recipients.some((r) => r.status === 'not_reached')) {
          console.log(world.story.text);
          throw new Error('stop');
        }
      },
    );
});
