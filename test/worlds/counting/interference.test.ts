import { expect, it } from 'vitest';

import { interfere, scenarios } from './interference.ts';

it.each(scenarios)('at every request of a rebuild and a closing every answer is right: %s', async (name) => {
  await expect(interfere(name)).resolves.toBeUndefined();
});
