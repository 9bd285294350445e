import { it } from 'vitest';
import { MODES } from './modes.ts';
import { inWorld } from './world.ts';
it('x', async () => {
  const mode = MODES.find(({ name }) => name === 'taken lines are 603')!;
  await inWorld('9', mode, { isTold: true }, async (world) => {
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
    world.senders.sendSome();
    await world.pass(60_000);
    console.log(world.story.text);
  });
});
