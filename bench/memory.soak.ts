import { expect, it } from 'vitest';

import { memoryBench } from './memory.ts';
import { Stage } from './stage.ts';

it.skipIf(process.platform !== 'linux')(
  'an instance that remembers as much as it may, and forgets the rest, takes less than 450 MB',
  async () => {
    expect(await Stage.run(memoryBench)).toBeLessThan(450_000_000 / 1_048_576);
  },
);
