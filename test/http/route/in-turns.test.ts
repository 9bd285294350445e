import { expect, it } from 'vitest';

import { mapInTurns } from '../../../src/http/route/in-turns.ts';

it('a long list is mapped in its order, and other work is done between its parts', async () => {
  let others = 0;
  const mapped = await mapInTurns(['a', 'b', 'c', 'd', 'e'], 2, (item) => {
    setImmediate(() => (others += 1));
    return [item, others];
  });
  expect(mapped).toEqual([
    ['a', 0],
    ['b', 0],
    ['c', 2],
    ['d', 2],
    ['e', 4],
  ]);
});
