import { expect, it, vi } from 'vitest';
import * as z from 'zod';

import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { play, ROOM } from './scene.ts';
import { people } from './senders.ts';
import type { World } from './world.ts';

// Fifty callees answer within five seconds and press 1: their keys meet at one row, from eight processes.

const storedRecipient = z.object({
  number: z.string(),
  attempts: z.array(z.object({ talk: z.object({ confirmedAt: z.number().optional() }).optional() })),
});

/** When the 1 of each callee was stored, in milliseconds since 1970. */
const confirmationsIn = (world: World): ReadonlyMap<string, number> => {
  const storedAt = new Map<string, number>();
  const transact = world.table.transact.bind(world.table);
  vi.spyOn(world.table, 'transact').mockImplementation(async (partition, writes) => {
    const etags = await transact(partition, writes);
    for (const write of writes) {
      for (const [name, value] of write.kind === 'delete' ? [] : Object.entries(write.properties)) {
        if (!/^r\d\d$/.test(name)) continue;
        const { number, attempts } = storedRecipient.parse(JSON.parse(String(value)));
        const isConfirmed = attempts.some(({ talk }) => talk?.confirmedAt !== undefined);
        if (isConfirmed && !storedAt.has(number)) storedAt.set(number, world.now);
      }
    }
    return etags;
  });
  return storedAt;
};

it('all are confirmed, 95 of 100 keys are stored within 0.4 s, and each within 1.5 s', async () => {
  const tookMs: number[] = [];
  const mode = {
    ...ROOM,
    instances: 8,
    tableLatencyMs: 10,
    destinations: [],
    answersWithinMs: [2_000, 7_000],
  } as const;
  for (let seed = 1; seed <= 4; seed += 1) {
    await play(`fifty keys ${seed}`, { ...mode, callees: () => 'presses late' }, async (world) => {
      const storedAt = confirmationsIn(world);
      const sent = world.fire(people(50), { confirm: true });
      await world.pass(120_000);
      expect(await world.statuses(sent)).toEqual(Array(50).fill('confirmed'));
      const storedTimeOf = (number: PhoneNumber | undefined) => storedAt.get(number ?? '') ?? Infinity;
      for (const { request, keys } of world.network.calls) {
        const [key] = keys;
        if (key !== undefined) tookMs.push(storedTimeOf(request?.number) - key.pressedAt);
      }
    });
  }
  tookMs.sort((one, other) => one - other);
  expect(tookMs).toHaveLength(200);
  expect(tookMs[Math.floor(0.95 * tookMs.length)]).toBeLessThan(400);
  expect(tookMs.at(-1)).toBeLessThan(1_500);
});
