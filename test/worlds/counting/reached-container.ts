import type { BackupContainer } from '../../../src/storage/azure-container.ts';

/** A container as one process reaches it: `ask` sends its requests. */
export const reachedContainer = (
  container: BackupContainer,
  ask: <Answer>(request: string, carryOut: () => Promise<Answer>) => Promise<Answer>,
): BackupContainer => ({
  list: async (prefix) => ask(`list ${prefix}`, async () => container.list(prefix)),
  write: async (name, ...backup) => ask(`back up ${name}`, async () => container.write(name, ...backup)),
  read: async (name) => ask(`read ${name}`, async () => container.read(name)),
});
