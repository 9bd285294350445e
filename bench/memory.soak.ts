import { expect, it } from 'vitest';

import { memoryBench } from './memory.ts';
import { Stage } from './stage.ts';

it.skipIf(process.platform !== 'linux')('an instance stays within its bound of memory', async () => {
  await expect(Stage.run(memoryBench)).resolves.toBeUndefined();
});
